# SPDX-FileCopyrightText: castbag contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Every other sub-command, and what all of them have in common."""

import json
import re
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from castbag.host import cli
from castbag.rtl.config import PRESETS

from .program import arrays, castbag, refuses, succeeds

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
    names = ["preset", *PRESETS]
    assert [line[0] for line in lines if line] == [*names, *names]
    base = "base 128 4 40 bits 2^24 2^24 2^32 1024 sgd"
    assert lines[1] == base.split()
    # 4096 pairs in the sorter, 16 ways of 128
    assert lines[len(PRESETS) + 3][:4] == ["base", "4096", "16", "6144"]


def test_presets_with_other_sizes():
    text = succeeds("presets", "--run-length", 1024, "--merge-ways", 32).stdout
    lines = [line.split() for line in text.splitlines()]
    assert lines[len(PRESETS) + 3][:4] == ["base", "1024", "32", str(1024 + 32 * 128)]


def emitted(config, *, trace):
    return f"// {config.bus_bits} {config.run_length} {config.merge_ways} {trace}\n"


def test_emit(monkeypatch):
    # What the engine looks like in Verilog is tested with the engine.
    emit = SimpleNamespace(emit_engine=emitted)
    monkeypatch.setitem(sys.modules, "castbag.rtl.emit", emit)
    options = ("--preset", "tiny", "--run-length", 128)
    assert succeeds("emit", *options, "-o", "c.v").stdout == (
        "wrote c.v: the engine of preset tiny\n"
    )
    assert Path("c.v").read_text() == "// 64 128 4 False\n"


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["emit"], "-o"),
        (
            ["emit", "--preset", "x", "-o", "c.v"],
            "--preset",
        ),
        (["emit", "-o", "no/c.v"], "no/c.v: there is no folder no"),
        (["emit", "-o", "c.v", "--run-length", 0], "run_length = 0: must be a power of two, 16 to"),
        (["demo", "--run-length", 32768], "run_length = 32768: must be a power of two, 16 to"),
        (["demo", "--merge-ways", 2], "merge_ways = 2: must be a power of two, 4 to 64"),
        (["presets", "--run-length", 16], "preset rank: run_length = 16: must be at least 32"),
        (["build"], "BOARD"),
        (
            ["build", "zzz"],
            "board 'zzz' unknown: there are ulx3s, ulx3s-45f, ulx3s-25f, ulx3s-12f, icesugar-pro",
        ),
        (["build", "ulx3s", "--seeds", 0], "0 is not in the range"),
        (["build", "ulx3s", "--clock", 75], "'75' is not one of '50', '100'"),
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
