# SPDX-FileCopyrightText: castbag contributors
# SPDX-License-Identifier: BSD-2-Clause
"""The lookup source, on both simulators."""

import pytest

from castbag.rtl.lookups import LookupSource
from castbag.sim.bench import simulate
from castbag.sim.model import SIMULATORS
from tests.benches.lookups import CONFIG


@pytest.mark.parametrize("simulator", SIMULATORS)
def test_lookup_source(simulator, tmp_path):
    simulate(LookupSource(CONFIG), "tests.benches.lookups", simulator=simulator, folder=tmp_path)
