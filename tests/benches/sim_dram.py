# SPDX-FileCopyrightText: castbag contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Bench of memory.v with a DRAM behind it: contents, order, timing rules, counts."""

import json
import random
from collections import deque
from pathlib import Path

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import RisingEdge

from castbag.sim.bench import STALLS, parameters

JOB = parameters()
PORTS = JOB["READ_PORTS"]
BEAT = JOB["DATA_BITS"] // 8
ADDRESS = JOB["ADDRESS_BITS"]
SIZE = 1 << JOB["SIZE_BITS"]
LIMIT = 200_000


def known_bits(value) -> int:
    """The value, with 0 for what nobody has written and Icarus shows as X."""
    return int(str(value).replace("X", "0"), 2)


class Managers:
    """Drives all ports; a port's requests go out in order, each as soon as it may."""

    def __init__(self, dut, stall: str):
        self.dut = dut
        self.reads = [deque() for _ in range(PORTS)]  # (address, beats)
        self.writes = deque()
        self.beats = deque()  # (data, strobe, last)
        self.data = [[] for _ in range(PORTS)]
        self.responses = []
        self.outstanding = 0
        rng = random.Random(cocotb.RANDOM_SEED)
        self.stalls = {
            name: STALLS[stall](random.Random(rng.random())) for name in ("ar", "r", "aw", "w", "b")
        }
        for name in ("arvalid", "awvalid", "wvalid", "rready", "bready"):
            getattr(dut, f"s_axi_{name}").value = 0

    def read(self, port: int, address: int, beats: int) -> None:
        self.reads[port].append((address, beats))
        self.outstanding += beats

    def write(self, address: int, data: bytes, strobes: list[int]) -> None:
        beats = len(data) // BEAT
        self.writes.append((address, beats))
        for k in range(beats):
            word = int.from_bytes(data[k * BEAT : (k + 1) * BEAT], "little")
            self.beats.append((word, strobes[k], k == beats - 1))
        self.outstanding += 1

    def _offer(self, channel: str, standing: bool, waiting) -> bool:
        """Whether something is to stand on a channel: what stood, stays."""
        return standing or bool(waiting and not next(self.stalls[channel]))

    async def finish(self) -> int:
        """Run until nothing is on its way; returns the cycles."""
        dut, cycles = self.dut, 0
        ar = [False] * PORTS
        aw = w = False
        while self.outstanding:
            assert cycles < LIMIT, f"{self.outstanding} are not answered"
            ar = [self._offer("ar", ar[p], self.reads[p]) for p in range(PORTS)]
            dut.s_axi_arvalid.value = sum(v << p for p, v in enumerate(ar))
            heads = [self.reads[p][0] if self.reads[p] else (0, 1) for p in range(PORTS)]
            dut.s_axi_araddr.value = sum(h[0] << p * ADDRESS for p, h in enumerate(heads))
            dut.s_axi_arlen.value = sum(h[1] - 1 << p * 8 for p, h in enumerate(heads))
            aw = self._offer("aw", aw, self.writes)
            w = self._offer("w", w, self.beats)
            dut.s_axi_awvalid.value, dut.s_axi_wvalid.value = int(aw), int(w)
            if aw:
                dut.s_axi_awaddr.value = self.writes[0][0]
                dut.s_axi_awlen.value = self.writes[0][1] - 1
            if w:
                dut.s_axi_wdata.value, dut.s_axi_wstrb.value, dut.s_axi_wlast.value = self.beats[0]
            taking = sum((not next(self.stalls["r"])) << p for p in range(PORTS))
            answers = not next(self.stalls["b"])
            dut.s_axi_rready.value, dut.s_axi_bready.value = taking, int(answers)
            await RisingEdge(dut.clk)
            cycles += 1
            ready, valid = int(dut.s_axi_arready.value), int(dut.s_axi_rvalid.value)
            for p in range(PORTS):
                if ar[p] and ready >> p & 1:
                    self.reads[p].popleft()
                    ar[p] = False
                if valid & taking & 1 << p:
                    bits = known_bits(dut.s_axi_rdata.value) >> p * BEAT * 8
                    self.data[p].append((bits & (1 << BEAT * 8) - 1).to_bytes(BEAT, "little"))
                    self.outstanding -= 1
            if aw and int(dut.s_axi_awready.value):
                self.writes.popleft()
                aw = False
            if w and int(dut.s_axi_wready.value):
                self.beats.popleft()
                w = False
            if answers and int(dut.s_axi_bvalid.value):
                self.responses.append(int(dut.s_axi_bresp.value))
                self.outstanding -= 1
        return cycles


