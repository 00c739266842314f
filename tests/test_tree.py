# SPDX-FileCopyrightText: castbag contributors
# SPDX-License-Identifier: BSD-2-Clause
"""The tree itself: what may import what, where the code under test comes from, headers, size."""

import ast
import importlib
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
MAY_IMPORT = {
    "golden": {"golden"},
    "rtl": {"rtl"},
    "sim": {"sim", "rtl", "host"},
    "host": {"host", "rtl", "golden", "sim", "boards"},
    "boards": {"boards", "rtl", "host", "sim"},
}
"""Folders that a folder's files may import from."""

OUTSIDE = {"golden": {"numpy"}, "rtl": {"amaranth"}}
"""Packages that a folder may import, where that is limited; the standard library is free."""


def tracked(*patterns: str) -> list[Path]:
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", *patterns],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    return [path for line in listed.stdout.split() if (path := ROOT / line).exists()]


def imports(path: Path):
    """Absolute names of the modules that a file imports."""
    package = ("castbag", *path.relative_to(ROOT).parent.parts)
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else ()
            yield ".".join([*base, *([node.module] if node.module else [])])


@pytest.mark.parametrize("folder", MAY_IMPORT)
def test_direction_of_imports(folder):
    files = tracked(f"{folder}/*.py")
    assert files
    for path in files:
        for name in imports(path):
            first, *rest = name.split(".")
            where = f"{path.relative_to(ROOT)} imports {name}"
            if first == "castbag":
                assert rest[0] in MAY_IMPORT[folder], where
            else:
                assert first not in MAY_IMPORT, f"{where}: a second copy of each class"
                if folder in OUTSIDE and first not in sys.stdlib_module_names:
                    assert first in OUTSIDE[folder], where


@pytest.mark.parametrize("folder", MAY_IMPORT)
def test_the_code_under_test_is_this_checkout(folder):
    module = importlib.import_module(f"castbag.{folder}")
    assert module.__file__ is not None
    assert Path(module.__file__).resolve().parent == ROOT / folder


def test_every_source_has_its_licence_and_is_no_giant():
    files = tracked("*.py", "*.v", "Makefile", ".ci/run")
    assert len(files) > 40
    for path in files:
        lines = path.read_text().splitlines()
        head = "\n".join(lines[:4])
        assert "SPDX-License-Identifier: BSD-2-Clause" in head, path
        assert len(lines) <= 500, f"{path}: {len(lines)} lines"
