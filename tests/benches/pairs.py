# SPDX-FileCopyrightText: castbag contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Bench of the pair reader: pairs, flags, counts, faults, pace, as the golden batch has them."""

from dataclasses import dataclass
from itertools import pairwise, takewhile

import cocotb
import numpy as np

from castbag.golden.batch import Batch
from castbag.rtl.config import preset
from castbag.rtl.control.map import Error
from castbag.rtl.layouts import PairLayout
from castbag.rtl.pairs import LATENCY, BatchLayout
from castbag.sim.bench import STALLS, Bench, Codec

CONFIG = preset("tiny")
MOST_LOOKUPS = CONFIG.run_length
MOST_BAGS = 1 << CONFIG.bag_bits
MOST_ROWS = 1 << CONFIG.index_bits
DRAIN = 12
"""Cycles in which anything that is still inside would have come out."""


@dataclass
class Given:
    """What the reader is given: a batch's rules and its lists, right or wrong."""

    indices: list[int]
    offsets: list[int]
    rows: int = 10
    padding: int | None = None
    ignore: bool = True
    lookups: int | None = None  # None: as many as there are indices

    def golden(self) -> Batch:
        return Batch.of(
            np.array(self.indices, np.int64),
            np.array(self.offsets, np.int64),
            rows=self.rows,
            padding_idx=self.padding,
            bounds="ignore" if self.ignore else "error",
            include_last_offset=True,
        )

    def encode(self) -> int:
        return Codec(BatchLayout(CONFIG)).encode(
            {
                "lookups": len(self.indices) if self.lookups is None else self.lookups,
                "bags": len(self.offsets) - 1,
                "rows": self.rows,
                "padding_index": self.padding or 0,
                "has_padding": self.padding is not None,
                "ignore_bounds": self.ignore,
            }
        )


def expected(batch: Batch, keep_empty: bool) -> list[dict]:
    """The items of a batch, without the fields that mean nothing."""
    ordinals = np.cumsum(batch.valid) - 1
    items = []
    for bag in range(batch.bags):
        lookups = np.flatnonzero(batch.valid & (batch.bag_of == bag))
        for i in lookups:
            items.append({"row": int(batch.indices[i]), "ordinal": int(ordinals[i]), "valid": 1})
            items[-1] |= {"bag": bag, "first": int(i == lookups[0]), "last": int(i == lookups[-1])}
        if keep_empty and not lookups.size:
            items.append({"bag": bag, "valid": 0, "first": 1, "last": 1})
    return [
        meaning(item | {"end": int(number == len(items) - 1)}, keep_empty)
        for number, item in enumerate(items)
    ]


def meaning(item: dict, keep_empty: bool) -> dict:
    """An item without the fields that mean nothing."""
    silent = set() if item["valid"] else {"row", "ordinal"}
    silent |= set() if keep_empty else {"last"}
    return {name: value for name, value in item.items() if name not in silent}


class PairBench(Bench):
    """The reader between its two lists and a sink."""

    def connect(self, *, idle="never", stall="never"):
        """Fresh ends; the old ones, and what they had still to send, are forgotten."""
        self._parts.clear()
        self.offsets = self.source("offsets", 64, stall=idle)
        self.indices = self.source("indices", 64, stall=idle)
        self.pairs = self.sink("o", PairLayout(CONFIG), stall=stall)
        self.dut.start.value = 0

    async def start(self, given: Given, keep_empty: bool) -> None:
        self.pairs.items.clear()
        for source in (self.offsets, self.indices, self.pairs):
            source.times.clear()
        self.dut.batch.value = given.encode()
        self.dut.keep_empty.value = keep_empty
        self.dut.start.value = 1
        await self.step()
        self.dut.start.value = 0
        self.offsets.send_all(value % 2**64 for value in given.offsets)
        self.indices.send_all(value % 2**64 for value in given.indices)
        await self.step()

    @property
    def done(self) -> bool:
        return int(self.dut.done.value) == 1

    async def run(self, given: Given, keep_empty: bool) -> None:
        """A right batch: exactly its items, and `done` neither early nor late."""
        batch = given.golden()
        items = expected(batch, keep_empty)
        await self.start(given, keep_empty)
        await self.until(lambda: self.done, limit=20_000)
        assert len(self.pairs.items) == len(items), "done before the last pair was taken"
        assert self.offsets.idle and self.indices.idle, "done before the lists' ends"
        await self.step(DRAIN)
        assert self.done
        assert [meaning(item, keep_empty) for item in self.pairs.items] == items
        assert int(self.dut.valid_lookups.value) == np.count_nonzero(batch.valid)
        assert int(self.dut.dropped_lookups.value) == batch.dropped
        assert int(self.dut.error.value) == Error.NONE


def random_batch(rng, *, bags: int, lookups: int, holes: float) -> Given:
    """Bags of any length, a share `holes` of them empty, over a small table with some misses."""
    kept = [bag for bag in range(bags) if rng.random() >= holes] or [bags - 1]
    lengths = np.bincount([rng.choice(kept) for _ in range(lookups)], minlength=bags)
    offsets = [0, *(int(end) for end in np.cumsum(lengths))]
    rows = rng.randint(1, 6)
    return Given(
        [rng.randint(-1, rows) for _ in range(lookups)],
        offsets,
        rows=rows,
        padding=rng.choice([None, rng.randrange(rows)]),
    )


