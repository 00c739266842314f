# SPDX-FileCopyrightText: castbag contributors
# SPDX-License-Identifier: BSD-2-Clause
"""What benches have in common: a step that must be right, tables, JSON in build/bench."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

from rich.console import Console
from rich.table import Table

from castbag.golden.step import Op
from castbag.golden.traffic import Dataflow
from castbag.rtl.config import EngineConfig
from castbag.sim.device import SimulatedDevice

from ..step import StepRun, run_step
from ..trace import Trace
from ..workload import prepare


def run_right(
    trace: Trace,
    *,
    config: EngineConfig,
    preset: str,
    dim: int,
    op: Op,
    dataflow: Dataflow,
    memory: str = "ideal",
    rows: int | None = None,
) -> StepRun:
    """One command on the simulated device; RuntimeError unless it is right in every bit."""
    work = prepare(
        trace, config=config, preset=preset, dataflows=[dataflow], op=op, rows=rows, dim=dim
    )
    device = SimulatedDevice(config, memory=memory, memory_bytes=work.layout.memory_bytes)
    (run,) = run_step(device, work, [dataflow])
    if run.faults:
        raise RuntimeError("; ".join(run.faults))
    return run


def publish(result: Mapping, path: Path) -> None:
    """Write `result` as JSON; print each list of dicts in it as a table."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(result, indent=2) + "\n")
    for name, rows in result.items():
        if isinstance(rows, list):
            _show(name, rows, Console())


def _show(name: str, rows: Sequence[Mapping], console: Console) -> None:
    columns = list(rows[0])
    table = Table(*(column.replace("_", " ") for column in columns), title=name)
    for row in rows:
        cells = (row[column] for column in columns)
        table.add_row(*(f"{x:.3f}" if isinstance(x, float) else f"{x}" for x in cells))
    console.print(table)
