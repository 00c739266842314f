# SPDX-FileCopyrightText: castbag contributors
# SPDX-License-Identifier: BSD-2-Clause
"""`castbag run`, on a device that the golden model imitates."""

import json
import re
from pathlib import Path

import numpy as np
import pytest

from castbag.golden.batch import Batch
from castbag.golden.step import step
from castbag.host.cli import run as cli
from castbag.rtl.config import PRESETS
from castbag.rtl.control.map import Error
from castbag.sim.model import SimulationFailed, ToolMissing
from tests.fake_device import FakeDevice

from .program import INDICES, OFFSETS, arrays, castbag, refuses, save, succeeds


def golden(table, grad, *, op="step", lr=0.01):
    batch = Batch.of(INDICES, OFFSETS, rows=len(table))
    result = vars(step(table, grad, batch, op=op, lr=lr))
    return {name: array for name, array in result.items() if array is not None}


def assert_same(ours, theirs):
    assert set(ours) == set(theirs)
    for name, array in ours.items():
        assert array.dtype == theirs[name].dtype and array.shape == theirs[name].shape
        assert array.tobytes() == theirs[name].tobytes()


OUTPUTS = {
    "step": {"pooled", "unique_rows", "coalesced", "table"},
    "forward": {"pooled"},
    "backward": {"unique_rows", "coalesced", "table"},
}


@pytest.mark.parametrize("op", OUTPUTS)
@pytest.mark.parametrize("sim", ["verilator", "icarus", "golden"])
@pytest.mark.parametrize("dataflow", ["fused", "cast", "expand-coalesce"])
def test_run_writes_the_result(devices, op, sim, dataflow):
    rng = np.random.default_rng(1)
    table = rng.standard_normal((8, 5), dtype=np.float32)
    grad = rng.standard_normal((2, 5), dtype=np.float32)
    save("t.npz", table=table, grad=grad)
    options = ("--op", op, "--sim", sim, "--dataflow", dataflow, "--lr", 0.25, "--out", "r.npz")
    done = succeeds("run", "t.npz", *options)
    assert "wrote r.npz: the result\n" in done.stdout and "drawn" not in done.stderr
    result = arrays("r.npz")
    assert set(result) == OUTPUTS[op]
    assert_same(result, golden(table, grad, op=op, lr=0.25))
    assert ("bit-exact: yes\n" in done.stdout) == (sim != "golden")
    assert [each["simulator"] for each in devices] == ([] if sim == "golden" else [sim])


def test_run_draws_what_is_absent(devices):
    done = succeeds("run", "t.npz", "--rows", 9, "--dim", 3, "--seed", 4, "--out", "r.npz")
    assert "castbag: drawn from seed 4: table, grad\n" in done.stderr
    rng = np.random.default_rng(4)
    table = rng.standard_normal((9, 3), dtype=np.float32)
    assert_same(arrays("r.npz"), golden(table, rng.standard_normal((2, 3), dtype=np.float32)))


@pytest.mark.parametrize("sim", ["verilator", "golden"])
def test_run_with_other_sizes_of_the_sort(devices, sim):
    # 300 lookups on 8-byte beats. Pairs are of 4 bytes: a run of 32 is 16 beats.
    save("long.npz", indices=np.arange(300) % 11, offsets=np.arange(0, 300, 6))
    options = ("--preset", "tiny", "--dim", 2, "--sim", sim, "--out", "r.npz")
    succeeds("run", "long.npz", *options, "--report", "r.json")
    usual, result = json.loads(Path("r.json").read_text()), arrays("r.npz")
    assert (usual["run_length"], usual["merge_ways"]) == (64, 4)
    sizes = ("--run-length", 32, "--merge-ways", 8)
    done = succeeds("run", "long.npz", *options, *sizes, "--report", "r.json")
    report = json.loads(Path("r.json").read_text())
    assert (report["preset"], report["run_length"], report["merge_ways"]) == ("tiny", 32, 8)
    assert "\nsorted in 10 runs of 32, merged 8 at a time\n" in done.stdout
    assert_same(arrays("r.npz"), result)
    # 4 runs of 64 are spilled, which is as many as are merged; of 32 there are 9: a pass more.
    pairs = 300 * 8 + 51 * 8
    for each, spilled, passes in ((usual, 4 * 256, 0), (report, 9 * 128, 1)):
        cast, backward = each["phases"]["cast"], each["phases"]["backward"]
        moved = passes * spilled
        assert (cast["bytes_read"], cast["bytes_written"]) == (pairs + moved, spilled + moved)
        assert backward["bytes_read"] == (300 + 11) * 8 + spilled


