# SPDX-FileCopyrightText: castbag contributors
# SPDX-License-Identifier: BSD-2-Clause
"""The SGD update against the golden optimizer, on both simulators."""

import pytest

from castbag.rtl.config import preset
from castbag.rtl.update import SgdUpdate
from castbag.sim.bench import simulate
from castbag.sim.model import SIMULATORS


@pytest.mark.parametrize("simulator", SIMULATORS)
def test_update(simulator, tmp_path):
    simulate(
        SgdUpdate(preset("tiny")),
        "tests.benches.update",
        simulator=simulator,
        folder=tmp_path,
        preset="tiny",
    )
