# SPDX-FileCopyrightText: castbag contributors
# SPDX-License-Identifier: BSD-2-Clause
"""The merge tree, of few ways and of many."""

from dataclasses import asdict, replace

import pytest

from castbag.rtl.config import preset
from castbag.rtl.sort.tree import MergeTree
from castbag.sim.bench import simulate


@pytest.mark.parametrize("simulator, ways", [("icarus", 4), ("verilator", 4), ("verilator", 16)])
def test_merge_tree(simulator, ways, tmp_path):
    config = replace(preset("tiny"), merge_ways=ways)
    tree = MergeTree(config)
    simulate(
        tree,
        "tests.benches.merge_tree",
        simulator=simulator,
        folder=tmp_path,
        config=asdict(config),
        latency=tree.latency,
    )
