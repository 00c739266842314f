# SPDX-FileCopyrightText: castbag contributors
# SPDX-License-Identifier: BSD-2-Clause
"""`castbag build`: bitstreams of boards."""

import click

from ..files import Refused
from .program import example, main


@main.command(epilog=example("castbag build ulx3s"))
@click.argument("board")
def build(board: str) -> None:
    """Build the bitstream of BOARD (none can be built yet)."""
    raise Refused(f"board {board!r}: no board is built yet; `castbag emit` writes the core")
