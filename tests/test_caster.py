# SPDX-FileCopyrightText: castbag contributors
# SPDX-License-Identifier: BSD-2-Clause
"""The caster against the golden model's cast, on both simulators."""

import pytest

from castbag.rtl.caster import Caster
from castbag.sim.bench import simulate
from castbag.sim.model import SIMULATORS
from tests.benches.caster import CONFIG


@pytest.mark.parametrize("simulator", SIMULATORS)
def test_caster(simulator, tmp_path):
    simulate(Caster(CONFIG), "tests.benches.caster", simulator=simulator, folder=tmp_path)
