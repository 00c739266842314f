# SPDX-FileCopyrightText: castbag contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Icepi Zero v1.3 (https://github.com/cheyao/icepi-zero).

LEDs 0 to 3 are heartbeat, memory tested, running, error; button 0 has memory tested again.
"""

from castbag.rtl.sdram import CHIPS

from .board import Board, Light, pins_of

BOARDS = (
    Board(
        name="icepi-zero",
        title="Icepi Zero",
        platform=pins_of("icepi_zero", "IcepiZero1_3Platform"),
        preset="ecp5-25f",
        chips=(CHIPS["W9825G6KH-6"],),
        mhz=50,
        full=True,
        clock=("clk50", 50),
        lights=(Light("led", 0), Light("led", 1), Light("led", 2), Light("led", 3)),
        button=("button", 0),
        loader="openFPGALoader -b icepi-zero {}",
    ),
)