RIGHT = [
    Given([2, 5, 2, 0], [0, 2, 4]),
    Given([], [0]),  # no bag
    Given([], [0, 0]),
    Given([], [0, 0, 0, 0]),
    Given([7], [0, 1]),
    Given([1, 2, 3], [0, 0, 0, 1, 3]),  # empty bags at the start
    Given([1, 2, 3], [0, 1, 1, 1, 3]),  # in the middle
    Given([1, 2, 3], [0, 1, 3, 3, 3]),  # at the end
    Given([1, 2, 3], [0, 0, 1, 1, 3, 3]),
    Given([10, 11, -1], [0, 1, 3]),  # every lookup dropped
    Given([10, 1, 10], [0, 3]),  # dropped lookups at either end of a bag
    Given([10, 1, 10, 10, 2, 10], [0, 3, 6]),
    Given([1, 2, 10, 10, 10], [0, 2, 5]),  # a last bag without a valid lookup
    Given([10, 10, 1, 2], [0, 2, 4]),  # a first one
    Given([1, 10, 10, 2], [0, 1, 3, 4]),  # one between
    Given([1, 2, 10, 10], [0, 4, 4, 4]),  # dropped lookups, then empty bags
    Given([3, 3, 4, 3], [0, 2, 4], padding=3),
    Given([3, 0, 4, 0], [0, 2, 4], padding=0, ignore=False),
    Given([0, 9, 0, 9], [0, 2, 4], ignore=False),
    Given([0, 10, -10, 9], [0, 2, 4]),
    Given([0, 1, -1], [0, 3], rows=0),  # an empty table
    Given([0, MOST_ROWS - 1], [0, 2], rows=MOST_ROWS, ignore=False),
    # Beyond any table, though the lower bits are a row's: positive and sign-extended.
    Given([MOST_ROWS, 1 << 31, 1 << 32, 2**63 - 1, 4], [0, 5], rows=MOST_ROWS),
    Given([-1, -(1 << 31), -MOST_ROWS, -(2**63), 4], [0, 5], rows=MOST_ROWS),
    Given([MOST_ROWS + 3, 3 - MOST_ROWS, 3], [0, 3], padding=3),
    Given([n % 10 for n in range(MOST_LOOKUPS)], [0, MOST_LOOKUPS]),
    Given([n % 10 for n in range(MOST_LOOKUPS)], [*range(MOST_LOOKUPS + 1)]),
]

PATTERNS = [
    *(("never", stall) for stall in STALLS),
    *((idle, "never") for idle in ("half", "bursts")),
]
PATTERNS += [("half", "half"), ("bursts", "bursts")]


@cocotb.test
@cocotb.parametrize((("idle", "stall"), PATTERNS), keep_empty=[False, True])
async def gives_the_batchs_pairs(dut, keep_empty, idle, stall):
    bench = PairBench(dut)
    bench.connect(idle=idle, stall=stall)
    await bench.reset()
    for given in RIGHT:
        await bench.run(given, keep_empty)
    for holes in (0.0, 0.3, 0.8):
        for bags, lookups in ((1, 9), (12, 40), (40, 12), (30, MOST_LOOKUPS)):
            given = random_batch(bench.rng, bags=bags, lookups=lookups, holes=holes)
            await bench.run(given, keep_empty)


@cocotb.test
async def numbers_as_many_bags_as_there_can_be(dut):
    bench = PairBench(dut)
    bench.connect()
    await bench.reset()
    await bench.run(Given([4, 5], [0] * MOST_BAGS + [2]), keep_empty=True)
    await bench.run(Given([4, 5], [0, 1] + [2] * (MOST_BAGS - 1)), keep_empty=True)


@cocotb.test
@cocotb.parametrize(pooling=[1, 8])
async def gives_a_pair_a_cycle(dut, pooling):
    bench = PairBench(dut)
    bench.connect()
    await bench.reset()
    offsets = [*range(0, MOST_LOOKUPS + 1, pooling)]
    await bench.run(Given([3] * MOST_LOOKUPS, offsets), keep_empty=True)
    taken = bench.indices.times
    assert taken == list(range(taken[0], taken[0] + MOST_LOOKUPS))
    assert bench.pairs.times == [time + LATENCY for time in taken]


@cocotb.test
async def an_empty_bag_takes_a_cycle(dut):
    bench = PairBench(dut)
    bench.connect()
    await bench.reset()
    await bench.run(Given([], [0] * 101), keep_empty=True)
    assert all(after == before + 1 for before, after in pairwise(bench.pairs.times))


@cocotb.test
async def a_dropped_lookup_takes_a_cycle(dut):
    bench = PairBench(dut)
    bench.connect()
    await bench.reset()
    rows = [10 if n % 3 else 1 for n in range(MOST_LOOKUPS)]
    await bench.run(Given(rows, [0, 5, MOST_LOOKUPS]), keep_empty=True)
    taken = bench.indices.times
    assert taken == list(range(taken[0], taken[0] + MOST_LOOKUPS))


