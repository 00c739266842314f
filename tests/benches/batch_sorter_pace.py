# SPDX-FileCopyrightText: castbag contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Bench of the whole sorter's pace where nobody waits: its cycles, whatever the rows are."""

from collections.abc import Iterator
from itertools import chain

import cocotb

from castbag.rtl.config import EngineConfig
from castbag.sim.bench import parameters

from .batch_sorter import Batches

LATENCY = 64
"""Of the memory, in cycles."""

OVERHEAD = 20
"""Cycles to ask for a chunk and to unpack its first group; to write and be answered likewise."""


def merges(config: EngineConfig, lookups: int) -> Iterator[list[list[int]]]:
    """Pass by pass the lengths of the runs that are merged into one."""
    length, ways = config.run_length, config.merge_ways
    runs = [length] * ((lookups - 1) // length)
    last = lookups - sum(runs)
    while len(runs) > ways:
        merged = [runs[k : k + ways] for k in range(0, len(runs), ways)]
        yield merged
        runs = [sum(group) for group in merged]
    yield [[*runs, last]]


def fill(config: EngineConfig, runs: list[int]) -> int:
    """Cycles until the buffers of these runs are full: a pair a cycle."""
    return sum(min(run, config.way_pairs) for run in runs)


def bounds(config: EngineConfig, lookups: int) -> tuple[int, int]:
    """Cycles of a batch: of what a pair a cycle allows, and with all that fills and drains."""
    *passes, _ = merges(config, lookups)
    spilled = (lookups - 1) // config.run_length * config.run_length
    least = 2 * lookups + spilled * len(passes)
    most = least + parameters()["sort"] - config.run_length  # the last spilled run leaves
    for groups in merges(config, lookups):
        most += LATENCY + OVERHEAD  # what was written is answered
        for runs in groups:
            begin = config.merge_ways + parameters()["tree"] + LATENCY + OVERHEAD
            most += begin + fill(config, runs)
    return least, most


def check_pace(pairs: int, times: list[int]) -> int:
    """So many pairs between each time and the next one, in few cycles more. Gives all of them."""
    if len(times) < 2:
        return 0
    count = pairs * (len(times) - 1)
    assert count >= 0.98 * (times[-1] - times[0])
    return count


@cocotb.test
@cocotb.parametrize(kind=["rising", "falling", "equal", "hot", "random"])
async def takes_a_cycle_a_pair(dut, kind):
    """Once to enter, once to leave, and once in every pass, but for what fills and drains."""
    batches = Batches(dut, latency=LATENCY)
    config, memory, lookups = batches.config, batches.memory, parameters()["paced"]
    packing = config.packing
    await batches.bench.reset()
    cycles = await batches.sort(kind, lookups)
    least, most = bounds(config, lookups)
    dut._log.info(f"{lookups} {kind} pairs: {cycles} cycles, {least} to {most} expected")
    assert least <= cycles <= most

    # Once its buffers are full no merge waits, whichever way its pairs come from.
    chunks = memory.writes.times[packing.chunk_beats - 1 :: packing.chunk_beats]
    *passes, [last] = merges(config, lookups)
    written = (lookups - 1) // config.run_length * config.run_length  # before any pass
    paced = 0
    for runs in chain(*passes):
        full, written = written + fill(config, runs), written + sum(runs)
        times = chunks[full // packing.chunk_pairs : written // packing.chunk_pairs]
        paced += check_pace(packing.chunk_pairs, times)
    assert written == len(chunks) * packing.chunk_pairs
    assert paced
    assert check_pace(1, batches.sink.times[fill(config, last) :])
