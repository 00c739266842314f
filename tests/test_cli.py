# SPDX-FileCopyrightText: castbag contributors
# SPDX-License-Identifier: BSD-2-Clause

"""The `castbag` program: files, keys, exit statuses, and one line for whatever is wrong.

Steps run on a device that the golden model imitates.
"""

import json
import re
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from click.testing import CliRunner

from castbag.golden.batch import Batch
from castbag.golden.step import step
from castbag.host import cli
from castbag.host.files import npz
from castbag.rtl.config import PRESETS
from castbag.rtl.control.map import Error
from castbag.sim.model import SimulationFailed, ToolMissing

from .fake_device import FakeDevice

INDICES = np.array([2, 5, 2, 0])
OFFSETS = np.array([0, 2])


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    """Each test has a working folder of its own, with a small trace in it."""
    monkeypatch.chdir(tmp_path)
    save("t.npz")
    return tmp_path


@pytest.fixture
def devices(monkeypatch):
    """Imitated devices in place of simulated ones; the list takes the options of each."""
    opened = []

    def open_device(config, *, simulator, memory, waves, memory_bytes):
        opened.append({"simulator": simulator, "memory": memory, "waves": waves})
        return FakeDevice(config, memory_bytes=memory_bytes)

    monkeypatch.setattr(cli, "open_device", open_device)
    return opened


def save(name, **arrays):
    Path(name).write_bytes(npz({"indices": INDICES, "offsets": OFFSETS} | arrays))


def castbag(*words):
    return CliRunner().invoke(cli.main, [str(word) for word in words])


def succeeds(*words):
    done = castbag(*words)
    assert done.exit_code == 0, done.output
    return done


def refuses(*words, status=2):
    """The one line on standard error; nothing is written."""
    before = sorted(Path().rglob("*"))
    done = castbag(*words)
    assert done.exit_code == status, done.output
    assert sorted(Path().rglob("*")) == before
    assert done.stdout == "" and done.stderr.count("\n") == 1
    assert done.stderr.startswith("castbag: ")
    return done.stderr.removeprefix("castbag: ").rstrip("\n")


def arrays(name):
    with np.load(name) as file:
        return dict(file)


# run


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


LIMIT = "t.npz: n, the number of lookups, is 65; preset tiny has 64 at most"


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
        (["t.npz", "--memory", "ddr4"], "--memory ddr4 is not built yet; there is ideal"),
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
        ({"indices": np.zeros(65, int)}, ["--preset", "tiny"], LIMIT),
        ({"indices": np.zeros(65, int)}, ["--preset", "tiny", "--sim", "golden"], LIMIT),
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


# trace


def test_trace_text():
    Path("a.txt").write_text("b a\na c\n")
    done = succeeds("trace", "text", "a.txt", "a.txt", "-o", "w.npz")
    assert done.stdout.splitlines() == [
        "wrote w.npz: 8 lookups in 4 bags",
        "wrote w.ids.json: what its 3 rows stand for",
    ]
    assert arrays("w.npz")["indices"].tolist() == [0, 1, 1, 2] * 2
    assert arrays("w.npz")["offsets"].tolist() == [0, 2, 4, 6]
    assert json.loads(Path("w.ids.json").read_text())["rows"] == ["b", "a", "c"]
    succeeds("run", "w.npz", "--sim", "golden")


def test_trace_csv():
    Path("log.csv").write_text("user,page\nann,x\nbob,y\nann,y\n")
    succeeds("trace", "csv", "log.csv", "--bag", "user", "--item", "page", "-o", "w.npz")
    assert arrays("w.npz")["indices"].tolist() == [0, 1, 1]
    assert arrays("w.npz")["offsets"].tolist() == [0, 2]
    ids = json.loads(Path("w.ids.json").read_text())
    assert ids == {"rows": ["x", "y"], "bags": ["ann", "bob"]}


def test_trace_synthetic():
    sizes = ("--bags", 8, "--pooling", 5, "--rows", 100, "--zipf", 1.1)
    for name, seed in (("a.npz", 3), ("b.npz", 3), ("c.npz", 4)):
        done = succeeds("trace", "synthetic", *sizes, "--seed", seed, "-o", name)
        assert done.stdout == f"wrote {name}: 40 lookups in 8 bags\n"
    assert Path("a.npz").read_bytes() == Path("b.npz").read_bytes() != Path("c.npz").read_bytes()
    assert arrays("a.npz")["offsets"].tolist() == list(range(0, 40, 5))


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["text", "-o", "w.npz"], "FILES"),
        (["text", "a.txt"], "-o"),
        (["text", "none", "-o", "w.npz"], "none: cannot be read: No such file or directory"),
        (["text", "a.txt", "-o", "a.txt"], "a.txt: named twice; each file needs a name of its own"),
        (["text", "a.txt", "-o", "no/w.npz"], "no/w.npz: there is no folder no"),
        (
            ["csv", "a.txt", "--bag", "user", "--item", "page", "-o", "w.npz"],
            "a.txt: column 'user' is missing; there is b a",
        ),
        (["csv", "a.txt", "--bag", "user", "-o", "w.npz"], "--item"),
        (
            ["csv", "none", "--bag", "a", "--item", "b", "-o", "w.npz"],
            "none: cannot be read: No such file or directory",
        ),
        (
            ["synthetic", "--bags", 1, "--pooling", 1, "--rows", 0, "-o", "w.npz"],
            "--rows is 0; lookups need 1 row or more",
        ),
        (
            ["synthetic", "--bags", 1, "--pooling", 1, "--rows", 9, "--zipf", -1, "-o", "w.npz"],
            "--zipf is -1.0; it must be 0 or more, and finite",
        ),
        (
            ["synthetic", "--bags", -1, "--pooling", 1, "--rows", 9, "-o", "w.npz"],
            "--bags",
        ),
        (["xml"], "xml"),
    ],
)
def test_trace_refuses(words, message):
    Path("a.txt").write_text("b a\n")
    assert message in refuses("trace", *words)


