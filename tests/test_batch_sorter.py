# SPDX-FileCopyrightText: castbag contributors
# SPDX-License-Identifier: BSD-2-Clause
"""The whole sorter, through a small scratch memory."""

from dataclasses import asdict, replace

import pytest

from castbag.rtl.config import preset
from castbag.rtl.sort.batch_sorter import BatchSorter
from castbag.rtl.sort.run_sorter import RunSorter
from castbag.rtl.sort.tree import MergeTree
from castbag.sim.bench import simulate

TINY = replace(preset("tiny"), run_length=16, way_pairs=32, max_lookups=1 << 12)
FEW_WAYS = replace(preset("base"), run_length=64, merge_ways=4, max_lookups=1 << 12)
MANY_WAYS = replace(preset("base"), run_length=256, max_lookups=1 << 13)


def edges(config) -> list[int]:
    """Lengths at each boundary of runs and passes."""
    run, ways = config.run_length, config.merge_ways
    marks = (1, run, 2 * run, ways * run, (ways + 1) * run)
    return [mark + step for mark in marks for step in (0, 1)]


@pytest.mark.parametrize(
    "simulator, config, lengths",
    [
        ("icarus", TINY, [*edges(TINY), 257]),  # the last one takes two passes
        ("verilator", FEW_WAYS, edges(FEW_WAYS)),
    ],
)
def test_batch_sorter(simulator, config, lengths, tmp_path):
    simulate(
        BatchSorter(config),
        "tests.benches.batch_sorter",
        simulator=simulator,
        folder=tmp_path,
        config=asdict(config),
        lengths=lengths,
        stalled=[0, 1, 17, 65, 81, 130],
    )


@pytest.mark.parametrize(
    "simulator, config, lookups",
    [
        ("verilator", MANY_WAYS, 4600),  # one pass: 17 runs, 2
        ("verilator", FEW_WAYS, 1300),  # two: 20 runs, 5, 2
    ],
)
def test_pace(simulator, config, lookups, tmp_path):
    simulate(
        BatchSorter(config),
        "tests.benches.batch_sorter_pace",
        simulator=simulator,
        folder=tmp_path,
        config=asdict(config),
        paced=lookups,
        sort=RunSorter(config).cycles(config.run_length),
        tree=MergeTree(config).latency,
    )
