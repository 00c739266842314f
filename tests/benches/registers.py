# SPDX-FileCopyrightText: castbag contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Bench of the register file: an AXI4-Lite manager that is not ours (cocotbext-axi).

The table is the engine's or, as the parameter `table` says, the board's, which has no counters.
"""

import cocotb
from cocotb.triggers import Combine
from cocotbext.axi import AxiLiteBus, AxiLiteMaster, AxiResp

from castbag.rtl.control import map as control
from castbag.rtl.control.counters import COUNTER_BITS
from castbag.rtl.control.map import COUNTERS
from castbag.rtl.soc import map as board
from castbag.sim.bench import STALLS, Bench, parameters

TABLE = {"engine": control, "board": board}[parameters()["table"]]
REGISTERS, REGISTER_SPACE = TABLE.REGISTERS, TABLE.REGISTER_SPACE
PULSED = [entry for entry in REGISTERS if entry.access == "w1c"]
HELD = next(entry for entry in REGISTERS if entry.access == "rw")
CONSTANTS: dict[str, int] = parameters().get("constants", {})
HAS_COUNTERS = any(entry.counter for entry in REGISTERS)

WRITE_LATENCY, READ_LATENCY = 2, 3
"""Cycles from the later of an access's address and data to its answer."""

BYTES = {entry.offset + k: (entry, k) for entry in REGISTERS for k in range(8 if entry.wide else 4)}
"""The register that a byte of the space belongs to, and which of its bytes it is."""


class Watch:
    """Sees each transfer of the bus, and each pulse of a `…_clear`; holds answers to the rules."""

    FIELDS = {"aw": (), "w": (), "b": ("bresp",), "ar": (), "r": ("rdata", "rresp")}

    def __init__(self, bench: Bench):
        self.times: dict[str, list[int]] = {channel: [] for channel in self.FIELDS}
        self.clears: list[tuple[str, int]] = []
        self._bench = bench
        self._standing: dict[str, list[int]] = {}

    def tick(self) -> None:
        dut = self._bench.dut
        for channel, fields in self.FIELDS.items():
            valid, ready = (
                int(getattr(dut, f"bus__{channel}{end}").value) for end in ("valid", "ready")
            )
            offer = [int(getattr(dut, f"bus__{field}").value) for field in fields] if valid else []
            if channel in self._standing:
                assert valid and offer == self._standing[channel], f"{channel}: did not stand"
            self._standing.pop(channel, None)
            if valid and ready:
                self.times[channel].append(self._bench.cycle)
            elif valid:
                self._standing[channel] = offer
        for entry in REGISTERS:
            if entry.access == "w1c":
                pulse = int(getattr(dut, f"{entry.name}_clear").value)
                self.clears += [(entry.name, pulse)] if pulse else []


class Counts:
    """In the place of the counters: gives a count some cycles after it was asked for."""

    def __init__(self, bench: "RegistersBench"):
        self._bench = bench
        self._wait = 0
        bench.dut.count_valid.value = 0

    def tick(self) -> None:
        dut = self._bench.dut
        asked = int(dut.ask.value) and not int(dut.count_valid.value)
        self._wait = self._wait - 1 if asked and self._wait else self._bench.rng.randrange(9)
        given = bool(asked and not self._wait)
        dut.count_valid.value = int(given)
        if given:
            dut.count.value = self._bench.values[COUNTERS[int(dut.index.value)][0]]


