# SPDX-FileCopyrightText: castbag contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Bench of the lookup source: each origin's lookups, as golden batch and cast have them."""

import cocotb
import numpy as np

from castbag.golden.batch import Batch
from castbag.golden.casting import cast
from castbag.rtl.config import preset
from castbag.rtl.layouts import CastedLayout, LookupLayout, PairLayout
from castbag.rtl.lookups import Origin
from castbag.sim.bench import STALLS, Bench

CONFIG = preset("tiny")
ROWS = 1 << CONFIG.index_bits


def some_batch(rng) -> Batch:
    """Bags of 0 to 5 lookups over few rows, some of them large; some lookups dropped."""
    rows = [0, 1, 2, ROWS - 2, ROWS - 1, ROWS]
    lengths = [rng.randint(0, 5) for _ in range(12)]
    indices = [rng.choice(rows) for _ in range(sum(lengths))]
    offsets = np.append(0, np.cumsum(lengths))
    return Batch.of(indices, offsets, rows=ROWS, bounds="ignore", include_last_offset=True)


def changes(values: np.ndarray) -> tuple[list[int], list[int]]:
    """Whether each value is the first, and the last, of a run of equal ones."""
    differs = np.diff(values) != 0
    return np.append(True, differs).astype(int).tolist(), np.append(differs, True).astype(
        int
    ).tolist()


def lookups(source, target, first, last, *, valid=1, again=0) -> list[dict]:
    """The lookups of these columns; a plain number is a whole column."""
    columns = {"source": source, "target": target, "valid": valid}
    columns |= {"again": again, "first": first, "last": last}
    rows = zip(*np.broadcast_arrays(*columns.values()), strict=True)
    return [dict(zip(columns, map(int, row), strict=True)) for row in rows]


def signed_word(word: int) -> int:
    """A 32-bit word as a list reader gives it: sign-extended to 64 bits."""
    return word | (word >> 31) * 0xFFFF_FFFF_0000_0000


def phases(batch: Batch) -> dict[Origin, tuple[str, list, list[dict]]]:
    """Of each origin its port, what comes there, and the lookups that this must become."""
    casted = cast(batch)
    rows, bags = batch.indices[batch.valid], batch.bag_of[batch.valid]
    ordinals = np.arange(rows.size)
    first, last = changes(bags)
    pairs = [
        {"row": int(row), "bag": int(bag), "ordinal": int(ordinal), "valid": 1}
        | {"first": begins, "last": ends, "end": int(ordinal == rows.size - 1)}
        for row, bag, ordinal, begins, ends in zip(rows, bags, ordinals, first, last, strict=True)
    ]
    row_first, row_last = changes(casted.dst)
    casted_rows = casted.unique_rows[casted.dst]
    table = [int(source) | last << 31 for source, last in zip(casted.src, row_last, strict=True)]
    numbers = np.arange(casted.unique_rows.size)
    return {
        Origin.BAGS: ("pairs", pairs, lookups(rows, bags, first, last)),
        Origin.COPIES: (
            "pairs",
            pairs,
            lookups(bags, ordinals, 1, 1, again=[1 - begins for begins in first]),
        ),
        Origin.CASTED: (
            "casted",
            [
                {"source": int(source), "row": int(row), "segment": int(segment)}
                | {"first": begins, "last": ends}
                for source, row, segment, begins, ends in zip(
                    casted.src, casted_rows, casted.dst, row_first, row_last, strict=True
                )
            ],
            lookups(casted.src, casted_rows, row_first, row_last),
        ),
        Origin.CAST_TABLE: (
            "entries",
            [signed_word(word) for word in table],
            lookups(casted.src, casted.dst, row_first, row_last),
        ),
        Origin.UNIQUE_ROWS: (
            "entries",
            [int(row) for row in casted.unique_rows],
            lookups(numbers, casted.unique_rows, 1, 1),
        ),
    }


class LookupBench(Bench):
    """The unit with its three streams; `idle` and `stall` as usual."""

    def __init__(self, dut, *, idle="never", stall="never"):
        super().__init__(dut)
        self.inputs = {
            "pairs": self.source("pairs", PairLayout(CONFIG), stall=idle),
            "casted": self.source("casted", CastedLayout(CONFIG), stall=idle),
            "entries": self.source("entries", 64, stall=idle),
        }
        self.lookups = self.sink("o", LookupLayout(CONFIG), stall=stall)
        dut.origin.value = Origin.NONE
        dut.start.value = 0

    async def run(self, origin: Origin, port: str, items: list, expected: list[dict]) -> None:
        """A phase: its items are there from its start on."""
        self.lookups.items.clear()
        self.inputs[port].send_all(items)
        self.dut.start.value = 1
        await self.step()
        self.dut.start.value = 0
        self.dut.origin.value = origin
        await self.until(lambda: len(self.lookups.items) == len(expected))
        self.dut.origin.value = Origin.NONE
        await self.step(3)
        assert self.lookups.items == expected, origin.name


@cocotb.test
@cocotb.parametrize(idle=["never", "half"], stall=list(STALLS))
async def gives_each_origins_lookups(dut, idle, stall):
    bench = LookupBench(dut, idle=idle, stall=stall)
    await bench.reset()
    for _ in range(4):
        for origin, (port, items, expected) in phases(some_batch(bench.rng)).items():
            await bench.run(origin, port, items, expected)


@cocotb.test
async def marks_an_empty_bag_as_nothing_to_gather(dut):
    bench = LookupBench(dut)
    await bench.reset()
    pairs = [
        {"row": 7, "bag": 0, "ordinal": 0, "valid": 1, "first": 1, "last": 1},
        {"row": 9, "bag": 1, "ordinal": 3, "valid": 0, "first": 1, "last": 1, "end": 1},
    ]
    await bench.run(Origin.BAGS, "pairs", pairs, lookups([7, 9], [0, 1], 1, 1, valid=[1, 0]))


@cocotb.test
async def adds_no_cycle_and_takes_nothing_without_an_origin(dut):
    bench = LookupBench(dut)
    await bench.reset()
    casted = bench.inputs["casted"]
    casted.send_all({"source": n, "row": n, "first": 1, "last": 1} for n in range(20))
    dut.start.value = 1
    await bench.step(5)
    assert not casted.times
    dut.start.value = 0
    dut.origin.value = Origin.CASTED
    started = bench.cycle
    await bench.until(lambda: casted.idle)
    assert casted.times == [*range(started + 1, started + 21)]
    assert bench.lookups.times == casted.times


@cocotb.test
@cocotb.parametrize(origin=list(Origin))
async def lets_the_others_wait(dut, origin):
    bench = LookupBench(dut)
    await bench.reset()
    bench.inputs["pairs"].send_all([{"valid": 1}] * 9)
    bench.inputs["casted"].send_all([{}] * 9)
    bench.inputs["entries"].send_all([0] * 9)
    dut.origin.value = origin
    await bench.step(30)
    taken = [port for port, source in bench.inputs.items() if source.times]
    chosen = {Origin.NONE: [], Origin.BAGS: ["pairs"], Origin.COPIES: ["pairs"]}
    chosen |= {Origin.CASTED: ["casted"]}
    assert taken == chosen.get(origin, ["entries"])
