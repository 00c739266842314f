# SPDX-FileCopyrightText: castbag contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Traffic session: the cocotb module that runs traffic generators on a memory, case by case.

It runs on the top module of `traffic_system.v`; `castbag.host.bench.traffic` starts it. Its
parameters: `cases`, each a dict of the inputs of `traffic.v` by name; `memory_bytes`; and
`limit`, the most cycles a case may take. Result out: `outcomes.json`, of each case a list with
a dict per port.

Each case begins with a reset, so that neither the cases before it nor their number change it;
what they have written stays.
"""

import json
from pathlib import Path

import cocotb
from cocotb.triggers import FallingEdge, First, RisingEdge, Timer

from .bench import parameters
from .session import CLOCK_NS, RESET_CYCLES, RULES

COUNTS = ("cycles", "beats_read", "beats_written", "wrong")


@cocotb.test
async def traffic(dut):
    """Run all cases."""
    job = parameters()
    dut.memory_bytes.value = job["memory_bytes"]
    outcomes = [await _case(dut, case, job["limit"]) for case in job["cases"]]
    Path("outcomes.json").write_text(json.dumps(outcomes))


async def _case(dut, case: dict, limit: int) -> list[dict]:
    dut.start.value = 0
    dut.rst.value = 1
    for name, value in case.items():
        getattr(dut, name).value = value
    for _ in range(RESET_CYCLES):
        await FallingEdge(dut.clk)
    dut.rst.value = 0
    await FallingEdge(dut.clk)
    dut.start.value = 1
    await First(RisingEdge(dut.done), Timer(limit * CLOCK_NS, "ns"))
    await FallingEdge(dut.clk)
    broken = [RULES[rule] for rule in _parts(dut.broken, 4) if rule]
    assert not broken, f"{case}: {broken}"
    assert dut.done.value == 1, f"{case}: not over after {limit} cycles"
    counts = {name: _parts(getattr(dut, name), 32) for name in COUNTS}
    return [dict(zip(COUNTS, port, strict=True)) for port in zip(*counts.values(), strict=True)]


def _parts(port, bits: int) -> list[int]:
    """The numbers that stand side by side in a port, the lowest first."""
    value = int(port.value)
    return [value >> low & (1 << bits) - 1 for low in range(0, len(port), bits)]