@pytest.mark.parametrize(
    ("option", "value", "right"),
    [
        *(("--run-length", value, "a power of two, 16 to 16384") for value in (0, 3, 100, 32768)),
        *(("--merge-ways", value, "a power of two, 4 to 64") for value in (0, -4, 2, 5, 128)),
    ],
)
def test_run_refuses_impossible_sizes(devices, option, value, right):
    name = option.strip("-").replace("-", "_")
    message = refuses("run", "t.npz", "--out", "r.npz", option, value)
    assert message == f"preset base: {name} = {value}: must be {right}"
    assert devices == []


def test_run_by_default(devices):
    succeeds("run", "t.npz", "--report", "r.json")
    report = json.loads(Path("r.json").read_text())
    assert (report["preset"], report["dataflow"], report["memory"]) == ("base", "fused", "ideal")
    assert (report["rows"], report["dim"], report["simulator"]["name"]) == (6, 64, "verilator")
    assert devices == [{"simulator": "verilator", "memory": "ideal", "waves": None}]


@pytest.mark.parametrize("sim", ["verilator", "golden"])
@pytest.mark.parametrize("dataflow", ["fused", "cast", "expand-coalesce"])
def test_run_compares(devices, sim, dataflow):
    options = ("--sim", sim, "--dataflow", dataflow, "--compare", "--report", "r.json")
    done = succeeds("run", "t.npz", *options)
    report = json.loads(Path("r.json").read_text())
    assert report["dataflow"] == dataflow and report["baseline"]["dataflow"] == "expand-coalesce"
    ours, base = report["total"], report["baseline"]["total"]
    assert report["traffic_ratio"] == base["bytes"] / ours["bytes"]
    assert report["speedup"] == (base["cycles"] / ours["cycles"] if sim == "verilator" else None)
    assert ("traffic ratio" in done.stdout) == (dataflow != "expand-coalesce")
    assert len(devices) == (sim == "verilator")


def test_run_passes_the_waves_on(devices):
    succeeds("run", "t.npz", "--waves", "w.fst")
    assert devices[0]["waves"] == Path("w.fst")


def test_run_tells_unused_keys(devices):
    save("t.npz", grads=np.zeros(3))
    assert "castbag: t.npz: not used: grads\n" in succeeds("run", "t.npz").stderr


def test_run_tells_how_far_it_is(devices):
    assert "simulating fused on verilator …\n" in succeeds("run", "t.npz").stderr


def test_same_input_same_files(devices):
    for name in ("a", "b"):
        succeeds("run", "t.npz", "--out", f"{name}.npz", "--report", f"{name}.json")
    assert Path("a.npz").read_bytes() == Path("b.npz").read_bytes()
    assert Path("a.json").read_bytes() == Path("b.json").read_bytes()


def tampered(monkeypatch, tamper):
    def open_device(config, *, memory_bytes, **_):
        return FakeDevice(config, memory_bytes=memory_bytes, tamper=tamper)

    monkeypatch.setattr(cli, "open_device", open_device)


def test_a_difference_is_status_1_and_the_files_are_there_to_look_into(monkeypatch):
    def tamper(fields, memory, registers):
        memory[fields["pooled"] + 4] ^= 1

    tampered(monkeypatch, tamper)
    done = castbag("run", "t.npz", "--out", "r.npz", "--report", "r.json")
    assert done.exit_code == 1
    told = r"castbag: fused: pooled\[0, 1\], row 0, column 1, is 0x\w{8}, golden 0x\w{8}\n$"
    assert re.search(told, done.stderr)
    assert "bit-exact: NO\n" in done.stdout and "wrote r.npz: " in done.stdout
    assert json.loads(Path("r.json").read_text())["bit_exact"]["pooled"] is False
    assert "pooled" in arrays("r.npz")


def test_a_wrong_count_of_bytes_is_status_1(monkeypatch):
    def tamper(fields, memory, registers):
        registers["CAST_READ_BEATS"] += 1

    tampered(monkeypatch, tamper)
    done = castbag("run", "t.npz")
    assert done.exit_code == 1
    assert "register CAST_READ_BEATS is 5, by the formula 4\n" in done.stderr


