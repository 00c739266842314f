# SPDX-FileCopyrightText: castbag contributors
# SPDX-License-Identifier: BSD-2-Clause
"""The boards that bitstreams are built for, by name."""

from castbag.rtl.config import ConfigError

from . import icepi_zero, icesugar_pro, ulx3s
from .board import Board

BOARDS: dict[str, Board] = {
    board.name: board for board in (*ulx3s.BOARDS, *icesugar_pro.BOARDS, *icepi_zero.BOARDS)
}


class UnknownBoard(ConfigError):  # noqa: N818
    """No board of that name; the message lists those there are."""


def board_of(name: str) -> Board:
    """The board of that name; raises UnknownBoard."""
    if name not in BOARDS:
        raise UnknownBoard(f"board {name!r} unknown: there are {', '.join(BOARDS)}")
    return BOARDS[name]
