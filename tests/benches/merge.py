# SPDX-FileCopyrightText: castbag contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Bench of the merge cell: two partners at their own pace, any of them empty."""

import cocotb
import numpy as np

from castbag.rtl.config import preset
from castbag.rtl.sort.merge import SubRunLayout
from castbag.sim.bench import Bench

from .runs import KINDS, run_rows

CONFIG = preset("tiny")
LENGTHS = (0, 1, 2, 3, 8)
PATTERNS = ["never", "half", "bursts"]


def sub_run(rows, sources, *, end: int) -> list[dict[str, int]]:
    """Items of a sorted sub-run with these rows, or the one that stands for no rows."""
    if not len(rows):
        return [{"empty": 1, "last": 1, "end": end}]
    final = len(rows) - 1
    return [
        {"row": int(r), "source": int(s), "last": int(n == final), "end": int(n == final) & end}
        for n, (r, s) in enumerate(zip(rows, sources, strict=True))
    ]


def partners(rng, kind: str, lengths: tuple[int, int], *, end: int):
    """Two sorted sub-runs, and NumPy's stable sort of one after the other."""
    rows = np.array(run_rows(rng, kind, sum(lengths), CONFIG), dtype=np.int64)
    sources = np.array([rng.getrandbits(CONFIG.source_bits) for _ in rows], dtype=np.int64)
    cut = lengths[0]
    rows[:cut].sort()
    rows[cut:].sort()
    order = np.argsort(rows, kind="stable")
    return (
        sub_run(rows[:cut], sources[:cut], end=0),
        sub_run(rows[cut:], sources[cut:], end=end),
        sub_run(rows[order], sources[order], end=end),
    )


def frame(dut, *, idle=("never", "never"), stall="never"):
    bench = Bench(dut)
    shape = SubRunLayout(CONFIG)
    a = bench.source("a", shape, stall=idle[0])
    b = bench.source("b", shape, stall=idle[1])
    return bench, a, b, bench.sink("o", shape, stall=stall)


def pairs_of(items):
    """Items without the row and source of an empty sub-run, which mean nothing."""
    return [{**x, "row": 0, "source": 0} if x.get("empty") else {"empty": 0, **x} for x in items]


async def merge(bench, a, b, sink, kinds):
    """Partners of all lengths through the cell, and the check of what leaves."""
    expected = []
    lengths = [(m, n) for m in LENGTHS for n in LENGTHS]
    bench.rng.shuffle(lengths)
    for pair in lengths:
        end = bench.rng.randint(0, 1)
        one, other, both = partners(bench.rng, bench.rng.choice(kinds), pair, end=end)
        a.send_all(one)
        b.send_all(other)
        expected += both
    await bench.until(lambda: len(sink.items) == len(expected))
    await bench.step(20)
    assert pairs_of(sink.items) == pairs_of(expected)


@cocotb.test
@cocotb.parametrize(a=PATTERNS, b=PATTERNS, stall=PATTERNS)
async def merges_at_any_pace(dut, a, b, stall):
    bench, *ends = frame(dut, idle=(a, b), stall=stall)
    await bench.reset()
    await merge(bench, *ends, KINDS)


@cocotb.test
async def equal_rows_keep_their_order(dut):
    bench, *ends = frame(dut)
    await bench.reset()
    await merge(bench, *ends, ["ties", "equal"])


@cocotb.test
async def no_cycle_is_lost(dut):
    """Not between sub-runs, nor for an empty partner."""
    bench, a, b, sink = frame(dut)
    sink.hold = True
    await bench.reset()
    expected = []
    for lengths in ((3, 3), (1, 0), (0, 1), (0, 0), (2, 0), (1, 5), (1, 1)):
        one, other, both = partners(bench.rng, "random", lengths, end=0)
        a.send_all(one)
        b.send_all(other)
        expected += both
    await bench.step(5)
    sink.hold = False
    await bench.until(lambda: len(sink.items) == len(expected))
    assert sink.times == list(range(sink.times[0], sink.times[0] + len(expected)))
