# SPDX-FileCopyrightText: castbag contributors
# SPDX-License-Identifier: BSD-2-Clause
"""The program on the RTL itself, from trace to result, as a user runs it."""

import json
from pathlib import Path

import pytest

from castbag.golden.batch import Batch
from castbag.golden.traffic import phase_traffic
from castbag.rtl.config import PRESETS

from .program import INDICES, OFFSETS, arrays, succeeds


@pytest.mark.parametrize(("simulator", "preset"), [("verilator", "base"), ("icarus", "tiny")])
@pytest.mark.parametrize("dataflow", ["fused", "cast"])
def test_a_step_on_the_rtl(simulator, preset, dataflow):
    options = ("t.npz", "--preset", preset, "--dim", 5, "--dataflow", dataflow)
    succeeds("run", *options, "--sim", "golden", "--out", "golden.npz")
    files = ("--compare", "--out", "rtl.npz", "--report", "rtl.json")
    succeeds("run", *options, "--sim", simulator, *files)
    expected, result = arrays("golden.npz"), arrays("rtl.npz")
    assert set(result) == set(expected)
    for name, array in expected.items():
        assert result[name].tobytes() == array.tobytes(), name

    report = json.loads(Path("rtl.json").read_text())
    for part in (report, report["baseline"]):
        assert all(part["bit_exact"].values())
        traffic = phase_traffic(
            Batch.of(INDICES, OFFSETS, rows=6),
            dim=5,
            bus_bytes=PRESETS[preset].bus_bytes,
            index_bytes=8,
            offset_bytes=8,
            dataflow=part["dataflow"],
        )
        moved = {
            name: (phase["bytes_read"], phase["bytes_written"])
            for name, phase in part["phases"].items()
        }
        assert moved == {name: (t.bytes_read, t.bytes_written) for name, t in traffic.items()}
        assert all(phase["cycles"] > 0 for phase in part["phases"].values())
        assert 0 < part["total"]["overlap_cycles"] <= part["phases"]["cast"]["cycles"]
    assert report["baseline"]["dataflow"] == "expand-coalesce"
    assert report["speedup"] > 1


def test_waves_on_the_rtl():
    options = ("--preset", "tiny", "--dim", 2, "--op", "forward", "--sim", "icarus")
    succeeds("run", "t.npz", *options, "--waves", "step.fst")
    assert Path("step.fst").stat().st_size > 1000


def test_a_step_on_a_dram():
    """The report knows the DRAM; the requests are those that the formula counts."""
    options = ("--dim", 64, "--preset", "tiny", "--memory", "ddr3-800-x16")
    succeeds("run", "t.npz", *options, "--report", "rtl.json", "--dram-trace", "rtl.trace")
    report = json.loads(Path("rtl.json").read_text())
    assert all(report["bit_exact"].values())
    dram, total = report["dram"], report["total"]
    accesses = dram["row_hits"] + dram["row_misses"] + dram["row_conflicts"]
    assert accesses == dram["read_bursts"] + dram["write_bursts"]
    assert 0 < dram["row_hit_rate"] < 1
    lines = Path("rtl.trace").read_text().splitlines()
    cycles = [int(line) for line in Path("rtl.trace.cycles").read_text().splitlines()]
    assert len(lines) == len(cycles) and cycles == sorted(cycles)
    for line in lines:
        kind, address = line.split(" ")
        assert kind in ("LD", "ST") and int(address, 16) % 16 == 0
    assert sum(line.startswith("ST") for line in lines) == dram["write_bursts"]
    assert total["bytes_written"] == dram["write_bursts"] * 16  # whole rows of 256 bytes
    for phase in report["phases"].values():
        assert phase["bound"]["share"] > 0
    assert report["bus"]["cycle"][-1] == total["cycles"]
