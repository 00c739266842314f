# SPDX-FileCopyrightText: castbag contributors
# SPDX-License-Identifier: BSD-2-Clause
"""VectorAddress: a vector's index becomes the request for its beats."""

from amaranth.hdl import Module, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import exact_log2

from .config import EngineConfig
from .layouts import REQUEST_BITS, RequestLayout
from .queue import Queue

FACTOR_BITS = 18
"""What a multiplier block of the ECP5 takes; a wider product is of two, added a cycle later."""


class VectorAddress(wiring.Component):
    """For every index, in order, the request `base + index * words * bus_bytes`, `words` beats.

    Rate: one a cycle. Latency: 3 cycles. The table must lie inside the address space, which
    is checked once a command (`Extents`), not here.

    Members:
        base: Byte address of the table, on a beat; steady while indices are held.
        words: Words of a vector; steady likewise, and for a cycle before.
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
        # Multipliers lie at few places of the device: between them and the rest is a register.
        taken, factor = Signal(), Signal(len(index), reset_less=True)
        words = Signal.like(self.words, reset_less=True)
        m.d.sync += words.eq(self.words)
        # Beats in front of the vector, in two parts.
        low = Signal(FACTOR_BITS + REQUEST_BITS, reset_less=True)
        high = Signal(max(0, len(index) - FACTOR_BITS) + REQUEST_BITS, reset_less=True)
        multiplied = Signal()  # they hold an index's products
        m.submodules.requests = requests = Queue(RequestLayout(self.config), depth=2)
        wiring.connect(m, requests.o, wiring.flipped(self.o))
        going = ~multiplied | requests.i.ready
        m.d.comb += self.i.ready.eq(~taken | going)
        with m.If(self.i.ready):
            m.d.sync += [taken.eq(self.i.valid), factor.eq(index)]
        with m.If(going):
            m.d.sync += [
                multiplied.eq(taken),
                low.eq(factor[:FACTOR_BITS] * words),
                high.eq(factor[FACTOR_BITS:] * words),
            ]
        beats = low + (high << FACTOR_BITS)
        m.d.comb += [
            requests.i.valid.eq(multiplied),
            requests.i.payload.address.eq(self.base + (beats << beat_bits)),
            requests.i.payload.beats.eq(words),
        ]
        return m