class RegistersBench(Bench):
    """The register file, its inputs at random values, and what it must hold."""

    def __init__(self, dut):
        super().__init__(dut)
        self.watch = self.add(Watch(self))
        if HAS_COUNTERS:
            self.add(Counts(self))
        bus = AxiLiteBus.from_prefix(dut, "bus_")
        self.manager = AxiLiteMaster(bus, dut.clk, dut.rst)
        self.values = {entry.name: entry.reset for entry in REGISTERS}
        self.clears: list[tuple[str, int]] = []
        for entry in REGISTERS:
            if entry.counter:
                self.values[entry.name] = self.rng.getrandbits(COUNTER_BITS)
            elif entry.name in CONSTANTS:
                self.values[entry.name] = CONSTANTS[entry.name]
            elif entry.access != "rw":
                self.values[entry.name] = self.rng.getrandbits(64 if entry.wide else 32)
                getattr(dut, entry.name).value = self.values[entry.name]

    def pause(self, **patterns: str) -> None:
        """Stall the manager's channels by these patterns."""
        for channel, pattern in patterns.items():
            end = self.manager.read_if if channel in ("ar", "r") else self.manager.write_if
            getattr(end, f"{channel}_channel").set_pause_generator(STALLS[pattern](self.rng))

    async def finish(self, access):
        """Advance until the manager is through with `access`."""
        task = cocotb.start_soon(access)
        await self.until(task.done, limit=5000)
        return task.result()

    async def read(self, address: int, size: int = 4) -> bytes:
        answer = await self.finish(self.manager.read(address, size))
        assert answer.resp == AxiResp.OKAY
        return answer.data

    async def write(self, address: int, data: bytes) -> None:
        answer = await self.finish(self.manager.write(address, data))
        assert answer.resp == AxiResp.OKAY

    def expect_write(self, address: int, data: bytes) -> None:
        """Do in the model what a write does."""
        pulses: dict[tuple[str, int], int] = {}  # by register and word: an access a word
        for place, byte in enumerate(data, address):
            entry, k = BYTES.get(place, (None, 0))
            if entry is not None and entry.access == "rw":
                self.values[entry.name] &= ~(0xFF << 8 * k)
                self.values[entry.name] |= byte << 8 * k
            elif entry is not None and entry.access == "w1c":
                pulses.setdefault((entry.name, place // 4), 0)
                pulses[entry.name, place // 4] |= byte << 8 * k
        self.clears += [(name, pulse) for (name, _), pulse in pulses.items() if pulse]

    def expected(self, address: int, size: int) -> bytes:
        """What a read must give."""
        return bytes(
            self.values[BYTES[place][0].name] >> 8 * BYTES[place][1] & 0xFF if place in BYTES else 0
            for place in range(address, address + size)
        )

    def check_ports(self) -> None:
        """Every register that is written here must show at its port."""
        for entry in REGISTERS:
            if entry.access == "rw":
                assert int(getattr(self.dut, entry.name).value) == self.values[entry.name]


@cocotb.test
async def reads_every_register_and_0_elsewhere(dut):
    bench = RegistersBench(dut)
    await bench.reset()
    bench.check_ports()
    for address in range(0, REGISTER_SPACE, 4):
        assert await bench.read(address) == bench.expected(address, 4), hex(address)
    for entry in REGISTERS:
        size = 8 if entry.wide else 4
        assert await bench.read(entry.offset, size) == bench.expected(entry.offset, size)


@cocotb.test(skip=not HAS_COUNTERS)
async def a_counts_upper_half_is_that_of_its_lower_one(dut):
    bench = RegistersBench(dut)
    bench.pause(ar="half", r="bursts")
    await bench.reset()
    for entry in (entry for entry in REGISTERS if entry.counter):
        lower = await bench.read(entry.offset)
        before = bench.values[entry.name]
        bench.values[entry.name] = bench.rng.getrandbits(COUNTER_BITS)
        upper = await bench.read(entry.offset + 4)
        assert int.from_bytes(lower + upper, "little") == before, entry.name


@cocotb.test
async def writes_what_may_be_written(dut):
    bench = RegistersBench(dut)
    await bench.reset()
    for address in range(0, REGISTER_SPACE, 4):
        data = bench.rng.randbytes(4)
        await bench.write(address, data)
        bench.expect_write(address, data)
        await bench.step(2)
        bench.check_ports()
    assert await bench.read(0, REGISTER_SPACE) == bench.expected(0, REGISTER_SPACE)
    assert bench.watch.clears == bench.clears


@cocotb.test
async def writes_only_strobed_bytes(dut):
    bench = RegistersBench(dut)
    await bench.reset()
    for entry in REGISTERS:
        for k in range(8 if entry.wide else 4):
            for size in (1, 2, 3):
                data = bench.rng.randbytes(size)
                await bench.write(entry.offset + k, data)
                bench.expect_write(entry.offset + k, data)
                await bench.step(2)
                bench.check_ports()
    assert bench.watch.clears == bench.clears


@cocotb.test
async def clears_with_one_pulse_of_the_bits_written_as_1(dut):
    bench = RegistersBench(dut)
    await bench.reset()
    one, other = PULSED
    await bench.write(one.offset, (0x8000_0003).to_bytes(4, "little"))
    await bench.write(other.offset, (1).to_bytes(4, "little"))
    await bench.write(one.offset, bytes(4))
    await bench.step(10)
    assert bench.watch.clears == [(one.name, 0x8000_0003), (other.name, 1)]


@cocotb.test
@cocotb.parametrize(first=["aw", "w"])
async def takes_address_and_data_in_either_order(dut, first):
    bench = RegistersBench(dut)
    await bench.reset()
    late = bench.manager.write_if.w_channel if first == "aw" else bench.manager.write_if.aw_channel
    late.pause = True
    task = cocotb.start_soon(bench.manager.write_dword(HELD.offset, 0x1234))
    await bench.step(20)
    assert len(bench.watch.times[first]) == 1 and not bench.watch.times["b"]
    assert int(getattr(dut, HELD.name).value) == HELD.reset
    late.pause = False
    await bench.until(task.done)
    assert int(getattr(dut, HELD.name).value) == 0x1234


@cocotb.test
@cocotb.parametrize(
    (
        ("aw", "w", "ar", "answers"),
        [
            ("never", "never", "never", "never"),
            ("half", "half", "half", "never"),
            ("bursts", "never", "bursts", "never"),
            ("never", "mostly", "never", "half"),
            ("half", "bursts", "half", "bursts"),
        ],
    )
)
async def serves_a_reader_beside_a_writer(dut, aw, w, ar, answers):
    bench = RegistersBench(dut)
    bench.pause(aw=aw, w=w, ar=ar, b=answers, r=answers)
    await bench.reset()
    written = [entry for entry in REGISTERS if entry.access != "ro"]
    shown = [entry for entry in REGISTERS if entry.access != "rw" and not entry.counter]

    async def write():
        for _ in range(40):
            address = bench.rng.choice(written).offset + bench.rng.randrange(4)
            data = bench.rng.randbytes(bench.rng.randint(1, 8))
            await bench.manager.write(address, data)
            bench.expect_write(address, data)

    async def read():
        for _ in range(60):
            entry = bench.rng.choice(shown)
            answer = await bench.manager.read(entry.offset, 4)
            assert answer.data == bench.expected(entry.offset, 4)

    async def both():
        await Combine(cocotb.start_soon(write()), cocotb.start_soon(read()))

    await bench.finish(both())
    await bench.step(2)
    bench.check_ports()
    assert bench.watch.clears == bench.clears
    if answers == "never":
        times = bench.watch.times
        given = [max(pair) for pair in zip(times["aw"], times["w"], strict=True)]
        assert times["b"] == [time + WRITE_LATENCY for time in given]
        assert times["r"] == [time + READ_LATENCY for time in times["ar"]]
