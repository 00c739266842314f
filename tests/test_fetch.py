# SPDX-FileCopyrightText: castbag contributors
# SPDX-License-Identifier: BSD-2-Clause
"""The vector fetch and its addresses, on both simulators."""

import pytest

from castbag.rtl.config import preset
from castbag.rtl.fetch import VectorFetch
from castbag.sim.bench import simulate
from castbag.sim.model import SIMULATORS


@pytest.mark.parametrize("simulator", SIMULATORS)
def test_fetch(simulator, tmp_path):
    simulate(
        VectorFetch(preset("tiny")),
        "tests.benches.fetch",
        simulator=simulator,
        folder=tmp_path,
        preset="tiny",
    )
