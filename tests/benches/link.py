# SPDX-FileCopyrightText: castbag contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Bench of the host link, at its wires: a UART that is not ours, a bus with stalls and errors.

Requests and answers are put together here from the protocols' tables, not by the code that
hosts use.
"""

import struct
import zlib
from collections import deque
from typing import Any

import cocotb

from castbag.sim.bench import STALLS, Bench, parameters

SLOW = parameters().get("slow", False)
"""A byte takes hundreds of cycles: leave out what has nothing to do with that."""

SHORT = SLOW or parameters().get("short", False)

OK, DAMAGED, BUS_ERROR = 0, 1, 2

BAD = range(0x8000_0000, 0x9000_0000)
"""Byte addresses that the bus answers with an error."""


def checked(content: bytes) -> bytes:
    """With its CRC behind it."""
    return content + struct.pack("<I", zlib.crc32(content))


def write_block(sequence: int, address: int, data: bytes) -> bytes:
    header = struct.pack(">BBHI", 0xB1, sequence, len(data) // 4, address // 4)
    return checked(header) + checked(data)


def read_block(sequence: int, address: int, words: int) -> bytes:
    return checked(struct.pack(">BBHI", 0xB2, sequence, words, address // 4))


def written(sequence: int, end: int, status: int = OK) -> bytes:
    """The answer to a write whose good words end at byte address `end`."""
    return checked(struct.pack(">BBBH", 0xD1, sequence, status, end // 4 & 0xFFFF))


def answer(sequence: int, data: bytes, end: int, status: int = OK) -> bytes:
    """The answer to a read whose good words end at byte address `end`."""
    head = bytes([0xD2, sequence]) + data
    return checked(head + struct.pack(">BH", status, end // 4 & 0xFFFF))


class Wire:
    """The host's sender: bytes of `bit` cycles a bit, pauses, and whatever is no byte."""

    def __init__(self, bench: "LinkBench", bit: float):
        self.bit = bit
        self.time = 0.0  # cycle at which all that was sent ends
        self._bench = bench
        self._edges: deque[tuple[float, int]] = deque()
        bench.dut.rx.value = 1

    def levels(self, levels, each: float) -> None:
        """Levels that last `each` cycles."""
        self.time = max(self.time, self._bench.cycle + 1)
        for level in levels:
            self._edges.append((self.time, level))
            self.time += each

    def send(self, content: bytes) -> None:
        for byte in content:
            self.levels([0, *(byte >> k & 1 for k in range(8)), 1], self.bit)

    def pause(self, cycles: float) -> None:
        self.levels([1], cycles)

    def tick(self) -> None:
        while self._edges and self._edges[0][0] <= self._bench.cycle:
            self._bench.dut.rx.value = self._edges.popleft()[1]


class Listener:
    """The host's receiver; holds the line to the exact length of a bit within a byte."""

    def __init__(self, bench: "LinkBench", bit: float):
        self.content = bytearray()
        self.starts: list[int] = []  # cycle of each byte's first edge
        self._bench = bench
        self._bit = bit
        self._bits: list[int] | None = None

    def tick(self) -> None:
        level = int(self._bench.dut.tx.value)
        if self._bits is None:
            if level == 0:
                self.starts.append(self._bench.cycle)
                self._bits = []
            else:
                return
        middle = self.starts[-1] + (len(self._bits) + 0.5) * self._bit
        if self._bench.cycle >= int(middle):
            self._bits.append(level)
        if len(self._bits) == 10:
            start, *bits, stop = self._bits
            assert (start, stop) == (0, 1), f"no byte: {self._bits} at {self._bench.cycle}"
            self.content.append(sum(bit << k for k, bit in enumerate(bits)))
            self._bits = None


