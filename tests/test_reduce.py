# SPDX-FileCopyrightText: castbag contributors
# SPDX-License-Identifier: BSD-2-Clause
"""The reducer's sums against the golden model, on both simulators."""

import pytest

from castbag.rtl.config import preset
from castbag.rtl.reduce import Reducer
from castbag.sim.bench import simulate
from castbag.sim.model import SIMULATORS


@pytest.mark.parametrize("simulator", SIMULATORS)
def test_reduce(simulator, tmp_path):
    simulate(
        Reducer(preset("tiny")),
        "tests.benches.reduce",
        simulator=simulator,
        folder=tmp_path,
        preset="tiny",
    )
