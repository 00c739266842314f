# SPDX-FileCopyrightText: castbag contributors
# SPDX-License-Identifier: BSD-2-Clause
"""The gather-reduce path as a whole: values on both simulators, rates of the base preset."""

import pytest

from castbag.rtl.config import preset
from castbag.rtl.gather_reduce import GatherReduce
from castbag.sim.bench import simulate


@pytest.mark.parametrize(
    "name, simulator, module",
    [
        ("tiny", "icarus", "gather_reduce"),
        ("tiny", "verilator", "gather_reduce"),
        ("base", "verilator", "gather_reduce_rate"),
    ],
)
def test_gather_reduce(name, simulator, module, tmp_path):
    simulate(
        GatherReduce(preset(name)),
        f"tests.benches.{module}",
        simulator=simulator,
        folder=tmp_path,
        preset=name,
    )
