# SPDX-FileCopyrightText: castbag contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Bench of the sorter: what leaves, at any idle and back-pressure. Its pace: `sorter_pace`."""

import cocotb

from castbag.rtl.config import EngineConfig
from castbag.rtl.layouts import SortPairLayout
from castbag.sim.bench import STALLS, Bench, parameters

from .runs import KINDS, as_pairs, by_row, run_rows


def edges(run_length: int) -> list[int]:
    """Every power of two up to the run's length, and its neighbours."""
    powers = [2**k for k in range(run_length.bit_length())]
    near = {power + step for power in powers for step in (-1, 0, 1)}
    return sorted(length for length in near if 1 <= length <= run_length)


async def sort(dut, kinds, *, idle="never", stall="never", most=0):
    """Runs of every length in `edges`, in any order, one right after the other."""
    config = EngineConfig(**parameters()["config"])
    bench = Bench(dut)
    dut.most.value = most
    source = bench.source("i", SortPairLayout(config), stall=idle)
    sink = bench.sink("o", SortPairLayout(config), stall=stall)
    await bench.reset()
    lengths = edges(min(most or config.run_length, config.run_length))
    bench.rng.shuffle(lengths)
    rows = [run_rows(bench.rng, bench.rng.choice(kinds), n, config) for n in lengths]
    runs = [as_pairs(run, config) for run in rows]
    for run in runs:
        source.send_all(run)
    await bench.until(lambda: len(sink.items) == sum(lengths))
    await bench.step(2 * config.run_length)
    assert sink.items == [pair for run in runs for pair in by_row(run)]


@cocotb.test
@cocotb.parametrize(idle=list(STALLS), stall=list(STALLS))
async def sorts_at_any_pace(dut, idle, stall):
    await sort(dut, KINDS, idle=idle, stall=stall)


@cocotb.test
@cocotb.parametrize(most=[1, 8, 13, 2**14], stall=["never", "bursts"])
async def sorts_runs_of_a_known_length(dut, most, stall):
    await sort(dut, KINDS, idle="half", stall=stall, most=most)


@cocotb.test
@cocotb.parametrize(kind=KINDS)
async def sorts_rows_of_any_kind(dut, kind):
    await sort(dut, (kind,))
