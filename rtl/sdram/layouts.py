# SPDX-FileCopyrightText: castbag contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Payloads and buses of the SDRAM controller: each declared once, a line a field."""

from amaranth.lib import data
from amaranth.lib.wiring import In, Out, Signature

from .chips import BURST, SdramChip

DATA_BITS = 64
"""Width of the port: an access."""

WORD_SHIFT = 3
"""A word's number is its byte address without that many bits."""

PAGE_WORDS = 512
"""Words of 4 KiB, which no burst of AXI4 leaves."""

PAD_STAGES = 1
"""Flip-flops that the pads put behind every output, and before what they have sampled."""

PHASE_BITS = 4


def column_words_bits(chip: SdramChip) -> int:
    """Width of a word's place in its page."""
    return chip.column_bits - (BURST - 1).bit_length()


class BurstLayout(data.StructLayout):
    """A burst as its address channel gave it."""

    def __init__(self, *, address_bits: int):
        super().__init__(
            {
                "address": address_bits,  # of its first byte
                "length": 8,  # words less one
                "id": 1,
            }
        )


class PlaceLayout(data.StructLayout):
    """Where a word lies. The order of the fields is the address map, the lowest bits first.

    Successive words lie in one page, so that a row of a table takes one activate; successive pages
    lie in different banks, so that the next one can be opened while this one's data go.
    """

    def __init__(self, chip: SdramChip):
        super().__init__({"column": column_words_bits(chip), "bank": 2, "row": chip.row_bits})


class WordLayout(data.StructLayout):
    """A word to read or to write, of a burst."""

    def __init__(self, chip: SdramChip):
        super().__init__(
            {
                "place": PlaceLayout(chip),
                "last": 1,  # of its burst
                "id": 1,  # of its burst
                "error": 1,  # its burst lies not in the chip: it takes its turn, and nothing more
            }
        )


class AccessLayout(data.StructLayout):
    """A word in the order in which the chip sees them."""

    def __init__(self, chip: SdramChip):
        super().__init__({"place": PlaceLayout(chip), "error": 1, "write": 1})


class ColumnLayout(data.StructLayout):
    """What of an access its column command needs."""

    def __init__(self, chip: SdramChip):
        super().__init__(
            {"column": column_words_bits(chip), "bank": 2, "error": 1, "write": 1},
        )


class TagLayout(data.StructLayout):
    """What R says beside a word's data."""

    def __init__(self):
        super().__init__({"last": 1, "id": 1, "error": 1})


class BeatLayout(data.StructLayout):
    """A word to write."""

    def __init__(self):
        super().__init__({"data": DATA_BITS, "strobe": DATA_BITS // 8})


class SdramPadsSignature(Signature):
    """From the controller to the pads of one chip; what is active is 1.

    The pads put PAD_STAGES flip-flops behind each output, clocked by the rising edge. They sample
    dq at each rising edge and at each falling one, and present both behind PAD_STAGES further
    rising edges: in the cycle that begins with rising edge n + 1, `dq_i_rise` is what dq was at
    rising edge n, `dq_i_fall` what it was at the falling edge between the two. The chip's clock is
    the inverse of the controller's, or near it.

    Members:
        cke, cs, ras, cas, we: Command; inactive `cs` is none.
        ba, a: Bank and address.
        dqm: Byte masks; 1 is not written.
        dq_o, dq_oe: Data to the chip, and whether they are driven.
        dq_i_rise, dq_i_fall: Data from the chip.
    """

    def __init__(self, chip: SdramChip):
        super().__init__(
            {
                "cke": Out(1),
                "cs": Out(1),
                "ras": Out(1),
                "cas": Out(1),
                "we": Out(1),
                "ba": Out(2),
                "a": Out(chip.row_bits),
                "dqm": Out(chip.data_bits // 8),
                "dq_o": Out(chip.data_bits),
                "dq_oe": Out(1),
                "dq_i_rise": In(chip.data_bits),
                "dq_i_fall": In(chip.data_bits),
            }
        )
