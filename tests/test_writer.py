# SPDX-FileCopyrightText: castbag contributors
# SPDX-License-Identifier: BSD-2-Clause
"""The vector writer, with two lanes and with four."""

import pytest

from castbag.rtl.config import preset
from castbag.rtl.writer import VectorWriter
from castbag.sim.bench import simulate


@pytest.mark.parametrize("name, simulator", [("tiny", "icarus"), ("base", "verilator")])
def test_writer(name, simulator, tmp_path):
    simulate(
        VectorWriter(preset(name)),
        "tests.benches.writer",
        simulator=simulator,
        folder=tmp_path,
        preset=name,
    )
