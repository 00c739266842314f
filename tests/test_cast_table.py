# SPDX-FileCopyrightText: castbag contributors
# SPDX-License-Identifier: BSD-2-Clause
"""The cast table writer, on both simulators."""

import pytest

from castbag.rtl.cast_table import CastTableWriter
from castbag.sim.bench import simulate
from castbag.sim.model import SIMULATORS
from tests.benches.cast_table import CONFIG


@pytest.mark.parametrize("simulator", SIMULATORS)
def test_cast_table_writer(simulator, tmp_path):
    writer = CastTableWriter(CONFIG)
    simulate(writer, "tests.benches.cast_table", simulator=simulator, folder=tmp_path)
