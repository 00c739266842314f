# SPDX-FileCopyrightText: castbag contributors
# SPDX-License-Identifier: BSD-2-Clause
"""How long work tells that it goes on: a bar on a terminal, a line now and then elsewhere."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

INTERVAL = 10.0
"""Seconds between plain lines."""


@contextmanager
def shown_cycles(console: Console, title: str, *, expected: int) -> Iterator[Callable[[int], None]]:
    """A callback that shows the cycles run so far; `expected` is about where they will end."""
    if not console.is_terminal:
        console.print(f"{title} …", highlight=False, markup=False, soft_wrap=True)
        yield _lines(console)
        return
    columns = (
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        TextColumn("{task.completed:,.0f} cycles"),
        TimeElapsedColumn(),
    )
    with Progress(*columns, console=console, transient=True) as bar:
        task = bar.add_task(title, total=None)  # it pulses until the model is built
        yield lambda cycles: bar.update(task, completed=cycles, total=max(expected, cycles))


def _lines(console: Console) -> Callable[[int], None]:
    told = time.monotonic()

    def show(cycles: int) -> None:
        nonlocal told
        if time.monotonic() - told >= INTERVAL:
            told = time.monotonic()
            console.print(f"… {cycles:,} cycles", highlight=False)

    return show