def test_an_error_of_the_engine_is_status_1_and_nothing_is_written(monkeypatch):
    def tamper(fields, memory, registers):
        registers.update(ERROR=Error.READ, ERROR_POSITION=0x2000)

    tampered(monkeypatch, tamper)
    done = castbag("run", "t.npz", "--out", "r.npz", "--report", "r.json")
    assert done.exit_code == 1 and sorted(Path().iterdir()) == [Path("t.npz")]
    assert done.stderr.endswith(
        "castbag: fused: the engine stopped with error READ at position 0x2000 in phase FORWARD\n"
    )


@pytest.mark.parametrize(
    ("error", "status"),
    [(ToolMissing("perl was not found: install it"), 3), (SimulationFailed("no interrupt"), 1)],
)
def test_tools_that_are_missing_or_fail(monkeypatch, error, status):
    def open_device(config, **_):
        raise error

    monkeypatch.setattr(cli, "open_device", open_device)
    done = castbag("run", "t.npz", "--out", "r.npz")
    assert done.exit_code == status and not Path("r.npz").exists()
    assert done.stderr.endswith(f"castbag: {error}\n") and "Traceback" not in done.output


LIMIT = "t.npz: n, the number of lookups, is 16385; preset tiny has 16384 at most"


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["none.npz"], "none.npz: cannot be read: No such file or directory"),
        (["t.npz", "--rows", 5], "t.npz: indices[1] is 5; a row must lie in [0, 5)"),
        (
            ["t.npz", "--dim", 2000],
            "t.npz: D, the elements of a row, is 2000; preset base has 1024 at most",
        ),
        (
            ["t.npz", "--rows", 2**33],
            "t.npz: N, the number of rows, is 8589934592; preset base has 4294967296 at most",
        ),
        (["t.npz", "--padding-idx", 6], "t.npz: padding_idx is 6; a row must lie in [0, 6)"),
        (
            ["t.npz", "--lr", "nan"],
            "t.npz: --lr is nan; it must be 0 or more, and finite in binary32",
        ),
        (
            ["t.npz", "--lr", "-1"],
            "t.npz: --lr is -1.0; it must be 0 or more, and finite in binary32",
        ),
        (["t.npz", "--eps", "nan"], "--eps is nan; it must be 0 or more, and finite"),
        (["t.npz", "--eps", "-1"], "--eps is -1.0; it must be 0 or more, and finite"),
        (["t.npz", "--weight-decay", "0.1"], "--weight-decay 0.1 is not built yet; it must be 0"),
        (["t.npz", "--weight-decay", "nan"], "--weight-decay nan is not built yet; it must be 0"),
        (["t.npz", "--mode", "mean"], "--mode mean is not built yet; there is sum"),
        (["t.npz", "--mode", "max"], "--mode max is not built yet; there is sum"),
        (["t.npz", "--optimizer", "adagrad"], "--optimizer adagrad is not built yet; there is sgd"),
        (
            ["t.npz", "--optimizer", "rowwise-adagrad"],
            "--optimizer rowwise-adagrad is not built yet; there is sgd",
        ),
        (
            ["t.npz", "--memory", "ddr4"],
            "memory 'ddr4' unknown: there are ideal, sdr-133, ddr3-800-x16, ddr4-3200-x64,"
            " hbm2-pseudochannel",
        ),
        (
            ["t.npz", "--memory", "ideal,window=3"],
            "memory ideal: 'window' cannot be set; there is latency, rate",
        ),
        (
            ["t.npz", "--memory", "ideal,latency=soon"],
            "memory ideal: latency = 'soon': must be a number",
        ),
        (
            ["t.npz", "--memory", "ddr3-800-x16,window=0"],
            "memory ddr3-800-x16: window = 0: must be 1 to 64",
        ),
        (
            ["t.npz", "--sim", "golden", "--dram-trace", "x"],
            "--dram-trace needs a simulator; --sim golden has none",
        ),
        (
            ["t.npz", "--sim", "golden", "--waves", "w"],
            "--waves needs a simulator; --sim golden has none",
        ),
        (["t.npz", "--out", "no/r.npz"], "no/r.npz: there is no folder no"),
        (["t.npz", "--report", "."], ".: is a folder; it must be a file"),
        (["t.npz", "--waves", "no/w"], "no/w: there is no folder no"),
        (
            ["t.npz", "--out", "r", "--report", "r"],
            "r: named twice; each file needs a name of its own",
        ),
        (["t.npz", "--out", "t.npz"], "t.npz: named twice; each file needs a name of its own"),
    ],
)
def test_run_refuses(devices, words, message):
    assert refuses("run", *words) == message
    assert devices == []


