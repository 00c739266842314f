# SPDX-FileCopyrightText: castbag contributors
# SPDX-License-Identifier: BSD-2-Clause

"""REPORT.json: its keys, and numbers counted by hand."""

import io
import json

import numpy as np
import pytest
from rich.console import Console

from castbag.host.report import compared, make_report, report_json
from castbag.host.step import run_step
from castbag.host.tables import print_reports
from castbag.host.trace import Trace
from castbag.host.workload import prepare
from castbag.rtl.config import PRESETS

from .fake_device import FakeDevice

# The example of Tensor Casting: 4 lookups, 2 bags, 3 unique rows; 16 bytes a beat, 2 beats a row.
TRACE = Trace(name="t", indices=np.array([2, 5, 2, 0]), offsets=np.array([0, 2]))
KEYS = (
    "preset run_length merge_ways read_ports dataflow memory lookups dropped_lookups bags rows dim"
    " unique_rows bit_exact phases clients units bus dram total simulator"
)
UNKNOWN = dict.fromkeys(("bound", "units", "dram"))
"""What the imitated device cannot tell of a phase."""
PAIRS = 32 + 32  # 4 indices; 3 offsets, 8 bytes each
BYTES = {
    "fused": {
        "forward": (PAIRS + 4 * 32, 2 * 32),
        "cast": (PAIRS, 0),
        "backward": (4 * 32 + 3 * 32, 3 * 32),
    },
    "cast": {
        "forward": (PAIRS + 4 * 32, 2 * 32),
        "cast": (PAIRS, 16 + 16),
        "backward": (16 + 4 * 32, 3 * 32),
        "update": (16 + 3 * 32 + 3 * 32, 3 * 32),
    },
    "expand-coalesce": {
        "forward": (PAIRS + 4 * 32, 2 * 32),
        "cast": (PAIRS, 16 + 16),
        "expand": (PAIRS + 2 * 32, 4 * 32),
        "coalesce": (16 + 4 * 32, 3 * 32),
        "update": (16 + 3 * 32 + 3 * 32, 3 * 32),
    },
}


def reports(trace=TRACE, *, golden=False, preset="base", tamper=lambda *_: None, **options):
    flows = tuple(BYTES)
    sizes = {"preset": preset, "config": PRESETS[preset], "dataflows": flows, "dim": 5}
    work = prepare(trace, **sizes, **options)
    if golden:
        runs = [None] * len(flows)
    else:
        fake = FakeDevice(work.config, memory_bytes=work.layout.memory_bytes, tamper=tamper)
        runs = run_step(fake, work, flows)
    made = (
        make_report(work, flow, run, memory="ideal", simulator="golden" if golden else "verilator")
        for flow, run in zip(flows, runs, strict=True)
    )
    return dict(zip(flows, made, strict=True))


@pytest.mark.parametrize("dataflow", BYTES)
def test_a_report_of_a_simulated_step(dataflow):
    report = reports()[dataflow]
    assert list(report) == KEYS.split()
    counts = ("lookups", "dropped_lookups", "bags", "rows", "dim", "unique_rows")
    assert [report[key] for key in counts] == [4, 0, 2, 6, 5, 3]
    assert (report["preset"], report["dataflow"], report["memory"]) == ("base", dataflow, "ideal")
    assert (report["run_length"], report["merge_ways"]) == (4096, 16)
    assert report["bit_exact"] == dict.fromkeys(("pooled", "coalesced", "table", "state"), True)
    assert report["simulator"] == {"name": "verilator", "cycles_per_second": 6000.0}
    # The imitated device takes twice the beats of the busier direction.
    assert report["phases"] == {
        name: {
            "cycles": 2 * max(read, written) // 16,
            "bytes_read": read,
            "bytes_written": written,
            "bus_utilization": 0.5,
            **UNKNOWN,
        }
        for name, (read, written) in BYTES[dataflow].items()
    }
    read, written = (sum(way) for way in zip(*BYTES[dataflow].values(), strict=True))
    assert report["total"] == {
        "cycles": sum(phase["cycles"] for phase in report["phases"].values()),
        "overlap_cycles": 0,
        "bytes_read": read,
        "bytes_written": written,
        "bytes": read + written,
    }


@pytest.mark.parametrize("dataflow", BYTES)
def test_golden_has_the_same_bytes_and_no_cycles(dataflow):
    report = reports(golden=True)[dataflow]
    assert list(report) == KEYS.split()
    assert report["bit_exact"] is None
    assert report["total"]["cycles"] is report["total"]["overlap_cycles"] is None
    assert report["simulator"] == {"name": "golden", "cycles_per_second": None}
    assert report["phases"] == {
        name: {
            "cycles": None,
            "bytes_read": read,
            "bytes_written": written,
            "bus_utilization": None,
            **UNKNOWN,
        }
        for name, (read, written) in BYTES[dataflow].items()
    }


@pytest.mark.parametrize(
    ("op", "phases"), [("forward", ["forward"]), ("backward", ["cast", "backward"])]
)
def test_part_of_a_step(op, phases):
    report = reports(op=op)["fused"]
    assert list(report["phases"]) == phases
    assert all(report["bit_exact"].values())


