# SPDX-FileCopyrightText: castbag contributors
# SPDX-License-Identifier: BSD-2-Clause
"""The pair reader, on both simulators."""

import pytest

from castbag.rtl.pairs import PairReader
from castbag.sim.bench import simulate
from castbag.sim.model import SIMULATORS
from tests.benches.pairs import CONFIG


@pytest.mark.parametrize("simulator", SIMULATORS)
def test_pair_reader(simulator, tmp_path):
    simulate(PairReader(CONFIG), "tests.benches.pairs", simulator=simulator, folder=tmp_path)
