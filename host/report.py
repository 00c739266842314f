# SPDX-FileCopyrightText: castbag contributors
# SPDX-License-Identifier: BSD-2-Clause
"""REPORT.json, and the table that a terminal shows.

Cycles and bytes of a simulated step are the engine's own counters; those of `--sim golden` are the
traffic formula's, without cycles. A phase that the operation does not have has no entry.
"""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from rich.console import Console
from rich.table import Table

from castbag.golden.traffic import Dataflow

from .step import HARDWARE_PHASE, StepRun
from .workload import Workload

BASELINE: Dataflow = "expand-coalesce"
"""What `--compare` compares with."""

Report = dict[str, Any]


def make_report(
    workload: Workload,
    dataflow: Dataflow,
    run: StepRun | None,
    *,
    memory: str,
    simulator: str,
) -> Report:
    """The report of `workload` in `dataflow`, without a comparison; `run` is None for golden.

    `bus_utilization` is the beats of the busier direction over the phase's cycles. Cycles of
    `total` count overlapping phases once, its bytes are the phases' sums. In each of its cycles the
    cast is active, or one other phase, or both; so `overlap_cycles`, in which it is both, are the
    sum of the phases' cycles less those of `total`.
    """
    traffic = workload.traffic(dataflow)
    phases = {
        name: _counted(workload, name, run)
        if run
        else _phase(None, moved.bytes_read, moved.bytes_written, workload.config.bus_bytes)
        for name, moved in traffic.items()
    }
    read = sum(phase["bytes_read"] for phase in phases.values())
    written = sum(phase["bytes_written"] for phase in phases.values())
    cycles = overlap = None
    if run:
        cycles = run.registers["TOTAL_CYCLES"]
        overlap = sum(phase["cycles"] for phase in phases.values()) - cycles
    return {
        "preset": workload.preset,
        "run_length": workload.config.run_length,
        "merge_ways": workload.config.merge_ways,
        "dataflow": dataflow,
        "memory": memory,
        "lookups": workload.batch.lookups,
        "dropped_lookups": workload.batch.dropped,
        "bags": workload.batch.bags,
        "rows": workload.batch.rows,
        "dim": workload.dim,
        "unique_rows": workload.unique_rows,
        "bit_exact": run.bit_exact if run else None,
        "phases": phases,
        "total": {
            "cycles": cycles,
            "overlap_cycles": overlap,
            "bytes_read": read,
            "bytes_written": written,
            "bytes": read + written,
        },
        "simulator": {
            "name": simulator,
            "cycles_per_second": run.cycles_per_second if run else None,
        },
    }


def _counted(workload: Workload, name: str, run: StepRun) -> Report:
    """A phase by the engine's counters."""
    phase, beat = HARDWARE_PHASE[name].name, workload.config.bus_bytes
    cycles, reads, writes = (
        run.registers[f"{phase}_{counter}"] for counter in ("CYCLES", "READ_BEATS", "WRITE_BEATS")
    )
    return _phase(cycles, reads * beat, writes * beat, beat)


def _phase(cycles: int | None, read: int, written: int, beat: int) -> Report:
    busier = max(read, written) // beat
    return {
        "cycles": cycles,
        "bytes_read": read,
        "bytes_written": written,
        "bus_utilization": None if cycles is None else busier / cycles if cycles else 0.0,
    }


def compared(report: Report, baseline: Report) -> Report:
    """`report` with its `baseline`, and how many times its cycles and bytes the baseline takes."""
    return {
        **report,
        "baseline": baseline,
        "speedup": _ratio(baseline, report, "cycles"),
        "traffic_ratio": _ratio(baseline, report, "bytes"),
    }


def _ratio(baseline: Report, report: Report, key: str) -> float | None:
    """None where there are no cycles, or no bytes to divide by."""
    ours = report["total"][key]
    return baseline["total"][key] / ours if ours else None


def report_json(report: Report) -> bytes:
    """The bytes of REPORT.json."""
    return (json.dumps(report, indent=2, allow_nan=False) + "\n").encode()


def print_reports(console: Console, reports: Sequence[Report]) -> None:
    """What the batch is, then cycles and bytes of each phase of each report.

    Where one of several reports is the baseline's, ratios to it follow each total.
    """
    first = reports[0]
    dropped = f" ({first['dropped_lookups']:,} dropped)" if first["dropped_lookups"] else ""
    batch = [f"{first[key]:,} {key.replace('_', ' ')}" for key in ("bags", "unique_rows")]
    _say(
        console,
        f"{first['lookups']:,} lookups{dropped} · {' · '.join(batch)} · table of"
        f" {first['rows']:,} rows x {first['dim']} · preset {first['preset']},"
        f" {first['memory']} memory",
    )
    runs = -(-(first["lookups"] - first["dropped_lookups"]) // first["run_length"])
    if runs > 1 and "cast" in first["phases"]:
        length, ways = first["run_length"], first["merge_ways"]
        _say(console, f"sorted in {runs:,} runs of {length:,}, merged {ways} at a time")
    table = Table("dataflow", "phase", box=None, pad_edge=False, header_style="bold")
    for column in ("cycles", "bytes read", "written", "bus"):
        table.add_column(column, justify="right")
    for report in reports:
        label = report["dataflow"]
        for name, phase in report["phases"].items():
            table.add_row(label, name, *_cells(phase))
            label = ""
        table.add_row(label, "total", *_cells(report["total"]), style="bold", end_section=True)
        table.add_row()
    console.print(table)
    for report in reports:
        _say_overlap(console, report)
    baseline = next((each for each in reports if each["dataflow"] == BASELINE), None)
    for report in reports:
        if baseline is not None and report is not baseline:
            ratios = compared(report, baseline)
            named = {"speedup": ratios["speedup"], "traffic ratio": ratios["traffic_ratio"]}
            known = [f"{name} {ratio:.2f}" for name, ratio in named.items() if ratio is not None]
            _say(console, f"{report['dataflow']} against {BASELINE}: {', '.join(known)}")
    exact = [report["bit_exact"] for report in reports]
    if None not in exact:
        yes = all(all(outputs.values()) for outputs in exact)
        _say(console, f"bit-exact: {'yes' if yes else 'NO'}")


def _say_overlap(console: Console, report: Report) -> None:
    """How much of the cast cost no time, if there is a phase that it runs beside."""
    phases, overlap = report["phases"], report["total"]["overlap_cycles"]
    beside = [name for name in ("forward", "expand") if name in phases]
    if overlap is not None and "cast" in phases and beside:
        cast = phases["cast"]["cycles"]
        _say(
            console,
            f"{report['dataflow']}: the cast ran {overlap:,} of its {cast:,} cycles beside"
            f" {' and '.join(beside)}",
        )


def _cells(counts: Mapping[str, Any]) -> list[str]:
    """Cycles, bytes read, bytes written, utilisation, as the table shows them."""
    cycles, bus = counts["cycles"], counts.get("bus_utilization")
    return [
        "-" if cycles is None else f"{cycles:,}",
        f"{counts['bytes_read']:,}",
        f"{counts['bytes_written']:,}",
        "" if bus is None else f"{bus:.0%}",
    ]


def _say(console: Console, text: str) -> None:
    console.print(text, highlight=False, markup=False, soft_wrap=True)
