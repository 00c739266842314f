# SPDX-FileCopyrightText: castbag contributors
# SPDX-License-Identifier: BSD-2-Clause
"""The counters, on both simulators."""

import pytest

from castbag.rtl.control.counters import Counters
from castbag.sim.bench import simulate
from castbag.sim.model import SIMULATORS


@pytest.mark.parametrize("simulator", SIMULATORS)
def test_counters(simulator, tmp_path):
    simulate(Counters(), "tests.benches.counters", simulator=simulator, folder=tmp_path)
