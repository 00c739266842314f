# SPDX-FileCopyrightText: castbag contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Whole steps of the preset `base` on the `ideal` memory: bit-exact, and no slower than before.

Cycles are exact, so they are kept (`cycles.json`, rewritten by `python -m tests.test_cycles`) and
none may rise; and they are held to what the bus alone would need.
"""

import json
from pathlib import Path

import numpy as np
import pytest

from castbag.host.readers import synthetic
from castbag.host.step import run_step
from castbag.host.workload import prepare
from castbag.rtl.config import preset
from castbag.rtl.control.map import Phase
from castbag.rtl.layouts import SLOTS
from castbag.sim.device import SimulatedDevice

KEPT = Path(__file__).parent / "cycles.json"
BASE = preset("base")
DATAFLOWS = ("expand-coalesce", "cast", "fused")
LATENCY = 64

CASES = {
    # name: bags, pooling, rows, Zipf exponent, dim
    "nothing": (0, 0, 8, 0.0, 64),
    "empty bags": (40, 0, 8, 0.0, 64),
    "one lookup": (1, 1, 8, 0.0, 64),
    "D = 1": (64, 64, 20_000, 1.05, 1),
    "D = 3": (512, 8, 20_000, 0.0, 3),
    "D = 16": (204, 20, 20_000, 1.05, 16),
    "D = 17": (204, 20, 20_000, 0.0, 17),
    "D = 64": (204, 20, 20_000, 1.05, 64),
    "D = 64, one whole run": (64, 64, 20_000, 0.0, 64),
    "D = 8, five runs": (1024, 20, 20_000, 1.05, 8),
    "D = 64, no pooling": (2048, 1, 20_000, 0.0, 64),
    "D = 1024": (8, 16, 100, 0.0, 1024),
}


def measure(case: str) -> dict[str, dict[str, int]]:
    """Run a case in all dataflows, find nothing wrong; cycles by dataflow and phase."""
    bags, pooling, rows, zipf, dim = CASES[case]
    trace = synthetic(bags=bags, pooling=pooling, rows=rows, zipf=zipf, seed=1)
    work = prepare(trace, config=BASE, preset="base", dataflows=DATAFLOWS, rows=rows, dim=dim)
    device = SimulatedDevice(BASE, memory_bytes=work.layout.memory_bytes)
    cycles = {}
    for run in run_step(device, work, DATAFLOWS):
        assert run.faults == ()
        counts = {p.name.lower(): run.registers[f"{p.name}_CYCLES"] for p in Phase}
        cycles[run.dataflow] = {"total": run.registers["TOTAL_CYCLES"]} | counts
        hottest = np.unique(trace.indices, return_counts=True)[1].max(initial=0)
        _hold_to_the_bus(run.registers, hottest * max(0, SLOTS - BASE.words(dim)))
    return cycles


def _hold_to_the_bus(registers, alone: int) -> None:
    """Each phase against the beats of the busier direction of the bus.

    A sum takes `SLOTS` cycles a lookup where its vectors are shorter. Others fill the gaps while
    there are some in the interleaver's window; `alone` is what the hottest row's would leave.
    """

    def bus(*phases):
        return max(
            sum(registers[f"{phase.name}_{way}_BEATS"] for phase in phases)
            for way in ("READ", "WRITE")
        )

    # A handful of memory round trips begin and end a phase. The cast shares the bus with what
    # runs beside it; itself it takes a pair a cycle in and one out.
    slack = 6 * LATENCY
    lookups = registers["VALID_LOOKUPS"] + registers["DROPPED_LOOKUPS"]
    beside = registers["FORWARD_CYCLES"] + registers["EXPAND_CYCLES"]
    limits = {
        Phase.FORWARD: 1.05 * bus(Phase.FORWARD, Phase.CAST),
        Phase.CAST: beside + 2 * lookups,
        Phase.EXPAND: 1.05 * bus(Phase.EXPAND, Phase.CAST),
        Phase.BACKWARD: 1.08 * bus(Phase.BACKWARD) + alone,
        Phase.UPDATE: 1.08 * bus(Phase.UPDATE),
    }
    for phase, limit in limits.items():
        assert registers[f"{phase.name}_CYCLES"] <= limit + slack, phase.name


@pytest.mark.parametrize("case", CASES)
def test_no_phase_takes_more_cycles_than_before(case):
    kept = json.loads(KEPT.read_text())[case]
    for dataflow, phases in measure(case).items():
        for phase, cycles in phases.items():
            assert cycles <= kept[dataflow][phase], f"{dataflow}, {phase}"


if __name__ == "__main__":
    KEPT.write_text(json.dumps({case: measure(case) for case in CASES}, indent=1) + "\n")
