# SPDX-FileCopyrightText: castbag contributors
# SPDX-License-Identifier: BSD-2-Clause
"""REPORT.json: what a step took, and why.

Cycles and bytes of a simulated step are the engine's own counters; those of `--sim golden` are the
traffic formula's, without cycles. A phase that the operation does not have has no entry.
"""

import json
from typing import Any

from castbag.golden.traffic import Dataflow
from castbag.rtl.control.map import READ_CLIENTS, UNIT_STATES, UNITS, WRITE_CLIENTS

from .activity import DRAM, Activity, Counts, bound
from .step import HARDWARE_PHASE, StepRun
from .workload import Workload

BASELINE: Dataflow = "expand-coalesce"
"""What `--compare` compares with."""

CURVE_POINTS = 300
"""Steps of `bus`, at most."""

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

    `clients` has the beats and bytes of each of the engine's read and write clients, `units` the
    cycles in which each unit was busy, starved or blocked. From a device that can tell, each phase
    also has what bounds it (`bound`), its units and its DRAM; and there is `bus`, the course of the
    bus in `CURVE_POINTS` steps at most, and `dram`, the DRAM's counts, if the memory is one.
    """
    traffic = workload.traffic(dataflow)
    activity = run.activity if run else None
    phases = {
        name: (
            _counted(workload, name, run)
            if run
            else _phase(None, moved.bytes_read, moved.bytes_written, workload.config.bus_bytes)
        )
        | _observed(name, activity)
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
        "read_ports": workload.config.read_ports,
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
        "clients": _clients(workload, dataflow),
        "units": run and _units(run.registers),
        "bus": activity and activity.curve(CURVE_POINTS),
        "dram": activity and _dram(activity.total()),
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


def _clients(workload: Workload, dataflow: Dataflow) -> Report:
    """Beats and bytes by client; `run_step` has held the engine's counters to them."""
    beats, size = workload.client_beats(dataflow), workload.config.bus_bytes
    return {
        direction: {
            name: {
                "beats": beats.get((direction, name), 0),
                "bytes": beats.get((direction, name), 0) * size,
            }
            for name, _ in clients
        }
        for direction, clients in (("read", READ_CLIENTS), ("write", WRITE_CLIENTS))
    }


def _units(counts: Counts) -> Report:
    """Cycles of each unit, by what it did."""
    return {
        unit: {state: counts[f"{unit}_{state}".upper()] for state, _ in UNIT_STATES}
        for unit, _ in UNITS
    }


def _dram(counts: Counts) -> Report | None:
    """The DRAM's counts, and the share of its accesses that found their row open."""
    accesses = counts["row_hits"] + counts["row_misses"] + counts["row_conflicts"]
    if not counts["clocks"]:
        return None
    return {
        **{name: counts[name] for name in DRAM},
        "row_hit_rate": counts["row_hits"] / accesses if accesses else 0.0,
        "bus_utilization": counts["busy_clocks"] / counts["clocks"],
    }


def _observed(name: str, activity: Activity | None) -> Report:
    """What else is known of a phase, if the device could tell."""
    if activity is None:
        return {"bound": None, "units": None, "dram": None}
    phase = HARDWARE_PHASE[name]
    counts = activity.of_phase(phase)
    why = bound(phase, counts)
    return {
        "bound": {"by": why.by, "share": round(why.share, 4)},
        "units": _units(counts),
        "dram": _dram(counts),
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
