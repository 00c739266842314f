# SPDX-FileCopyrightText: castbag contributors
# SPDX-License-Identifier: BSD-2-Clause
"""An SDR SDRAM as an AXI4 memory: controller, chips and pads.

The way of a word: its burst (`bursts`), its place in the order of reads and writes (`turns`), its
row opened and its column command sent (`scheduler`, with a `bank` each and the `upkeep` of the
chip), and if it was read its data (`returns`).
"""

from .chips import CHIPS, SdramChip, Timings
from .controller import SdramController
from .layouts import PAD_STAGES, PHASE_BITS, SdramPadsSignature
from .pads import PlainPads

__all__ = [
    "CHIPS",
    "PAD_STAGES",
    "PHASE_BITS",
    "PlainPads",
    "SdramChip",
    "SdramController",
    "SdramPadsSignature",
    "Timings",
]
