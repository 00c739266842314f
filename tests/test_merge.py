# SPDX-FileCopyrightText: castbag contributors
# SPDX-License-Identifier: BSD-2-Clause
"""The merge cell and the merge stage, with each kind of queue that a stage may have."""

import pytest

from castbag.rtl.sort.merge import Merge, MergeStage
from castbag.sim.bench import simulate
from castbag.sim.model import SIMULATORS
from tests.benches.merge import CONFIG


@pytest.mark.parametrize("simulator", SIMULATORS)
def test_merge(simulator, tmp_path):
    simulate(Merge(CONFIG), "tests.benches.merge", simulator=simulator, folder=tmp_path)


STAGES = [
    ("icarus", 1),  # LUT RAM
    ("icarus", 16),  # block RAM
    ("verilator", 512),  # block RAM with just a sub-run's places, behind a small queue
]


@pytest.mark.parametrize("simulator, length", STAGES)
def test_merge_stage(simulator, length, tmp_path):
    stage = MergeStage(CONFIG, length=length)
    simulate(
        stage,
        "tests.benches.merge_stage",
        simulator=simulator,
        folder=tmp_path,
        length=length,
        latency=stage.latency,
    )


@pytest.mark.parametrize("length", [0, 3, 48])
def test_length_is_a_power_of_two(length):
    with pytest.raises(ValueError, match=f"length = {length}: must be a power of two"):
        MergeStage(CONFIG, length=length)
