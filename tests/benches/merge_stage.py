# SPDX-FileCopyrightText: castbag contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Bench of the merge stage: neighbouring sub-runs, a lone last one, its pace and capacity."""

import cocotb
import numpy as np

from castbag.rtl.config import preset
from castbag.rtl.sort.merge import SubRunLayout
from castbag.sim.bench import Bench, parameters

from .merge import PATTERNS, pairs_of, sub_run
from .runs import KINDS, run_rows

CONFIG = preset("tiny")


class Stage:
    """The stage under test, and runs for it."""

    def __init__(self, dut, *, idle="never", stall="never", whole=0):
        self.length = parameters()["length"]
        dut.whole.value = whole
        self.bench = Bench(dut)
        self.source = self.bench.source("i", SubRunLayout(CONFIG), stall=idle)
        self.sink = self.bench.sink("o", SubRunLayout(CONFIG), stall=stall)
        self.expected: list[dict[str, int]] = []

    def send_run(self, kind: str, lengths: list[int]) -> None:
        """Queue a run whose sub-runs have these lengths, and expect it."""
        rng = self.bench.rng
        rows = np.array(run_rows(rng, kind, sum(lengths), CONFIG), dtype=np.int64)
        sources = np.array([rng.getrandbits(CONFIG.source_bits) for _ in rows], dtype=np.int64)
        cuts = np.cumsum([0, *lengths])
        for start, stop in zip(cuts, cuts[1:], strict=False):
            rows[start:stop].sort()
            end = int(stop == cuts[-1])
            self.source.send_all(sub_run(rows[start:stop], sources[start:stop], end=end))
        for start, stop in zip(cuts[::2], [*cuts[2::2], cuts[-1]], strict=False):
            order = start + np.argsort(rows[start:stop], kind="stable")
            end = int(stop == cuts[-1])
            if len(order):
                self.expected += sub_run(rows[order], sources[order], end=end)

    async def finish(self) -> None:
        """All that was sent has left, as expected, and nothing more."""
        await self.bench.until(lambda: len(self.sink.items) == len(self.expected))
        await self.bench.step(20)
        assert pairs_of(self.sink.items) == pairs_of(self.expected)


def lengths_of(rng, length: int) -> list[int]:
    """Full sub-runs and the rest, as in the sorter; or any."""
    if rng.random() < 0.5:
        return [length] * rng.randint(0, 3) + [rng.randint(1, length)]
    return [rng.randint(1, length) for _ in range(rng.randint(1, 5))]


@cocotb.test
@cocotb.parametrize(idle=PATTERNS, stall=PATTERNS)
async def merges_neighbours(dut, idle, stall):
    stage = Stage(dut, idle=idle, stall=stall)
    await stage.bench.reset()
    rng = stage.bench.rng
    for _ in range(3):
        stage.send_run(rng.choice(KINDS), lengths_of(rng, stage.length))
    await stage.finish()


@cocotb.test
@cocotb.parametrize(kind=["rising", "falling", "equal"])
async def waits_for_a_rival_only(dut, kind):
    stage = Stage(dut)
    await stage.bench.reset()
    length, latency = stage.length, parameters()["latency"]
    shorter = max(1, length - 1)
    for lengths in ([1], [shorter], [length], [length, 1], [length] * 2, [length] * 3):
        entered, left = len(stage.source.times), len(stage.sink.times)
        stage.send_run(kind, lengths)
        await stage.finish()
        first = stage.source.times[entered]
        fill = min(sum(lengths) - 1, length) + latency
        assert stage.sink.times[left:] == [first + fill + n for n in range(sum(lengths))]


@cocotb.test
@cocotb.parametrize(idle=PATTERNS, stall=PATTERNS)
async def whole_runs_pass(dut, idle, stall):
    stage = Stage(dut, idle=idle, stall=stall, whole=1)
    await stage.bench.reset()
    rng = stage.bench.rng
    for _ in range(6):
        stage.send_run(rng.choice(KINDS), [rng.choice([1, 2, stage.length])])
    await stage.finish()


@cocotb.test
async def whole_runs_wait_for_none(dut):
    stage = Stage(dut, whole=1)
    await stage.bench.reset()
    latency = parameters()["latency"]
    for length in (1, max(1, stage.length - 1), stage.length, 1, 1):
        stage.send_run("random", [length])
    await stage.finish()
    assert stage.sink.times == [time + latency for time in stage.source.times]
    times = stage.source.times
    assert times == list(range(times[0], times[0] + len(times)))


@cocotb.test
@cocotb.parametrize(kind=["rising", "falling", "random"])
async def never_waits_for_itself(dut, kind):
    """A lone pair right after a full queue B, sub-runs of A that wait, runs of one pair."""
    stage = Stage(dut)
    await stage.bench.reset()
    full = stage.length
    for lengths in (
        [full] * 2,
        [1],
        [1],
        [full] * 4,
        [full] * 3,
        *[[1]] * 20,
        [full, 1],
        [full] * 2,
    ):
        stage.send_run(kind, lengths)
    await stage.finish()
    times = stage.source.times
    assert times == list(range(times[0], times[0] + len(times)))


@cocotb.test
@cocotb.parametrize(kind=["rising", "falling"])
async def holds_two_sub_runs_while_stalled(dut, kind):
    stage = Stage(dut)
    stage.sink.hold = True
    await stage.bench.reset()
    stage.send_run(kind, [stage.length] * 2)
    await stage.bench.until(lambda: stage.source.idle)
    stage.send_run(kind, [stage.length] * 4)
    await stage.bench.step(5 * stage.length)
    stage.sink.hold = False
    await stage.finish()
