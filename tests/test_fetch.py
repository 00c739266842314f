# SPDX-FileCopyrightText: castbag contributors
# SPDX-License-Identifier: BSD-2-Clause
"""The vector fetch and its addresses: narrow and wide indices, on both simulators."""

import pytest

from castbag.rtl.config import preset
from castbag.rtl.fetch import VectorFetch
from castbag.sim.bench import simulate


@pytest.mark.parametrize("name, simulator", [("tiny", "icarus"), ("base", "verilator")])
def test_fetch(name, simulator, tmp_path):
    simulate(
        VectorFetch(preset(name)),
        "tests.benches.fetch",
        simulator=simulator,
        folder=tmp_path,
        preset=name,
    )
