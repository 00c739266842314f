# SPDX-FileCopyrightText: castbag contributors
# SPDX-License-Identifier: BSD-2-Clause
"""A working folder for each test, and imitated devices."""

import pytest

from castbag.host.cli import run as cli
from tests.fake_device import FakeDevice

from .program import save


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

    def open_device(config, *, simulator, memory, memory_bytes, waves, record):
        opened.append({"simulator": simulator, "memory": memory, "waves": waves})
        return FakeDevice(config, memory_bytes=memory_bytes)

    monkeypatch.setattr(cli, "open_device", open_device)
    return opened