class Subordinate:
    """An AXI4-Lite memory of words, a dict; takes address and data in any order."""

    def __init__(self, bench: "LinkBench", stall: str):
        self.words: dict[int, int] = {}  # by byte address
        self.accesses: list[tuple[str, int]] = []
        self._bench = bench
        self._stall = {channel: STALLS[stall](bench.rng) for channel in ("aw", "w", "b", "ar", "r")}
        self._ports: dict[str, Any] = {}
        self._held: dict[str, int | tuple] = {}
        self._offer: dict[str, tuple] = {}
        for channel in ("aw", "w", "ar"):
            self._set(f"{channel}ready", 0)
        for channel in ("b", "r"):
            self._set(f"{channel}valid", 0)
        for name in ("bresp", "rresp", "rdata"):
            self._set(name, 0)

    def _port(self, name: str):
        if name not in self._ports:
            self._ports[name] = getattr(self._bench.dut, f"bus__{name}")
        return self._ports[name]

    def _set(self, name: str, value: int) -> None:
        self._port(name).value = value

    def _get(self, name: str) -> int:
        return int(self._port(name).value)

    def tick(self) -> None:
        fields = {"aw": ("awaddr",), "w": ("wdata", "wstrb"), "ar": ("araddr",)}
        for channel, names in fields.items():
            valid, ready = self._get(f"{channel}valid"), self._get(f"{channel}ready")
            offer = tuple(self._get(name) for name in names) if valid else ()
            if channel in self._offer:
                assert valid and offer == self._offer[channel], f"{channel}: did not stand"
            self._offer.pop(channel, None)
            if valid and ready:
                assert channel not in self._held
                self._held[channel] = offer
            elif valid:
                self._offer[channel] = offer
            free = channel not in self._held
            self._set(f"{channel}ready", int(free and not next(self._stall[channel])))
        for channel, needs in (("b", ("aw", "w")), ("r", ("ar",))):
            if self._get(f"{channel}valid"):
                if self._get(f"{channel}ready"):
                    self._set(f"{channel}valid", 0)
                    for need in needs:
                        del self._held[need]
                        self._set(f"{need}ready", 0)
            elif all(need in self._held for need in needs) and not next(self._stall[channel]):
                self._do(channel)
                self._set(f"{channel}valid", 1)

    def _do(self, channel: str) -> None:
        (address,) = self._held["aw" if channel == "b" else "ar"]
        self.accesses.append((channel, address))
        assert address % 4 == 0
        self._set(f"{channel}resp", 3 if address in BAD else 0)
        if channel == "r":
            self._set("rdata", self.words.get(address, 0xDEAD0000 | address & 0xFFFF))
        elif address not in BAD:
            word, strobe = self._held["w"]
            assert strobe == 0xF
            self.words[address] = word

    def load(self, address: int, data: bytes) -> None:
        for k in range(0, len(data), 4):
            self.words[address + k] = int.from_bytes(data[k : k + 4], "little")

    def dump(self, address: int, size: int) -> bytes:
        return b"".join(self.words[address + k].to_bytes(4, "little") for k in range(0, size, 4))


class LinkBench(Bench):
    """The link between its wires and its bus."""

    def __init__(self, dut, *, stall: str = "half", peer: float = 1.0):
        super().__init__(dut)
        self.bit = parameters()["bit"]
        self.silence = parameters()["silence"]
        self.words_silences = parameters()["words_silences"]
        self.wire = self.add(Wire(self, self.bit * peer))
        self.listener = self.add(Listener(self, self.bit))
        self.memory = self.add(Subordinate(self, stall))

    async def expect(self, content: bytes) -> None:
        """All that was sent goes out, and just `content` comes back."""
        limit = int(self.bit * 10 * (len(content) + 50)) + 20 * len(content) + 1000
        await self.until(lambda: self.cycle > self.wire.time, limit=1_000_000)
        await self.until(lambda: len(self.listener.content) >= len(content), limit=limit)
        await self.step(int(self.bit * 12) + 20)
        assert bytes(self.listener.content) == content
        self.listener.content.clear()

    async def silent(self, silences: int = 1) -> None:
        """Let the line be silent for so many silences."""
        await self.until(lambda: self.cycle > self.wire.time, limit=1_000_000)
        await self.step(silences * self.silence + 20)

    async def works(self) -> None:
        """A block goes there and back, and nothing else."""
        data = self.rng.randbytes(8)
        self.wire.send(write_block(250, 0x40, data) + read_block(251, 0x40, 2))
        await self.expect(written(250, 0x48) + answer(251, data, 0x48))


@cocotb.test
async def words_as_uart_bone_has_them(dut):
    bench = LinkBench(dut)
    await bench.reset()
    send, memory = bench.wire.send, bench.memory
    send(bytes.fromhex("01 02 00000400 11223344 55667788"))
    await bench.expect(b"")
    assert memory.words == {0x1000: 0x11223344, 0x1004: 0x55667788}
    send(bytes.fromhex("03 03 00000800 00000001 00000002 a0b0c0d0"))
    await bench.expect(b"")
    assert memory.words[0x2000] == 0xA0B0C0D0 and 0x2004 not in memory.words
    assert memory.accesses[2:] == [("b", 0x2000)] * 3
    send(bytes.fromhex("02 03 00000400"))
    await bench.expect(bytes.fromhex("11223344 55667788 dead1008"))
    send(bytes.fromhex("04 02 00000401"))
    await bench.expect(bytes.fromhex("55667788 55667788"))
    assert memory.accesses[-2:] == [("r", 0x1004)] * 2
    # Errors of the bus; the highest address; one request behind the other.
    send(bytes.fromhex("02 02 23ffffff01 01 3fffffff 0102030402 01 3fffffff"))
    await bench.expect(bytes.fromhex("ffffffff dead0000 01020304"))


