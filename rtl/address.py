# SPDX-FileCopyrightText: castbag contributors
# SPDX-License-Identifier: BSD-2-Clause
"""VectorAddress: a vector's index becomes the request for its beats."""

from amaranth.hdl import Module, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import exact_log2

from .config import EngineConfig
from .layouts import REQUEST_BITS, RequestLayout


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
        beats = Signal(self.config.address_bits - beat_bits)  # index * words
        multiplied = Signal()  # `beats` holds a product
        out_free = ~self.o.valid | self.o.ready
        m.d.comb += self.i.ready.eq(~multiplied | out_free)
        with m.If(self.i.ready):
            m.d.sync += [multiplied.eq(self.i.valid), beats.eq(self.i.payload * self.words)]
        with m.If(out_free):
            m.d.sync += [
                self.o.valid.eq(multiplied),
                self.o.payload.address.eq(self.base + (beats << beat_bits)),
                self.o.payload.beats.eq(self.words),
            ]
        return m
