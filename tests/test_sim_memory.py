# SPDX-FileCopyrightText: castbag contributors
# SPDX-License-Identifier: BSD-2-Clause
"""The simulated memory and the watch on its bus, on both simulators."""

import json
from pathlib import Path

import pytest

import castbag.sim
from castbag.sim.memories import Ideal, memory_of, memory_sources
from castbag.sim.model import SIMULATORS, Model, header_ports

HERE = Path(castbag.sim.__file__).parent


def simulate(top, sources, bench, constants, simulator, folder, kind=None, **parameters):
    model = Model(
        top=top,
        sources=tuple(sources.items()),
        simulator=simulator,
        ports=header_ports(sources[f"{top}.v"]),
        constants=tuple(constants.items()),
    )
    arguments = kind.arguments() if kind else []
    model.run(bench, folder=folder, parameters=constants | parameters, arguments=arguments)


@pytest.mark.parametrize(
    ("simulator", "data_bits", "latency"),
    [("verilator", 64, 64), ("verilator", 256, 2), ("icarus", 64, 64), ("icarus", 128, 17)],
)
def test_ideal_memory(simulator, data_bits, latency, tmp_path):
    constants = {"ADDRESS_BITS": 20, "DATA_BITS": data_bits, "SIZE_BITS": 13, "BURSTS": 64}
    kind, bench = Ideal(latency=latency), "tests.benches.sim_memory"
    where = (memory_sources(), bench, constants, simulator, tmp_path)
    simulate("memory", *where, kind=kind, LATENCY=latency)


@pytest.mark.parametrize("simulator", SIMULATORS)
def test_axi_rules(simulator, tmp_path):
    constants = {"ADDRESS_BITS": 32, "DATA_BITS": 64}
    files = {"axi_rules.v": (HERE / "axi_rules.v").read_text()}
    simulate("axi_rules", files, "tests.benches.axi_rules", constants, simulator, tmp_path)


PORTS = {
    # name: data bits and read ports
    "sdr-133": (64, 1),
    "ddr3-800-x16": (128, 1),
    "ddr3-800-x16,window=1": (64, 4),
    "ddr4-3200-x64": (256, 2),
    "hbm2-pseudochannel": (512, 1),
}


def simulate_dram(name, simulator, folder, **parameters):
    data_bits, ports = PORTS[name]
    bench = "tests.benches.sim_dram"
    constants = {"ADDRESS_BITS": 32, "DATA_BITS": data_bits, "SIZE_BITS": 20, "READ_PORTS": ports}
    where = (memory_sources(), bench, constants, simulator, folder)
    simulate("memory", *where, kind=memory_of(name), **parameters)


@pytest.mark.parametrize(
    ("name", "simulator"),
    [(name, "verilator") for name in PORTS]
    + [(name, "icarus") for name in ("ddr3-800-x16", "ddr4-3200-x64")],
)
def test_dram_holds_what_was_written(name, simulator, tmp_path):
    simulate_dram(name, simulator, tmp_path, task="contents")


@pytest.mark.parametrize("name", PORTS)
def test_dram_breaks_no_rule(name, tmp_path):
    simulate_dram(name, "verilator", tmp_path, task="rules", rounds=40)
    assert json.loads((tmp_path / "broken.json").read_text()) == 0


TIMINGS = {
    # number of each timing in dram.v: a memory in which no other one hides it
    **dict.fromkeys((1, 2, 3, 7, 10, 11, 14, 15, 16), "ddr3-800-x16"),
    **dict.fromkeys((5, 6, 8, 9, 12, 13), "ddr4-3200-x64"),  # those of bank groups
    4: "sdr-133",  # elsewhere tRC is no more than tRAS + tRP
}


@pytest.mark.parametrize("timing", TIMINGS)
def test_a_timing_that_is_too_short_is_found(timing, tmp_path):
    parameters = {"task": "rules", "rounds": 60, "haste": timing}
    simulate_dram(TIMINGS[timing], "verilator", tmp_path, **parameters)
    assert json.loads((tmp_path / "broken.json").read_text()) == timing