@cocotb.test(skip=SHORT)
async def a_length_of_0_is_256_words(dut):
    bench = LinkBench(dut, stall="never")
    await bench.reset()
    data = bench.rng.randbytes(1024)
    bench.memory.load(0, data)
    bench.wire.send(bytes.fromhex("02 00 00000000"))
    await bench.expect(struct.pack(">256I", *struct.unpack("<256I", data)))


@cocotb.test(skip=SLOW)
@cocotb.parametrize(stall=["never", "bursts"])
async def blocks_there_and_back(dut, stall):
    bench = LinkBench(dut, stall=stall)
    await bench.reset()
    sent = {0x100: 7, 0x4000_0000: 1, 0xFFFF_FF80: 32}
    content, answers = b"", b""
    for sequence, (address, words) in enumerate(sent.items()):
        data = bench.rng.randbytes(4 * words)
        end = address + 4 * words
        content += write_block(sequence, address, data)
        content += read_block(sequence + 100, address, words)
        answers += written(sequence, end) + answer(sequence + 100, data, end)
    bench.wire.send(content)
    await bench.expect(answers)
    # Of no words: the link is there.
    bench.wire.send(read_block(9, 0x1234, 0) + write_block(10, 0x1234, b""))
    await bench.expect(answer(9, b"", 0x1234) + written(10, 0x1234))


@cocotb.test(skip=SLOW)
async def a_block_ends_at_an_error_of_the_bus(dut):
    bench = LinkBench(dut)
    await bench.reset()
    data = bench.rng.randbytes(24)
    good = BAD.start - 8
    bench.wire.send(write_block(1, good, data) + read_block(2, good, 6))
    await bench.expect(
        written(1, BAD.start, BUS_ERROR)
        + answer(2, data[:8] + bytes([255] * 16), BAD.start, BUS_ERROR)
    )
    assert bench.memory.dump(good, 8) == data[:8]
    assert [address for _, address in bench.memory.accesses] == [good, good + 4, BAD.start] * 2
    await bench.works()


@cocotb.test
async def answers_leave_without_a_gap(dut):
    bench = LinkBench(dut, stall="half")
    await bench.reset()
    data = bench.rng.randbytes(80)
    bench.memory.load(0, data)
    bench.wire.send(b"".join(read_block(n, 16 * n, 4) for n in range(5)))
    await bench.until(lambda: len(bench.listener.content) == 5 * 25)
    assert bytes(bench.listener.content) == b"".join(
        answer(n, data[16 * n : 16 * n + 16], 16 * n + 16) for n in range(5)
    )
    starts = bench.listener.starts
    off = bench.bit / 200  # a byte, by the rounding of a bit's length
    for k in range(25):
        assert abs(starts[k] - starts[0] - 10 * bench.bit * k) <= 1 + k * off, k
    # The next request waits already when an answer has left.
    gaps = [after - before for before, after in zip(starts, starts[1:], strict=False)]
    assert max(gaps) <= 10 * bench.bit + 1


@cocotb.test
@cocotb.parametrize(peer=[0.98, 1.0, 1.02])
async def a_peer_off_in_its_clock(dut, peer):
    bench = LinkBench(dut, peer=peer)
    await bench.reset()
    bench.wire.bit = bench.bit * peer
    data = bytes.fromhex("00ff55aa 0180fe7f") + bench.rng.randbytes(8)
    bench.wire.send(write_block(7, 0x20, data) + write_block(8, 0x30, data))
    bench.wire.send(read_block(9, 0x28, 6))
    await bench.expect(written(7, 0x30) + written(8, 0x40) + answer(9, data[8:] + data, 0x40))


@cocotb.test(skip="sent" not in parameters())
async def does_as_the_host_expects(dut):
    bench = LinkBench(dut)
    await bench.reset()
    bench.wire.send(bytes.fromhex(parameters()["sent"]))
    await bench.expect(bytes.fromhex(parameters()["answered"]))
