# SPDX-FileCopyrightText: castbag contributors
# SPDX-License-Identifier: BSD-2-Clause
"""A report as a terminal shows it."""

from collections.abc import Mapping, Sequence
from typing import Any

from rich.console import Console
from rich.table import Table

from .activity import Bound
from .report import BASELINE, Report, compared


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
        _say_bounds(console, report)
        _say_overlap(console, report)
        _say_dram(console, report)
    speed = first["simulator"]["cycles_per_second"]
    if speed is not None:
        _say(console, f"{first['simulator']['name']}: {speed:,.0f} cycles a second")
    baseline = next((each for each in reports if each["dataflow"] == BASELINE), None)
    for report in reports:
        if baseline is not None and report is not baseline:
            ratios = compared(report, baseline)
            named = {"speedup": ratios["speedup"], "traffic ratio": ratios["traffic_ratio"]}
            known = [f"{name} {ratio:.2f}" for name, ratio in named.items() if ratio is not None]
            _say(console, f"{report['dataflow']} against {BASELINE}: {', '.join(known)}")
    exact = [report["bit_exact"] for report in reports]
    if None not in exact:
        told = [item for outputs in exact for item in outputs.items()]
        yes = not any(value is False for _, value in told)
        unseen = ", ".join(sorted({name for name, value in told if value is None}))
        but = f" (not seen on this device: {unseen})" if unseen else ""
        _say(console, f"bit-exact: {'yes' if yes else 'NO'}{but}")


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


def _say_dram(console: Console, report: Report) -> None:
    """How the DRAM's rows and its data bus were used, if the memory is one."""
    dram = report["dram"]
    if dram is not None:
        _say(
            console,
            f"{report['dataflow']}: {dram['row_hit_rate']:.0%} of the DRAM's accesses hit an open"
            f" row, {dram['activates']:,} activates, {dram['refreshes']:,} refreshes, data bus"
            f" {dram['bus_utilization']:.0%} busy",
        )


def _say_bounds(console: Console, report: Report) -> None:
    """What bounds each phase, where that is known."""
    for name, phase in report["phases"].items():
        if phase["bound"] is not None:
            _say(console, f"{report['dataflow']} {name}: {Bound(**phase['bound'])}")


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
