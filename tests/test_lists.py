# SPDX-FileCopyrightText: castbag contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Lists read and written, on buses of two lanes and more."""

import pytest

from castbag.rtl.memory import ListReader, ListWriter
from castbag.sim.bench import simulate
from tests.benches.list_reader import config_of

# Verilator takes long to build: one width there.
BUSES = [("verilator", 64), ("icarus", 128), ("icarus", 256)]


@pytest.mark.parametrize("simulator, bus_bits", BUSES)
def test_list_reader(simulator, bus_bits, tmp_path):
    simulate(
        ListReader(config_of(bus_bits)),
        "tests.benches.list_reader",
        simulator=simulator,
        folder=tmp_path,
        bus_bits=bus_bits,
    )


@pytest.mark.parametrize("simulator, bus_bits", BUSES)
def test_list_writer(simulator, bus_bits, tmp_path):
    simulate(
        ListWriter(config_of(bus_bits)),
        "tests.benches.list_writer",
        simulator=simulator,
        folder=tmp_path,
        bus_bits=bus_bits,
    )
