# SPDX-FileCopyrightText: castbag contributors
# SPDX-License-Identifier: BSD-2-Clause
"""The program called as a user calls it, and the trace that the tests call it with."""

from pathlib import Path

import numpy as np
from click.testing import CliRunner

from castbag.host import cli
from castbag.host.files import npz

INDICES = np.array([2, 5, 2, 0])
OFFSETS = np.array([0, 2])


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
