# SPDX-FileCopyrightText: castbag contributors
# SPDX-License-Identifier: BSD-2-Clause
"""iCESugar-pro (https://github.com/wuxx/icesugar-pro).

Its lamp is green while memory is tested right, blue while the engine runs, red on an error. The
lamp is lit by 0, which amaranth-boards does not say (LiteX-Boards does). No button: a host has
memory tested.
"""

from castbag.rtl.sdram import CHIPS, SdramChip

from .board import Board, Light, pins_of

IS42S16160B = SdramChip(
    name="IS42S16160B-7",
    # Its clocks and access times; the others, where it was not at hand, as the slowest of CHIPS.
    source="ISSI, IS42S16160B 256-Mbit synchronous DRAM, rev. D",
    row_bits=13,
    column_bits=9,
    cl2_mhz=100,
    cl3_mhz=143,
    rcd=21,
    rp=21,
    ras=45,
    rc=67.5,
    rrd=15,
    rfc=70,
    wr=15,
    mrd=15,
    ac2=6.5,
    ac3=5.4,
    oh=2.5,
    power_up_us=200,
)

BOARDS = (
    Board(
        name="icesugar-pro",
        title="iCESugar-pro",
        platform=pins_of("icesugar_pro", "ICESugarProPlatform"),
        preset="ecp5-25f",
        chips=(IS42S16160B, CHIPS["IS42S16160G-7"], CHIPS["W9825G6KH-6"]),
        mhz=50,
        full=True,
        clock=("clk25", 25),
        lights=(
            None,
            Light("rgb_led", 0, "g", low=True),
            Light("rgb_led", 0, "b", low=True),
            Light("rgb_led", 0, "r", low=True),
        ),
        baud=115_200,  # its USB bridge is a microcontroller's
        loader="icesprog {}",
    ),
)