# demo, presets, emit, build


def test_demo(devices):
    done = succeeds("demo", "--out-dir", "out/demo")
    folder = Path("out/demo")
    files = ("trace.npz", "trace.ids.json", "result.npz", "report.json")
    assert sorted(path.name for path in folder.iterdir()) == sorted(files)
    assert all(f"wrote {folder / name}: " in done.stdout for name in files)
    report = json.loads((folder / "report.json").read_text())
    assert report["dataflow"] == "fused" and report["dim"] == 64
    assert report["baseline"]["dataflow"] == "expand-coalesce"
    assert report["cast"]["dataflow"] == "cast"
    trace = arrays(folder / "trace.npz")
    ids = json.loads((folder / "trace.ids.json").read_text())
    assert report["lookups"] == trace["indices"].size and report["bags"] == len(ids["bags"])
    assert report["unique_rows"] == report["rows"] == len(ids["rows"])
    for dataflow in ("expand-coalesce", "cast", "fused"):
        assert re.search(rf"^{dataflow} +forward ", done.stdout, re.MULTILINE)
    for dataflow in ("cast", "fused"):
        assert re.search(
            rf"^{dataflow} against expand-coalesce: speedup \d+\.\d\d, traffic ratio \d+\.\d\d$",
            done.stdout,
            re.MULTILINE,
        )
    assert "\nbit-exact: yes\n" in done.stdout
    succeeds("run", folder / "trace.npz", "--compare", "--out", "r.npz", "--report", "r.json")
    assert Path("r.npz").read_bytes() == (folder / "result.npz").read_bytes()
    again = json.loads(Path("r.json").read_text())
    assert again["total"] == report["total"]


def test_demo_refuses_a_place_that_cannot_be():
    Path("file").touch()
    assert refuses("demo", "--out-dir", "file") == "file: cannot be made: File exists"


def test_presets():
    text = succeeds("presets").stdout
    lines = [line.split() for line in text.splitlines()]
    assert [line[0] for line in lines] == ["preset", *PRESETS]
    base = "base 128 4 40 bits 4096 2^24 2^32 1024 sgd"
    assert lines[1] == base.split()


def test_emit(monkeypatch):
    # What the engine looks like in Verilog is tested with the engine.
    emit = SimpleNamespace(emit_engine=lambda config, *, trace: f"// {config.bus_bits} {trace}\n")
    monkeypatch.setitem(sys.modules, "castbag.rtl.emit", emit)
    assert succeeds("emit", "--preset", "tiny", "-o", "c.v").stdout == (
        "wrote c.v: the engine of preset tiny\n"
    )
    assert Path("c.v").read_text() == "// 64 False\n"


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["emit"], "-o"),
        (
            ["emit", "--preset", "x", "-o", "c.v"],
            "--preset",
        ),
        (["emit", "-o", "no/c.v"], "no/c.v: there is no folder no"),
        (["build"], "BOARD"),
        (
            ["build", "ulx3s"],
            "board 'ulx3s': no board is built yet; `castbag emit` writes the core",
        ),
        (["zzz"], "zzz"),
    ],
)
def test_refusals(words, message):
    assert message in refuses(*words)


# help


def commands(group=cli.main, path=()):
    for name, command in group.commands.items():
        yield (*path, name)
        yield from commands(command, (*path, name)) if hasattr(command, "commands") else ()


@pytest.mark.parametrize("path", [(), *commands()], ids=" ".join)
def test_every_help_has_an_example(path):
    text = succeeds(*path, "--help").stdout
    example = text.partition("Example:\n")[2]
    assert " ".join(["  castbag", *path]) in example


def test_no_words_at_all_are_a_call_for_help():
    assert castbag().exit_code == 0
    assert "Commands:" in castbag().stdout


def test_the_installed_program():
    program = Path(sys.executable).with_name("castbag")
    version = subprocess.run([program, "--version"], capture_output=True, text=True, check=True)
    assert re.fullmatch(r"castbag \d+\.\d+\.\d+\n", version.stdout)
    done = subprocess.run([program, "run", "none"], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "castbag: none: cannot be read: No such file or directory\n"
    succeeded = subprocess.run(
        [program, "run", "t.npz", "--sim", "golden"], capture_output=True, text=True, check=False
    )
    assert (succeeded.returncode, succeeded.stderr) == (
        0,
        "castbag: drawn from seed 0: table, grad\n",
    )
