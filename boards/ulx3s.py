# SPDX-FileCopyrightText: castbag contributors
# SPDX-License-Identifier: BSD-2-Clause
"""ULX3S, with each of the four FPGAs that it is sold with (https://github.com/emard/ulx3s).

LEDs 0 to 3 are heartbeat, memory tested, running, error; FIRE 1 has memory tested again.
"""

from castbag.rtl.sdram import CHIPS

from .board import Board, Light, pins_of

SDRAMS = ("W9825G6KH-6", "IS42S16160G-7", "MT48LC16M16A2-7E", "AS4C32M16SB-7")
"""32 MB; the last has 64, of which half is used."""


def _ulx3s(size: str, name: str, *, preset: str, mhz: int, full: bool = False) -> Board:
    return Board(
        name=name,
        title=f"ULX3S {size}",
        platform=pins_of("ulx3s", f"ULX3S_{size}_Platform"),
        preset=preset,
        chips=tuple(CHIPS[chip] for chip in SDRAMS),
        mhz=mhz,
        full=full,
        clock=("clk25", 25),
        lights=(Light("led", 0), Light("led", 1), Light("led", 2), Light("led", 3)),
        button=("button_fire", 0),
        loader="openFPGALoader -b ulx3s {}",
    )


BOARDS = (
    _ulx3s("85F", "ulx3s", preset="ulx3s", mhz=100),
    _ulx3s("45F", "ulx3s-45f", preset="ulx3s", mhz=100),
    _ulx3s("25F", "ulx3s-25f", preset="ecp5-25f", mhz=50, full=True),
    # The 25F's die, under another name.
    _ulx3s("12F", "ulx3s-12f", preset="ecp5-25f", mhz=50, full=True),
)
