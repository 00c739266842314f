# SPDX-FileCopyrightText: castbag contributors
# SPDX-License-Identifier: BSD-2-Clause
"""How long work tells that it goes on: a bar on a terminal, a line now and then elsewhere."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, TextColumn, TimeElapsedColumn
from rich.progress import Progress as ProgressBar

from .device import Progress

INTERVAL = 10.0
"""Seconds between plain lines."""


@contextmanager
def shown_progress(
    console: Console, title: str, *, expected: int, commands: int
) -> Iterator[Callable[[Progress], None]]:
    """A callback that shows how far a run of `commands` is; `expected` cycles are about its end."""
    if not console.is_terminal:
        console.print(f"{title} …", highlight=False, markup=False, soft_wrap=True)
        yield _lines(console, commands)
        return
    columns = (
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        TextColumn("{task.fields[told]}", markup=False),
        TimeElapsedColumn(),
    )
    with ProgressBar(*columns, console=console, transient=True) as bar:
        task = bar.add_task(title, total=None, told="")  # it pulses until the model is built

        def show(progress: Progress) -> None:
            total = max(expected, progress.cycles)
            told = describe(progress, commands)
            bar.update(task, completed=progress.cycles, total=total, told=told)

        yield show


def describe(progress: Progress, commands: int) -> str:
    """How far it is, in words."""
    return (
        f"{progress.cycles:,} cycles, {progress.lookups:,} lookups,"
        f" {progress.commands} of {commands} commands"
    )


def _lines(console: Console, commands: int) -> Callable[[Progress], None]:
    told = time.monotonic()

    def show(progress: Progress) -> None:
        nonlocal told
        if time.monotonic() - told >= INTERVAL:
            told = time.monotonic()
            console.print(f"… {describe(progress, commands)}", highlight=False)

    return show
