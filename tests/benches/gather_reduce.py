# SPDX-FileCopyrightText: castbag contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Bench of the gather-reduce path: sums of gathered vectors, whatever holds them up."""

import cocotb
import numpy as np

from castbag.golden.fp32 import bits, sum_segments
from castbag.rtl.config import preset
from castbag.rtl.layouts import SLOTS, LookupLayout, VectorWordLayout
from castbag.sim.bench import STALLS, Bench, parameters

from .segments import VectorMemory, beats, elements, lookups, vectors, whole_vectors

ROWS = 64
LATENCY = 64
"""Of the memory, in cycles: that of the design's `ideal` one."""


class Frame:
    """The path between a source of lookups, a memory with one table, and a sink of sums."""

    def __init__(self, dut, *, idle="never", stall="never", latency=LATENCY):
        self.bench = bench = Bench(dut)
        self.config = config = preset(parameters()["preset"])
        self.lookups = bench.source("i", LookupLayout(config), stall=idle)
        self.sums = bench.sink("o", VectorWordLayout(config), stall=stall)
        self.closing = bench.sink("closing", config.vector_index_bits, stall=stall)
        self.memory = VectorMemory(bench, config, self.content, latency=latency, stall=idle)
        self.rng = np.random.default_rng(bench.rng.getrandbits(32))
        self.base = 0
        self.beats: list[int] = []
        dut.base.value, dut.words.value, dut.ordered.value, dut.announce.value = 0, 1, 0, 0

    def content(self, address: int) -> int:
        place = address - self.base
        assert 0 <= place < len(self.beats) * self.config.bus_bytes, f"no vector at {address:#x}"
        return self.beats[place // self.config.bus_bytes]

    def source(self) -> int:
        return int(self.rng.integers(ROWS))

    async def reduce(self, items, *, dim: int, ordered: int = 0, limit: int = 100_000) -> int:
        """Gather and reduce `items` of a fresh table; cycles, first lookup to last word."""
        config, dut, table = self.config, self.bench.dut, vectors(self.rng, ROWS, dim)
        words = config.words(dim)
        self.beats = [beat for vector in beats(config, table) for beat in vector]
        room = (1 << config.address_bits) // config.bus_bytes - len(self.beats)
        self.base = int(self.rng.integers(room)) * config.bus_bytes
        announce = int(self.rng.integers(2))
        dut.base.value, dut.words.value = self.base, words
        dut.ordered.value, dut.announce.value = ordered, announce
        await self.bench.step(2)

        start, closed = len(self.sums.items), len(self.closing.items)
        began, asked = len(self.lookups.times), len(self.memory.requests)
        count = 1 + max(item["target"] for item in items)
        self.lookups.send_all(items)
        await self.bench.until(lambda: len(self.sums.items) - start == count * words, limit=limit)
        await self.bench.step(2 * SLOTS)
        found = whole_vectors(self.sums.items[start:])
        order = [target for target, _ in found]
        assert sorted(order) == list(range(count))
        assert self.closing.items[closed:] == (order if announce else [])

        rows, expected = self._expected(table, items, count)
        assert len(self.memory.requests) - asked == rows
        for target, sums in found:
            got = elements(config, sums)
            np.testing.assert_array_equal(got[:dim], expected[target])
            assert not got[dim:].any(), "the pad is not +0.0"
        return self.sums.times[-1] - self.lookups.times[began] + 1

    def _expected(self, table, items, count: int):
        """How many vectors are read, and the sums."""
        gathered = np.zeros((len(items), table.shape[1]), np.uint32)
        read, last = 0, np.zeros(table.shape[1], np.uint32)
        for vector, item in zip(gathered, items, strict=True):
            if item["valid"]:
                if not item["again"]:
                    last, read = table[item["source"]], read + 1
                vector[:] = last
        segments = np.array([item["target"] for item in items], np.int64)
        return read, bits(sum_segments(gathered.view(np.float32), segments, count))


@cocotb.test
@cocotb.parametrize(idle=list(STALLS), stall=list(STALLS))
async def sums_vectors(dut, idle, stall):
    frame = Frame(dut, idle=idle, stall=stall, latency=11)
    await frame.bench.reset()
    lanes, rng = frame.config.lanes, frame.rng
    for words in rng.permutation([1, 2, 3, 4, 5, 7, 8, 9, 17])[:5]:
        dim = int(words) * lanes - int(rng.integers(lanes))
        runs = rng.choice([1, 1, 2, 3, 12], 40 // int(words) + 3).tolist()
        items = lookups(runs, frame.source)
        for item in items:
            item["valid"] = int(rng.random() < 0.95)
        await frame.reduce(items, dim=dim)


@cocotb.test
async def copies_vectors_in_order(dut):
    """`ordered`, each lookup a segment of its own: one read gives as many copies as wanted."""
    frame = Frame(dut)
    await frame.bench.reset()
    for dim in (1, 3, 4 * frame.config.lanes, 17 * frame.config.lanes - 1):
        items = lookups([1] * 80, frame.source)
        for item in items[1:]:
            item["again"] = int(frame.rng.random() < 0.7)
        start = len(frame.sums.items)
        await frame.reduce(items, dim=dim, ordered=1)
        targets = [item["target"] for item in frame.sums.items[start:] if item["end"]]
        assert targets == list(range(80))
