# SPDX-FileCopyrightText: castbag contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Bench of the sorter's pace: its cycles, runs without a gap, and what it holds."""

import cocotb

from castbag.rtl.config import EngineConfig
from castbag.rtl.layouts import SortPairLayout
from castbag.sim.bench import Bench, parameters

from .runs import KINDS, as_pairs, by_row, run_rows


class Pace:
    """The sorter with a source and a sink that never wait."""

    def __init__(self, dut):
        self.config = EngineConfig(**parameters()["config"])
        self.bench = Bench(dut)
        self.expect_at_most(0)
        self.source = self.bench.source("i", SortPairLayout(self.config))
        self.sink = self.bench.sink("o", SortPairLayout(self.config))

    def run(self, kind: str, length: int) -> list[dict[str, int]]:
        """Pairs of a run."""
        return as_pairs(run_rows(self.bench.rng, kind, length, self.config), self.config)

    def expect_at_most(self, most: int) -> None:
        """State the most pairs of the runs to come; 0 if that is not known."""
        self.bench.dut.most.value = most

    async def sort(self, *runs: list[dict[str, int]]) -> tuple[list[int], list[int]]:
        """The cycles in which the pairs of `runs` entered and left."""
        entered, left = len(self.source.times), len(self.sink.times)
        for run in runs:
            self.source.send_all(run)
        await self.bench.until(lambda: len(self.sink.items) - left == sum(map(len, runs)))
        assert self.sink.items[left:] == [pair for run in runs for pair in by_row(run)]
        return self.source.times[entered:], self.sink.times[left:]


def without_gap(times: list[int]) -> bool:
    """One a cycle."""
    return times == list(range(times[0], times[0] + len(times)))


@cocotb.test
@cocotb.parametrize(kind=KINDS)
async def takes_the_cycles_it_states(dut, kind):
    pace = Pace(dut)
    await pace.bench.reset()
    for length, most, cycles in parameters()["cycles"]:
        pace.expect_at_most(most)
        await pace.bench.step()
        entered, left = await pace.sort(pace.run(kind, length))
        assert without_gap(entered)
        assert without_gap(left)
        assert left[-1] - entered[0] == cycles, f"{length} pairs, at most {most}"


@cocotb.test
@cocotb.parametrize(kinds=[("falling", "falling"), ("rising", "falling"), ("random", "equal")])
async def full_runs_follow_without_a_gap(dut, kinds):
    pace = Pace(dut)
    await pace.bench.reset()
    entered, left = await pace.sort(*(pace.run(kind, pace.config.run_length) for kind in kinds))
    assert without_gap(entered)
    assert without_gap(left)


@cocotb.test
@cocotb.parametrize(kind=["rising", "falling", "random"])
async def shorter_runs_follow_without_a_gap(dut, kind):
    pace = Pace(dut)
    await pace.bench.reset()
    longest = pace.config.run_length
    lengths = (longest, longest // 2 + 1, longest // 2, longest // 4 - 1, 3, 2, 1, 1)
    entered, left = await pace.sort(*(pace.run(kind, length) for length in lengths))
    assert without_gap(entered)
    assert without_gap(left)


@cocotb.test
@cocotb.parametrize(kind=["rising", "falling", "random"], most=[1, 7, 8, 9, 33])
async def runs_of_a_known_length_follow_without_a_gap(dut, kind, most):
    pace = Pace(dut)
    pace.expect_at_most(most)
    await pace.bench.reset()
    lengths = (most, most, most, most // 2 + 1, 1, 1)
    entered, left = await pace.sort(*(pace.run(kind, length) for length in lengths))
    assert without_gap(entered)
    assert without_gap(left)


@cocotb.test
async def never_waits_for_itself(dut):
    """Runs of any length, a pair a cycle: the sorter takes each as it comes."""
    pace = Pace(dut)
    await pace.bench.reset()
    longest = pace.config.run_length
    rng = pace.bench.rng
    lengths = [rng.choice([1, 2, longest, rng.randint(1, longest)]) for _ in range(6)]
    lengths += [longest, *[1] * 30, longest - 1, 1, longest]
    entered, _ = await pace.sort(*(pace.run(rng.choice(KINDS), length) for length in lengths))
    assert without_gap(entered)


@cocotb.test
@cocotb.parametrize(kind=["rising", "falling"])
async def holds_a_run_while_stalled(dut, kind):
    pace = Pace(dut)
    pace.sink.hold = True
    await pace.bench.reset()
    run = pace.run(kind, pace.config.run_length)
    pace.source.send_all(run)
    await pace.bench.until(lambda: pace.source.idle)
    assert without_gap(pace.source.times)
    pace.sink.hold = False
    await pace.bench.until(lambda: len(pace.sink.items) == len(run))
    assert pace.sink.items == by_row(run)
