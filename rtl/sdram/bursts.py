# SPDX-FileCopyrightText: castbag contributors
# SPDX-License-Identifier: BSD-2-Clause
"""BurstWords: a burst's words, one by one."""

from amaranth.hdl import Module, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from .chips import SdramChip
from .layouts import PAGE_WORDS, WORD_SHIFT, BurstLayout, PlaceLayout, WordLayout

OFFSET_BITS = (PAGE_WORDS - 1).bit_length()


class BurstWords(wiring.Component):
    """For every burst its words, in rising order; at most two bursts are held.

    A burst that begins behind the chip's end is marked as an error, word by word; so is one that
    leaves its 4 KiB, which AXI4 forbids and without which none can end behind the chip's end.

    Throughput: a word a cycle, a burst every other cycle.
    Latency: the first word of a burst that was taken in cycle 0 is offered in cycle 2.

    Args:
        chip: Which capacity there is.
        address_bits: Width of a byte address; may reach beyond the chip.

    Members:
        i: Stream in of bursts.
        o: Stream out of words.
    """

    i: stream.Interface
    o: stream.Interface

    def __init__(self, *, chip: SdramChip, address_bits: int):
        self.chip = chip
        self.address_bits = address_bits
        super().__init__(
            {
                "i": In(stream.Signature(BurstLayout(address_bits=address_bits))),
                "o": Out(stream.Signature(WordLayout(chip))),
            }
        )

    def elaborate(self, platform):
        m = Module()
        place_bits = PlaceLayout(self.chip).size
        held = Signal.like(self.i.payload)  # the burst behind the one whose words go
        holding = Signal()
        number = held.address[WORD_SHIFT:]
        beyond = number[place_bits:].any()
        behind = Signal(OFFSET_BITS + 1)
        m.d.comb += [
            self.i.ready.eq(~holding),
            behind.eq(number[:OFFSET_BITS] + held.length),
        ]
        with m.If(self.i.ready):
            m.d.sync += [holding.eq(self.i.valid), held.eq(self.i.payload)]

        word = self.o.payload
        place = Signal(place_bits)
        left = Signal(8)
        taking = self.o.valid & self.o.ready
        m.d.comb += word.place.as_value().eq(place)
        with m.If(~self.o.valid | (taking & word.last)):
            m.d.sync += [
                self.o.valid.eq(holding),
                place.eq(number),
                left.eq(held.length),
                word.last.eq(held.length == 0),
                word.id.eq(held.id),
                word.error.eq(beyond | behind[OFFSET_BITS]),
            ]
            with m.If(holding):
                m.d.sync += holding.eq(0)
        with m.Elif(taking):
            m.d.sync += [
                place[:OFFSET_BITS].eq(place[:OFFSET_BITS] + 1),
                left.eq(left - 1),
                word.last.eq(left == 1),
            ]
        return m
