# SPDX-FileCopyrightText: castbag contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Bench that plays inputs, one set a cycle, and compares the outputs with what was worked out.

The file named by the parameter `vectors` is a pickle of (inputs, outputs): for each cycle, values
by port as the clock's edge at its end sees them. An output of None may be anything; one of `NOISE`
must not be relied on: it is X where the simulator has one.
"""

import pickle
from pathlib import Path

import cocotb
from cocotb.triggers import RisingEdge, Timer

from castbag.sim.bench import Bench, parameters

NOISE = "noise"


@cocotb.test
async def plays_vectors(dut):
    inputs, outputs = pickle.loads(Path(parameters()["vectors"]).read_bytes())
    four_states = not cocotb.SIM_NAME.startswith("Verilator")
    # No edge may see an input before it has a value.
    for name in inputs[0]:
        getattr(dut, name).value = 0
    await Timer(1, "ns")
    bench = Bench(dut)
    dut.rst.value = 0
    await RisingEdge(dut.clk)
    for cycle, (given, expected) in enumerate(zip(inputs, outputs, strict=True)):
        for name, value in given.items():
            getattr(dut, name).value = value
        await bench.step()
        for name, value in expected.items():
            seen = getattr(dut, name).value
            if value == NOISE:
                assert not (four_states and seen.is_resolvable), f"{name}, cycle {cycle}: {seen}"
            elif value is not None:
                assert seen == value, f"{name}, cycle {cycle}: {seen}, not {value:#x}"