async def start(dut) -> None:
    dut.bytes.value = SIZE
    dut.haste.value = JOB.get("haste", 0)
    dut.rst.value = 1
    Clock(dut.clk, 10, "ns").start()
    for _ in range(3):
        await RisingEdge(dut.clk)
    dut.rst.value = 0


def some_burst(rng: random.Random) -> tuple[int, int]:
    """Any burst within a page of 4 KiB."""
    beats = rng.choice((1, 2, 3, 4, 8, 16))
    page, room = rng.randrange(SIZE // 4096), 4096 // BEAT - beats
    return page * 4096 + rng.randint(0, room) * BEAT, beats


@cocotb.test(skip=JOB["task"] != "contents")
@cocotb.parametrize(stall=["never", "half", "bursts"])
async def holds_what_was_written(dut, stall):
    rng = random.Random(cocotb.RANDOM_SEED)
    await start(dut)
    managers = Managers(dut, stall)
    known: dict[int, int] = {}  # of each byte that was written
    for _ in range(4):
        taken: set[int] = set()
        for _ in range(40):
            address, beats = some_burst(rng)
            places = set(range(address, address + beats * BEAT))
            if places & taken:  # which is first, AXI does not say
                continue
            taken |= places
            data = rng.randbytes(beats * BEAT)
            full = (1 << BEAT) - 1
            strobes = [rng.choice((full, rng.randint(0, full))) for _ in range(beats)]
            managers.write(address, data, strobes)
            for k, byte in enumerate(data):
                if strobes[k // BEAT] >> k % BEAT & 1:
                    known[address + k] = byte
        await managers.finish()
        asked = [[] for _ in range(PORTS)]
        for _ in range(60):
            port, (address, beats) = rng.randrange(PORTS), some_burst(rng)
            if rng.random() < 0.7:
                address = rng.choice(sorted(known)) // 4096 * 4096
            managers.read(port, address, beats)
            asked[port].append((address, beats))
        await managers.finish()
        for port in range(PORTS):
            beats = deque(managers.data[port])
            managers.data[port].clear()
            for address, count in asked[port]:
                found = b"".join(beats.popleft() for _ in range(count))
                for k, byte in enumerate(found):
                    assert known.get(address + k, byte) == byte, hex(address + k)
            assert not beats
    assert set(managers.responses) == {0}
    assert dut.broken.value == 0


@cocotb.test(skip=JOB["task"] != "rules")
async def runs_random_traffic(dut):
    """For tests of the rules: what was broken goes to a file."""
    rng = random.Random(cocotb.RANDOM_SEED)
    await start(dut)
    managers = Managers(dut, "never")
    for _ in range(JOB["rounds"]):
        hot = [rng.randrange(SIZE // 4096) * 4096 for _ in range(8)]
        for _ in range(40):
            address, beats = some_burst(rng)
            if rng.random() < 0.5:
                address = rng.choice(hot) + address % 4096
            if rng.random() < 0.5:
                managers.read(rng.randrange(PORTS), address, beats)
            else:
                managers.write(address, bytes(beats * BEAT), [(1 << BEAT) - 1] * beats)
        await managers.finish()
        for _ in range(rng.choice((0, 10, 2000))):
            await RisingEdge(dut.clk)
    Path("broken.json").write_text(json.dumps(int(dut.broken.value)))