@pytest.mark.parametrize(
    ("words", "named"),
    [
        ([], ["TRACE"]),
        (["t.npz", "more"], ["more"]),
        (["t.npz", "--zzz"], ["--zzz"]),
        (["t.npz", "--rows", -1], ["--rows", "-1", "x>=0"]),
        (["t.npz", "--dim", 0], ["--dim", "0", "x>=1"]),
        (["t.npz", "--seed", "x"], ["--seed", "'x'"]),
        (["t.npz", "--seed", -1], ["--seed", "-1", "x>=0"]),
        (["t.npz", "--lr", "fast"], ["--lr", "'fast'"]),
        (["t.npz", "--preset", "huge"], ["--preset", "'huge'", *PRESETS]),
        (["t.npz", "--sim", "vcs"], ["--sim", "'vcs'", "verilator", "icarus", "golden"]),
        (["t.npz", "--dataflow", "x"], ["--dataflow", "'x'", "fused", "cast", "expand-coalesce"]),
        (["t.npz", "--op", "x"], ["--op", "'x'", "step", "forward", "backward"]),
        (["t.npz", "--bounds", "x"], ["--bounds", "'x'", "error", "ignore"]),
    ],
)
def test_run_refuses_words(devices, words, named):
    message = refuses("run", *words)
    assert all(word in message for word in named), message
    assert devices == []


@pytest.mark.parametrize(
    ("changed", "options", "message"),
    [
        ({"indices": np.zeros(16385, int)}, ["--preset", "tiny"], LIMIT),
        ({"indices": np.zeros(16385, int)}, ["--preset", "tiny", "--sim", "golden"], LIMIT),
        (
            {"offsets": np.array([0, 3, 2])},
            [],
            "t.npz: bag 1 has offsets 3 to 2; offsets must never fall",
        ),
        (
            {"offsets": np.array([1, 2])},
            [],
            "t.npz: bag 0 has offsets 1 to 2; the first bag must start at 0",
        ),
        (
            {"offsets": np.array([0, 5])},
            [],
            "t.npz: bag 1 has offsets 5 to 4; offsets must never fall",
        ),
        (
            {"offsets": np.array([0, 3]), "include_last_offset": np.array(True)},
            [],
            "t.npz: bag 0 has offsets 0 to 3; the last bag must end at n = 4",
        ),
        (
            {"indices": np.array([0, -1, 2, 3])},
            [],
            "t.npz: indices[1] is -1; a row must lie in [0, 4)",
        ),
        (
            {"indices": INDICES / 1},
            [],
            "t.npz: indices is float64[4]; it must be int32 or int64 in 1 dimension",
        ),
        (
            {"table": np.zeros((6, 4))},
            [],
            "t.npz: table is float64[6, 4]; it must be float32 in 2 dimensions",
        ),
        (
            {"table": np.zeros((6, 4), np.float32)},
            ["--rows", 7],
            "t.npz: --rows is 7, but the table has 6",
        ),
        (
            {"grad": np.zeros((3, 4), np.float32)},
            [],
            "t.npz: grad is float32[3, 4]; it must be float32[2, 4]",
        ),
        (
            {"per_sample_weights": np.ones(4, np.float32)},
            [],
            "t.npz: per_sample_weights are not built yet; leave them out",
        ),
        (
            {"state": np.ones(4, np.float32)},
            [],
            "t.npz: state is given, but sgd, the one optimizer built yet, has none",
        ),
    ],
)
def test_run_refuses_traces(devices, changed, options, message):
    save("t.npz", **changed)
    outputs = ["--out", "r.npz", "--report", "r.json"]
    assert refuses("run", "t.npz", *outputs, *options) == message
    assert devices == []


def test_run_refuses_a_table_larger_than_the_address_space():
    message = refuses("run", "t.npz", "--rows", 2**32, "--dim", 1024)
    assert re.match("t.npz: table larger than the address space: 17592186044416 bytes", message)


def test_memory_that_runs_out_is_bad_input(monkeypatch):
    def prepare(*_, **__):
        raise MemoryError("Unable to allocate 1. TiB")

    monkeypatch.setattr(cli, "prepare", prepare)
    message = "too large for this machine's memory (Unable to allocate 1. TiB)"
    assert refuses("run", "t.npz") == message


def test_interrupted(monkeypatch):
    def prepare(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr(cli, "prepare", prepare)
    assert castbag("run", "t.npz").exit_code == 130
