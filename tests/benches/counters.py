# SPDX-FileCopyrightText: castbag contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Bench of the counters: random activity, counted here too."""

from collections import Counter

import cocotb

from castbag.rtl.control.counters import ASK_CYCLES
from castbag.rtl.control.map import COUNTERS, READ_CLIENTS, UNITS, WRITE_CLIENTS, Phase
from castbag.sim.bench import Bench

NAMES = [name for name, _ in COUNTERS]
READERS = [name for name, _ in READ_CLIENTS]
WRITERS = [name for name, _ in WRITE_CLIENTS]
CAST_READERS = {"cast_entries", "cast_offsets", "runs"}
CAST_UNITS = {"sort", "cast"}
LATENCY = len(NAMES) + 3


class CountersBench(Bench):
    """The counters under activity as an engine has it."""

    def __init__(self, dut):
        super().__init__(dut)
        dut.ask.value = 0
        dut.clear.value = 0
        self.counts: Counter[str] = Counter()
        self.drive(running=0, main=None, cast=0, read=None, write=None, feeding=0, streams={})

    def drive(self, *, running, main, cast, read, write, feeding, streams) -> None:
        """What goes on in the next cycle, and count it."""
        dut = self.dut
        active = cast << Phase.CAST | (0 if main is None else 1 << main)
        dut.running.value, dut.active.value, dut.feeding.value = running, active, feeding
        dut.read_beats.value = 0 if read is None else 1 << READERS.index(read)
        dut.write_beats.value = 0 if write is None else 1 << WRITERS.index(write)
        for end, place in (("valid", 0), ("ready", 1)):
            bits = sum(streams[unit][place] << k for k, (unit, _) in enumerate(UNITS) if streams)
            getattr(dut, end).value = bits
        count = self.counts
        count["TOTAL_CYCLES"] += running
        main_name = None if main is None else Phase(main).name
        if main_name:
            count[f"{main_name}_CYCLES"] += 1
        count["CAST_CYCLES"] += cast
        if read in CAST_READERS:
            fed = read == "runs" and feeding
            count["BACKWARD_READ_BEATS" if fed else "CAST_READ_BEATS"] += 1
        elif read and main_name:
            count[f"{main_name}_READ_BEATS"] += 1
        if write and write != "vectors":
            count["CAST_WRITE_BEATS"] += 1
        elif write and main_name:
            count[f"{main_name}_WRITE_BEATS"] += 1
        if read and (read in CAST_READERS or main_name):
            count[f"READ_{read.upper()}_BEATS"] += 1
        if write:
            count[f"WRITE_{write.upper()}_BEATS"] += 1
        for unit, (valid, ready) in streams.items():
            at_work = cast if unit in CAST_UNITS else main is not None
            state = {(1, 1): "BUSY", (1, 0): "BLOCKED", (0, 1): "STARVED"}.get((valid, ready))
            if state and (state != "STARVED" or at_work):
                count[f"{unit.upper()}_{state}"] += 1

    async def run(self, cycles: int) -> None:
        """Random activity, then none."""
        rng, phases = self.rng, [None, *(phase for phase in Phase if phase != Phase.CAST)]
        for _ in range(cycles):
            main = rng.choice(phases)
            self.drive(
                running=rng.randrange(2),
                main=main,
                cast=rng.randrange(2),
                read=rng.choice([None, *READERS]),
                write=rng.choice([None, *WRITERS]),
                feeding=rng.randrange(2),
                streams={unit: (rng.randrange(2), rng.randrange(2)) for unit, _ in UNITS},
            )
            await self.step()
        self.drive(running=0, main=None, cast=0, read=None, write=None, feeding=0, streams={})

    async def count_of(self, name: str) -> int:
        self.dut.index.value = NAMES.index(name)
        self.dut.ask.value = 1
        await self.until(lambda: int(self.dut.count_valid.value) == 1, limit=LATENCY + 1)
        self.dut.ask.value = 0
        count = int(self.dut.count.value)
        await self.step()
        return count

    async def check(self) -> None:
        for name in self.rng.sample(NAMES, len(NAMES)):
            assert await self.count_of(name) == self.counts[name], name

    async def clear(self) -> None:
        """In the middle of things: what comes in that cycle does not count."""
        self.dut.clear.value = 1
        await self.step()
        self.dut.clear.value = 0
        self.counts.clear()


@cocotb.test
async def counts_what_belongs_to_each(dut):
    bench = CountersBench(dut)
    await bench.reset()
    await bench.clear()
    for cycles in (1, 47, 48, 300):
        await bench.run(cycles)
        await bench.step()
        await bench.check()


@cocotb.test
async def counts_an_event_in_every_cycle(dut):
    bench = CountersBench(dut)
    await bench.reset()
    await bench.clear()
    streams = {unit: (1, 1) for unit, _ in UNITS}
    for _ in range(1000):
        bench.drive(
            running=1, main=0, cast=1, read="vectors", write="runs", feeding=0, streams=streams
        )
        await bench.step()
    bench.drive(running=0, main=None, cast=0, read=None, write=None, feeding=0, streams={})
    await bench.step()
    assert await bench.count_of("FORWARD_READ_BEATS") == 1000
    await bench.check()


@cocotb.test
async def counts_an_event_in_every_cycle_while_asked(dut):
    """As often as it may be: each ask takes a visit from another count."""
    bench = CountersBench(dut)
    await bench.reset()
    await bench.clear()
    await bench.step(len(NAMES))
    streams = {unit: (1, 1) for unit, _ in UNITS}
    answers = 0
    for cycle in range(2000):
        bench.drive(
            running=1, main=0, cast=1, read="vectors", write="runs", feeding=0, streams=streams
        )
        if cycle % ASK_CYCLES == 0:
            dut.index.value = cycle * 7 // ASK_CYCLES % len(NAMES)
            dut.ask.value = 1
        await bench.step()
        if int(dut.count_valid.value) == 1:
            answers += 1
            dut.ask.value = 0
    bench.drive(running=0, main=None, cast=0, read=None, write=None, feeding=0, streams={})
    dut.ask.value = 0
    await bench.step(4)
    assert answers > 1000 / ASK_CYCLES
    await bench.check()


@cocotb.test
async def clears_all_at_once_whatever_goes_on(dut):
    bench = CountersBench(dut)
    await bench.reset()
    for cycles in (5, 30, 100):
        await bench.run(200)
        await bench.clear()
        await bench.run(cycles)
        await bench.step()
        await bench.check()
