# SPDX-FileCopyrightText: castbag contributors
# SPDX-License-Identifier: BSD-2-Clause
"""What a host sees of a board: its address space, and the registers around the engine's.

Declared here, once, as `control/map.py` declares the engine's. Plain data: no Amaranth here.
"""

from enum import IntEnum

from ..control.map import Register

ENGINE_BASE = 0x0000_0000
"""Byte address of the engine's registers."""

BOARD_BASE = 0x0001_0000
"""Byte address of the registers below."""

MEMORY_BASE = 0x4000_0000
"""Byte address of memory's first byte, which is the engine's address 0; what follows is memory."""

IDENTITY = 0x43425244
"""The word "CBRD"."""

VERSION = 0x0001_0000
"""Major and minor version of this map, 16 bits each."""

NAME_BYTES = 16
"""Longest name of a board or preset, in ASCII; zeros follow."""

TOOLS_BYTES = 64
"""Longest list of tools and versions, in ASCII; zeros follow."""

BUILD_BYTES = 16
"""Of the hash of what the bitstream was made from."""


class Test(IntEnum):
    """Bits of TEST: the test of memory."""

    RUNNING = 1  # it runs; memory is not to be used
    PASSED = 2  # the last one found nothing
    FAILED = 4  # it found the word of TEST_ADDRESS wrong


def _text(name: str, offset: int, size: int, meaning: str) -> list[Register]:
    """Registers `NAME_0`, ... of a text or number of `size` bytes, first byte lowest."""
    return [
        Register(f"{name}_{word}", offset + 4 * word, "ro", f"{meaning}, bytes {4 * word} on")
        for word in range(size // 4)
    ]


REGISTERS = (
    Register("IDENTITY", 0x00, "ro", 'The word "CBRD", 0x43425244'),
    Register("VERSION", 0x04, "ro", "Version of this map: major << 16 | minor"),
    Register("SCRATCH", 0x08, "rw", "Means nothing: for a host to try the link"),
    Register("CLOCK", 0x0C, "ro", "Hertz of the engine's clock"),
    Register("MEMORY_BYTES", 0x10, "ro", "Bytes of memory"),
    Register("RESET", 0x14, "w1c", "A write of 1 resets all but the link; memory is tested anew"),
    Register(
        "TEST",
        0x18,
        "w1c",
        "A Test; a write of 1 starts one, unless the engine is busy; memory's contents are lost",
    ),
    Register(
        "TEST_BYTES",
        0x1C,
        "rw",
        "How much is tested, a multiple of 4096; 0, or more than there is: all",
    ),
    Register("TEST_ADDRESS", 0x20, "ro", "Byte address of the first word that was wrong"),
    Register("TEST_EXPECTED", 0x24, "ro", "What was written there", wide=True),
    Register("TEST_READ", 0x2C, "ro", "What was read", wide=True),
    Register(
        "PHASE",
        0x34,
        "ro",
        "Capture phase of read data, in half clocks; bits 8 to 11 and 16 to 19: the least and the"
        " most that the last test found right; bit 31: none was",
    ),
    *_text("BOARD", 0x40, NAME_BYTES, "The board's name"),
    *_text("PRESET", 0x50, NAME_BYTES, "The engine's preset"),
    *_text("BUILD", 0x60, BUILD_BYTES, "Hash of what the bitstream was made from"),
    *_text("TOOLS", 0x80, TOOLS_BYTES, "Tools that made it, and their versions"),
)

REGISTER_SPACE = 0x100
"""Bytes of the register window; a read of an unused offset gives 0."""


def register(name: str) -> Register:
    """The register of that name."""
    return next(entry for entry in REGISTERS if entry.name == name)
