# SPDX-FileCopyrightText: castbag contributors
# SPDX-License-Identifier: BSD-2-Clause
"""The simulated memory and the watch on its bus, on both simulators."""

from pathlib import Path

import pytest

import castbag.sim
from castbag.sim.model import SIMULATORS, Model, header_ports


def simulate(unit, bench, constants, simulator, folder):
    source = (Path(castbag.sim.__file__).parent / f"{unit}.v").read_text()
    model = Model(
        top=unit,
        sources=((f"{unit}.v", source),),
        simulator=simulator,
        ports=header_ports(source),
        constants=tuple(constants.items()),
    )
    model.run(bench, folder=folder, parameters=constants)


@pytest.mark.parametrize(
    ("simulator", "data_bits", "latency"),
    [("verilator", 64, 64), ("verilator", 256, 2), ("icarus", 64, 64), ("icarus", 128, 17)],
)
def test_memory(simulator, data_bits, latency, tmp_path):
    constants = {
        "ADDRESS_BITS": 20,
        "DATA_BITS": data_bits,
        "SIZE_BITS": 13,
        "LATENCY": latency,
        "OUTSTANDING": 64,
    }
    simulate("memory", "tests.benches.sim_memory", constants, simulator, tmp_path)


@pytest.mark.parametrize("simulator", SIMULATORS)
def test_axi_rules(simulator, tmp_path):
    constants = {"ADDRESS_BITS": 32, "DATA_BITS": 64}
    simulate("axi_rules", "tests.benches.axi_rules", constants, simulator, tmp_path)