def test_a_comparison():
    made = reports()
    report = compared(made["fused"], made["expand-coalesce"])
    assert list(report) == [*KEYS.split(), "baseline", "speedup", "traffic_ratio"]
    assert report["baseline"] == made["expand-coalesce"]
    totals = [made[flow]["total"] for flow in ("expand-coalesce", "fused")]
    assert report["speedup"] == totals[0]["cycles"] / totals[1]["cycles"]
    assert report["traffic_ratio"] == totals[0]["bytes"] / totals[1]["bytes"] > 1
    golden = reports(golden=True)
    report = compared(golden["cast"], golden["expand-coalesce"])
    assert report["speedup"] is None and report["traffic_ratio"] > 1


def test_json_is_plain():
    made = reports()
    report = compared(made["cast"], made["expand-coalesce"])
    assert json.loads(report_json(report)) == report


def test_nothing_to_do_divides_by_nothing():
    empty = Trace(name="t", indices=np.zeros(0, np.int32), offsets=np.zeros(0, np.int32))
    made = reports(empty)
    assert made["fused"]["phases"]["backward"]["bus_utilization"] == 0.0
    report = compared(made["fused"], made["expand-coalesce"])
    assert report["speedup"] > 0
    assert json.loads(report_json(report)) == report


def shown(*made):
    text = io.StringIO()
    print_reports(Console(file=text, width=80), made)
    return text.getvalue()


def test_the_table():
    made = reports()
    text = shown(*(made[flow] for flow in ("expand-coalesce", "fused")))
    lines = [line.split() for line in text.splitlines()]
    assert text.startswith("4 lookups · 2 bags · 3 unique rows · table of 6 rows x 5 · ")
    assert ["expand-coalesce", "forward", "24", "192", "64", "50%"] in lines
    assert ["coalesce", "18", "144", "96", "50%"] in lines
    assert ["backward", "28", "224", "96", "50%"] in lines
    assert ["total", "60", "480", "160"] in lines
    ratios = compared(made["fused"], made["expand-coalesce"])
    assert (
        f"fused against expand-coalesce: speedup {ratios['speedup']:.2f},"
        f" traffic ratio {ratios['traffic_ratio']:.2f}\n"
    ) in text
    assert "verilator: 6,000 cycles a second\n" in text
    assert text.endswith("bit-exact: yes\n")


def test_what_a_device_can_tell_is_shown():
    report = reports()["fused"]
    report["phases"]["forward"]["bound"] = {"by": "read bus", "share": 0.968}
    report["phases"]["backward"]["bound"] = {"by": "starved: bank conflicts", "share": 0.41}
    report["dram"] = {
        "row_hit_rate": 0.75,
        "activates": 1234,
        "refreshes": 5,
        "bus_utilization": 0.5,
    }
    text = shown(report)
    assert "fused forward: read bus 97 % busy\n" in text
    assert "fused backward: starved: bank conflicts 41 %\n" in text
    assert "fused: 75% of the DRAM's accesses hit an open row, 1,234 activates, 5 refreshes" in text
    assert "fused cast" not in text


def beside(fields, memory, registers):
    """The imitated cast takes 18 cycles more, of which all but 3 are beside other phases."""
    registers["CAST_CYCLES"] += 18
    registers["TOTAL_CYCLES"] += 3


def test_cycles_of_the_cast_beside_another_phase():
    made = reports(tamper=beside)
    assert {report["total"]["overlap_cycles"] for report in made.values()} == {15}
    text = shown(*made.values())
    assert "\nfused: the cast ran 15 of its 26 cycles beside forward\n" in text
    assert "\nexpand-coalesce: the cast ran 15 of its 26 cycles beside forward and expand\n" in text
    text = shown(*reports(tamper=beside, op="backward").values())
    assert "\nexpand-coalesce: the cast ran 15 of its 26 cycles beside expand\n" in text
    assert text.count("the cast ran") == 1  # it has nothing to run beside in the other two
    assert "the cast ran" not in shown(*reports(op="forward").values())


def test_a_batch_of_several_runs():
    indices = np.arange(140) % 7
    long = Trace(name="t", indices=indices, offsets=np.array([0]))
    line = "\nsorted in 3 runs of 64, merged 4 at a time\n"
    assert line in shown(reports(long, preset="tiny")["fused"])
    assert "sorted in" not in shown(reports(long, preset="tiny", op="forward")["fused"])
    # 20 lookups of each row: without those of row 0, 120 are left; without 4 rows, 60 and one run
    assert "in 2 runs" in shown(reports(long, preset="tiny", padding_idx=0)["fused"])
    fewer = Trace(name="t", indices=np.maximum(indices, 3), offsets=np.array([0]))
    assert "sorted in" not in shown(reports(fewer, preset="tiny", padding_idx=3)["fused"])


def test_the_table_without_a_simulator():
    text = shown(*reports(golden=True).values())
    assert "bit-exact" not in text and "speedup" not in text and "the cast ran" not in text
    assert text.count("traffic ratio") == 2


def test_the_table_says_what_was_dropped_and_what_is_wrong():
    dropping = reports(padding_idx=2)["fused"]
    assert shown(dropping).startswith("4 lookups (2 dropped) · 2 bags · 2 unique rows · ")
    wrong = {**dropping, "bit_exact": {**dropping["bit_exact"], "table": False}}
    assert shown(wrong).endswith("bit-exact: NO\n")
