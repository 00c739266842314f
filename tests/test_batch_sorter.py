# SPDX-FileCopyrightText: castbag contributors
# SPDX-License-Identifier: BSD-2-Clause
"""The whole sorter, through a small scratch memory."""

from dataclasses import asdict, replace

import pytest

from castbag.rtl.config import preset
from castbag.rtl.sort.batch_sorter import BatchSorter
from castbag.sim.bench import simulate

TINY = replace(preset("tiny"), run_length=16, way_pairs=32, max_lookups=1 << 12)
CONFIGS = [
    ("verilator", TINY),
    ("icarus", TINY),
]


def edges(config) -> list[int]:
    """Lengths around each boundary of runs and passes, and powers of two."""
    run, ways = config.run_length, config.merge_ways
    marks = [1, 2, run, 2 * run, ways * run, (ways + 1) * run, 2 * ways * run, ways**2 * run]
    near = {mark + step for mark in marks for step in (-1, 0, 1)}
    return sorted(near)


@pytest.mark.parametrize("simulator, config", CONFIGS)
def test_batch_sorter(simulator, config, tmp_path):
    simulate(
        BatchSorter(config),
        "tests.benches.batch_sorter",
        simulator=simulator,
        folder=tmp_path,
        config=asdict(config),
        lengths=edges(config),
        stalled=[0, 1, 16, 17, 65, 81, 300],
    )