@cocotb.test
async def is_done_once_the_last_pair_is_taken(dut):
    bench = PairBench(dut)
    bench.connect()
    await bench.reset()
    await bench.step()
    assert bench.done, "nothing was begun"
    bench.pairs.hold = True
    await bench.start(Given([1], [0, 1]), keep_empty=True)
    for _ in range(DRAIN):
        assert not bench.done
        await bench.step()
    bench.pairs.hold = False
    await bench.until(lambda: len(bench.pairs.items) == 1)
    await bench.step()
    assert bench.done


FAULTS = {
    "row beyond the table": (Given([1, 2, 10, 3], [0, 1, 4]), Error.INDEX, 2),
    "row below it": (Given([1, -1, 10, 3], [0, 1, 4]), Error.INDEX, 1),
    "row beyond any": (Given([1, 2, 2, MOST_ROWS], [0, 1, 4]), Error.INDEX, 3),
    "row whose upper word is wrong": (Given([(1 << 32) + 1], [0, 1]), Error.INDEX, 0),
    "row of an empty table": (Given([0], [0, 1], rows=0), Error.INDEX, 0),
    "padding does not excuse": (Given([1, 9, 10], [0, 3], padding=9), Error.INDEX, 2),
    "first offset above 0": (Given([1, 2], [1, 2]), Error.OFFSET_START, 0),
    "first offset below 0": (Given([1, 2], [-1, 2]), Error.OFFSET_START, 0),
    "first offset far above 0": (Given([1, 2], [1 << 32, 2]), Error.OFFSET_START, 0),
    "first offset of no bag": (Given([], [3]), Error.OFFSET_START, 0),
    "lookups without a bag": (Given([], [0], lookups=2), Error.OFFSET_END, 0),
    "bag that falls": (Given([1, 2, 3], [0, 2, 1, 3]), Error.OFFSET_FALL, 1),
    "last bag that falls": (Given([1, 2, 3], [0, 2, 3, 1]), Error.OFFSET_FALL, 2),
    "bag that falls below 0": (Given([1, 2, 3], [0, 2, -1, 3]), Error.OFFSET_FALL, 1),
    "bag that falls far": (Given([1, 2, 3], [0, 2, -(2**63), 3]), Error.OFFSET_FALL, 1),
    "bag beyond the lookups": (Given([1, 2, 3], [0, 2, 4, 5]), Error.OFFSET_END, 1),
    "bag far beyond": (Given([1, 2, 3], [0, 2, 1 << 32, 3]), Error.OFFSET_END, 1),
    "last bag beyond": (Given([1, 2, 3], [0, 2, 4]), Error.OFFSET_END, 1),
    "last bag too short": (Given([1, 2, 3], [0, 1, 2]), Error.OFFSET_END, 1),
    "no bag long enough": (Given([1, 2, 3], [0, 0, 0]), Error.OFFSET_END, 1),
    # Of two faults the first in order counts, whichever list comes sooner.
    "row, then bag": (Given([1, 10, 3], [0, 2, 1, 3]), Error.INDEX, 1),
    "bag, then row": (Given([1, 2, 10], [0, 2, 1, 3]), Error.OFFSET_FALL, 1),
}


FAULT_PATTERNS = [("never", "never"), ("half", "half"), ("bursts", "never")]


def before_the_fault(given: Given, code: Error, position: int) -> Given:
    """The longest right batch that `given` begins with."""
    if code == Error.OFFSET_START:
        return Given([], [0])
    if code == Error.INDEX:
        whole = takewhile(lambda offset: offset <= position, given.offsets)
        return Given(given.indices[:position], [*whole, position], given.rows, given.padding)
    offsets = given.offsets[: position + 1]
    return Given(given.indices[: offsets[-1]], offsets, given.rows, given.padding)


@cocotb.test
@cocotb.parametrize((("idle", "stall"), FAULT_PATTERNS), keep_empty=[False, True])
async def stops_at_a_fault(dut, keep_empty, idle, stall):
    bench = PairBench(dut)
    for name, (given, code, position) in FAULTS.items():
        given.ignore = False
        bench.connect(idle=idle, stall=stall)
        await bench.reset()
        await bench.start(given, keep_empty)
        await bench.until(lambda: int(dut.error.value) != Error.NONE)
        for _ in range(3 * DRAIN):
            await bench.step()
            assert (int(dut.error.value), int(dut.position.value)) == (code, position), name
            assert not bench.done, name
        items = expected(before_the_fault(given, code, position).golden(), keep_empty)
        got = [meaning(item, keep_empty) for item in bench.pairs.items]
        # The last pair may be held back for ever, and no pair is known to be the batch's last.
        assert len(items) - 1 <= len(got) <= len(items), name
        assert got == [item | {"end": 0} for item in items[: len(got)]], name
    bench.connect(idle=idle, stall=stall)
    await bench.reset()
    await bench.run(RIGHT[0], keep_empty)
