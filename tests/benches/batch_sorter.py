# SPDX-FileCopyrightText: castbag contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Bench of the whole sorter: batches of any length, equal to NumPy's stable sort."""

import cocotb

from castbag.rtl.config import EngineConfig
from castbag.rtl.layouts import SortPairLayout
from castbag.sim.bench import Bench, parameters

from .runs import KINDS, as_pairs, by_row, run_rows
from .scratch import ScratchMemory

BASE = 0x2000


class Batches:
    """The sorter with its memory, and batches for it."""

    def __init__(self, dut, *, idle="never", stall="never", bus="never", latency=64):
        self.config = EngineConfig(**parameters()["config"])
        self.bench = Bench(dut)
        self.source = self.bench.source("i", SortPairLayout(self.config), stall=idle)
        self.sink = self.bench.sink("o", SortPairLayout(self.config), stall=stall)
        self.memory = ScratchMemory(
            self.bench,
            self.config,
            base=BASE,
            size=self.config.packing.scratch_bytes(self.config.max_lookups),
            stall=bus,
            latency=latency,
        )
        dut.start.value = 0
        dut.scratch.value = BASE
        dut.half.value = 0

    async def sort(self, kind: str, length: int, *, lookups: int | None = None) -> int:
        """Sort a batch, check it, and give the cycles from its first pair to its last one."""
        return await self.sort_rows(run_rows(self.bench.rng, kind, length, self.config), lookups)

    async def sort_rows(self, rows: list[int], lookups: int | None = None) -> int:
        """The same, of a batch with these rows."""
        dut, sink, packing = self.bench.dut, self.sink, self.config.packing
        pairs, length = as_pairs(rows, self.config), len(rows)
        dut.start.value = 1
        lookups = length if lookups is None else lookups
        dut.lookups.value = lookups
        dut.half.value = packing.spilled_runs(lookups) * packing.run_bytes
        await self.bench.step()
        dut.start.value = 0
        await self.bench.step(3)
        begin, left, entered = self.bench.cycle, len(sink.items), len(self.source.times)
        read, written = self.memory.beats_read, self.memory.beats_written
        self.memory.written.clear()
        self.source.send_all(pairs)
        limit = 1000 + 30 * length
        await self.bench.until(lambda: len(sink.items) - left == length, limit=limit)
        await self.bench.step(20)
        assert sink.items[left:] == by_row(pairs)
        spilled = packing.spilled_runs(length) * packing.run_bytes // self.config.bus_bytes
        passes = 1 + packing.merge_passes(length)
        assert self.memory.beats_read - read == passes * spilled
        assert self.memory.beats_written - written == passes * spilled
        return sink.times[-1] - self.source.times[entered] if length else self.bench.cycle - begin


@cocotb.test
@cocotb.parametrize(kind=KINDS)
async def sorts_batches(dut, kind):
    """Around every boundary of runs and passes."""
    batches = Batches(dut, latency=20)
    await batches.bench.reset()
    for length in parameters()["lengths"]:
        await batches.sort(kind, length)


@cocotb.test
@cocotb.parametrize(
    ways=[("half", "half", "half"), ("bursts", "bursts", "bursts"), ("never", "mostly", "half")]
)
async def sorts_at_any_pace(dut, ways):
    idle, stall, bus = ways
    batches = Batches(dut, idle=idle, stall=stall, bus=bus, latency=9)
    await batches.bench.reset()
    rng = batches.bench.rng
    for length in parameters()["stalled"]:
        await batches.sort(rng.choice(KINDS), length)
        await batches.sort(rng.choice(KINDS), length, lookups=length + rng.randrange(5))


@cocotb.test
async def sorts_anything(dut):
    """Batches of any length, of stretches of all kinds."""
    batches = Batches(dut, stall="bursts", latency=33)
    await batches.bench.reset()
    rng, longest = batches.bench.rng, max(parameters()["lengths"])
    for _ in range(6):
        await batches.sort("mixed", rng.randint(1, longest))


@cocotb.test
async def sorts_what_is_given(dut):
    batches = Batches(dut, stall="mostly", latency=5)
    await batches.bench.reset()
    for rows in parameters().get("batches", []):
        await batches.sort_rows(rows)
