# SPDX-FileCopyrightText: castbag contributors
# SPDX-License-Identifier: BSD-2-Clause

"""Progress: a bar on a terminal, plain lines elsewhere."""

import io
from types import SimpleNamespace

from rich.console import Console

from castbag.host import progress


def test_plain_lines_come_now_and_then(monkeypatch):
    now = iter([0, 1, 11, 11, 12])  # the second call tells, and notes the time again
    monkeypatch.setattr(progress, "time", SimpleNamespace(monotonic=now.__next__))
    text = io.StringIO()
    with progress.shown_cycles(Console(file=text), "simulating", expected=9000) as show:
        for cycles in (1000, 2000, 3000):
            show(cycles)
    assert text.getvalue() == "simulating …\n… 2,000 cycles\n"


def test_a_terminal_has_a_bar():
    text = io.StringIO()
    terminal = Console(file=text, force_terminal=True, width=100)
    with progress.shown_cycles(terminal, "simulating", expected=9000) as show:
        show(4500)
        show(10_000)  # more than expected is no error
    assert "simulating" in text.getvalue() and "10,000 cycles" in text.getvalue()
