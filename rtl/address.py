# SPDX-FileCopyrightText: castbag contributors
# SPDX-License-Identifier: BSD-2-Clause
"""VectorAddress: a vector's index becomes the request for its beats."""

from amaranth.hdl import Module, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import exact_log2

from .config import EngineConfig
from .layouts import REQUEST_BITS, RequestLayout

FACTOR_BITS = 18
"""What a multiplier block of the ECP5 takes; a wider product is of two, added a cycle later."""


class VectorAddress(wiring.Component):
    """For every index, in order, the request `base + index * words * bus_bytes`, `words` beats.

    Rate: one a cycle. Latency: 2 cycles. The table must lie inside the address space, which
    is checked once a command (`Extents`), not here.

    Members:
        base: Byte address of the table, on a beat; steady while indices are held.
        words: Words of a vector; steady likewise.
        i: Indices.
        o: Requests.
    """

    base: Signal
    words: Signal
    i: stream.Interface
    o: stream.Interface

    def __init__(self, config: EngineConfig):
        self.config = config
        super().__init__(
            {
                "base": In(config.address_bits),
                "words": In(REQUEST_BITS),
                "i": In(stream.Signature(config.vector_index_bits)),
                "o": Out(stream.Signature(RequestLayout(config))),
            }
        )

    def elaborate(self, platform):
        m = Module()
        beat_bits = exact_log2(self.config.bus_bytes)
        index = self.i.payload
        # Beats in front of the vector, in two parts.
        low = Signal(FACTOR_BITS + REQUEST_BITS)
        high = Signal(max(0, len(index) - FACTOR_BITS) + REQUEST_BITS)
        multiplied = Signal()  # they hold an index's products
        out_free = ~self.o.valid | self.o.ready
        m.d.comb += self.i.ready.eq(~multiplied | out_free)
        with m.If(self.i.ready):
            m.d.sync += [
                multiplied.eq(self.i.valid),
                low.eq(index[:FACTOR_BITS] * self.words),
                high.eq(index[FACTOR_BITS:] * self.words),
            ]
        beats = low + (high << FACTOR_BITS)
        with m.If(out_free):
            m.d.sync += [
                self.o.valid.eq(multiplied),
                self.o.payload.address.eq(self.base + (beats << beat_bits)),
                self.o.payload.beats.eq(self.words),
            ]
        return m
