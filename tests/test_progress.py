# SPDX-FileCopyrightText: castbag contributors
# SPDX-License-Identifier: BSD-2-Clause

"""Progress: a bar on a terminal, plain lines elsewhere."""

import io
from types import SimpleNamespace

from rich.console import Console

from castbag.host import progress
from castbag.host.device import Progress


def test_plain_lines_come_now_and_then(monkeypatch):
    now = iter([0, 1, 11, 11, 12])  # the second call tells, and notes the time again
    monkeypatch.setattr(progress, "time", SimpleNamespace(monotonic=now.__next__))
    text = io.StringIO()
    with progress.shown_progress(
        Console(file=text), "simulating", expected=9000, commands=3
    ) as show:
        for cycles in (1000, 2000, 3000):
            show(Progress(cycles=cycles, commands=cycles // 1000, lookups=7))
    assert text.getvalue() == "simulating …\n… 2,000 cycles, 7 lookups, 2 of 3 commands\n"


def test_a_terminal_has_a_bar():
    text = io.StringIO()
    terminal = Console(file=text, force_terminal=True, width=100)
    with progress.shown_progress(terminal, "simulating", expected=9000, commands=2) as show:
        show(Progress(cycles=4500, commands=0, lookups=1234))
        show(Progress(cycles=10_000, commands=1, lookups=5678))  # more than expected is no error
    for told in ("simulating", "10,000 cycles", "5,678 lookups", "1 of 2 commands"):
        assert told in text.getvalue()
