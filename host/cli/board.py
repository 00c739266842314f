# SPDX-FileCopyrightText: castbag contributors
# SPDX-License-Identifier: BSD-2-Clause
"""`castbag build`: bitstreams of boards."""

import click

from .program import FILE, WRONG, example, fail, main


@main.command(
    epilog=example(
        "castbag build ulx3s",
        "castbag build icesugar-pro --clock 50 --seeds 1",
    )
)
@click.argument("board")
@click.option("--seeds", type=click.IntRange(1, 100), default=1, help="Placements; each must meet.")
@click.option("--clock", type=click.Choice(["50", "100"]), help="MHz; default: the board's own.")
@click.option("--folder", type=FILE, help="Takes all files; default: build/boards/BOARD-CLOCK.")
def build(board: str, seeds: int, clock: str | None, folder) -> int:
    """Build the bitstream of BOARD by open tools.

    Writes the bitstream and report.json: use and timing. Fails if any clock is missed.

    Exit status: 0 built, and every placement meets its clocks; 1 one does not; 2 bad input; 3 a
    tool is missing.
    """
    # Late: they load all of the RTL.
    from castbag.boards.build import TimingMissed, build_command
    from castbag.boards.tools import ToolFailed

    try:
        build_command(board, seeds=seeds, clock=int(clock) if clock else None, folder=folder)
    except (TimingMissed, ToolFailed) as error:
        return fail(str(error), WRONG)
    return 0
