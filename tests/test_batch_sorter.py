# SPDX-FileCopyrightText: castbag contributors
# SPDX-License-Identifier: BSD-2-Clause
"""The whole sorter, through a small scratch memory."""

from dataclasses import asdict, replace

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

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
        ("icarus", TINY, [*edges(TINY), 273]),  # the last one takes two passes
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


def rows():
    """Rows of a batch: few different ones, or any; at and beside the smallest and the largest."""
    most = 2**TINY.index_bits - 1
    few = st.integers(0, 3)
    ends = st.sampled_from([0, 1, most - 1, most])
    return st.lists(few, max_size=300) | st.lists(ends | st.integers(0, most), max_size=300)


@settings(
    max_examples=3,
    deadline=None,
    phases=[Phase.generate],  # a simulation each: none to make an example smaller
    suppress_health_check=list(HealthCheck),
)
@given(batches=st.lists(rows(), min_size=20, max_size=20))
def test_sorts_what_hypothesis_draws(batches, tmp_path):
    simulate(
        BatchSorter(TINY),
        "tests.benches.batch_sorter",
        simulator="verilator",
        folder=tmp_path,
        testcase="sorts_what_is_given",
        config=asdict(TINY),
        batches=batches,
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
