# SPDX-FileCopyrightText: castbag contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Bench of the reducer: sums against the golden model, bit for bit, and its pace."""

import cocotb
import numpy as np

from castbag.golden.fp32 import bits, sum_segments
from castbag.rtl.config import preset
from castbag.rtl.interleave import slot_count
from castbag.rtl.layouts import SLOTS, TermLayout, VectorWordLayout
from castbag.rtl.reduce import LATENCY, ROOM
from castbag.sim.bench import STALLS, Bench, parameters

from .segments import beats, elements, vectors, whole_vectors


class Frame:
    """The unit, and the terms that it is given."""

    def __init__(self, dut, *, idle="never", stall="never"):
        self.bench = Bench(dut)
        self.config = preset(parameters()["preset"])
        self.terms = self.bench.source("i", TermLayout(self.config), stall=idle)
        self.sums = self.bench.sink("o", VectorWordLayout(self.config), stall=stall)
        self.rng = np.random.default_rng(self.bench.rng.getrandbits(32))
        dut.words.value = 1

    def mixed(self, runs: list[int], slots: int) -> list[tuple[int, int, bool, bool]]:
        """Lookups of all segments as (segment, slot, first, last), at random from the slots."""
        waiting, under_way, order = list(enumerate(runs)), {}, []
        while waiting or under_way:
            slot = int(self.rng.integers(slots))
            if slot not in under_way:
                if not waiting:
                    slot = next(iter(under_way))
                else:
                    under_way[slot] = [*waiting.pop(0), 0]
            segment, run, done = under_way[slot]
            order.append((segment, slot, done == 0, done == run - 1))
            under_way[slot][2] += 1
            if done == run - 1:
                del under_way[slot]
        return order

    async def reduce(self, order, *, words: int, table=None, late: int | None = None) -> None:
        """Give vectors in `order` and compare the sums.

        With `late` no sum is taken until all lookups but the last are in, as far as there is room;
        the last lookup comes `late` cycles after that.
        """
        config = self.config
        if table is None:
            table = vectors(self.rng, len(order), words * config.lanes)
        targets = self.rng.permutation(1 + max(o[0] for o in order)) + 7
        start = len(self.sums.items)
        self.bench.dut.words.value = words
        self.sums.hold = late is not None
        await self.bench.step()
        for number, vector in enumerate(beats(config, table)):
            segment, slot, first, last = order[number]
            if late is not None and number == len(order) - 1:
                await self.bench.step(40)
                self.sums.hold = False
                await self.bench.step(late)
            for word, data in enumerate(vector):
                term = {"data": data, "target": int(targets[segment]), "slot": slot, "word": word}
                flags = {"end": int(word == words - 1), "first": int(first), "last": int(last)}
                self.terms.send(term | flags)
        segments = np.array([o[0] for o in order], np.int64)
        expected = bits(sum_segments(table.view(np.float32), segments, len(targets)))
        await self.bench.until(lambda: len(self.sums.items) - start == words * len(targets))
        await self.bench.step(LATENCY + 3)
        found = whole_vectors(self.sums.items[start:])
        closed = [o[0] for o in order if o[3]]
        assert [target for target, _ in found] == [targets[segment] for segment in closed]
        for (_, sums), segment in zip(found, closed, strict=True):
            np.testing.assert_array_equal(elements(config, sums), expected[segment])


@cocotb.test
@cocotb.parametrize(idle=list(STALLS), stall=list(STALLS))
async def sums_mixed_segments(dut, idle, stall):
    frame = Frame(dut, idle=idle, stall=stall)
    await frame.bench.reset()
    for words in (1, 2, 3, 4, 5, 7, 8, 9, frame.config.max_words):
        slots = slot_count(words)
        count, longest = frame.bench.rng.choice([(12, 1), (6, 6), (2, 12)])
        runs = frame.rng.integers(1, longest + 1, count).tolist()
        await frame.reduce(frame.mixed(runs, slots), words=words)


@cocotb.test
async def a_term_that_comes_while_sums_wait_waits_rightly(dut):
    """`ahead` sums wait to leave, with room for another or not, as a last term comes."""
    frame = Frame(dut)
    await frame.bench.reset()
    for ahead in range(3, ROOM + 4):
        for late in range(4):
            finished = [(k, 0, True, True) for k in range(ahead)]
            under_way = [(ahead, 1, True, False), (ahead, 1, False, True)]
            await frame.reduce(finished + under_way, words=1, late=late)


@cocotb.test
async def minus_zero_alone_sums_to_zero(dut):
    frame = Frame(dut)
    await frame.bench.reset()
    table = np.full((3, frame.config.lanes), 0x80000000, np.uint32)
    order = [(0, 0, True, True), (1, 1, True, False), (1, 1, False, True)]
    await frame.reduce(order, words=1, table=table)
    assert [item["data"] for item in frame.sums.items] == [0, 0]


@cocotb.test
async def keeps_its_order_of_addition(dut):
    """1 + 2**24 - 2**24 is 0 in this order; 2**24 - 2**24 + 1 would be 1."""
    frame = Frame(dut)
    await frame.bench.reset()
    column = np.array([[0x3F800000], [0x4B800000], [0xCB800000]], np.uint32)
    order = [(0, 3, True, False), (0, 3, False, False), (0, 3, False, True)]
    await frame.reduce(order, words=1, table=column.repeat(frame.config.lanes, axis=1))
    assert frame.sums.items[0]["data"] == 0


@cocotb.test
@cocotb.parametrize(words=[1, 2, 3, 4, 7, 8, 16])
async def has_the_pace_of_the_formula(dut, words):
    frame = Frame(dut)
    await frame.bench.reset()
    slots = slot_count(words)

    terms, sums = frame.terms.times, frame.sums.times
    alone = [(0, 0, k == 0, k == 19) for k in range(20)]
    await frame.reduce(alone, words=words)
    assert sums[0] == terms[0] + 19 * max(words, SLOTS) + LATENCY + 3
    assert sums[-1] - sums[0] == words - 1

    start = len(terms)
    in_turn = [(k % slots, k % slots, k < slots, k >= 9 * slots) for k in range(10 * slots)]
    await frame.reduce(in_turn, words=words)
    assert terms[-1] - terms[start] == 10 * slots * words - 1

    start = len(terms)
    await frame.reduce([(k, 0, True, True) for k in range(30)], words=words)
    assert terms[-1] - terms[start] == 30 * words - 1
    assert sums[-30 * words :] == [time + LATENCY + 3 for time in terms[start:]]
