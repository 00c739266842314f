# SPDX-FileCopyrightText: castbag contributors
# SPDX-License-Identifier: BSD-2-Clause
"""VectorFetch: lookups become the words of the vectors that they name."""

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from .address import VectorAddress
from .config import EngineConfig
from .layouts import (
    REQUEST_BITS,
    SLOT_BITS,
    RequestLayout,
    SlottedLookupLayout,
    TermLayout,
)
from .queue import Queue


class VectorFetch(wiring.Component):
    """For every lookup, in order, `words` terms: the words of vector `source`.

    A lookup that is not valid gives +0.0 and reads nothing; one marked `again` gives the last
    vector that was read, from a small RAM, and reads nothing. Up to `vector_requests` lookups
    are on their way at a time; the read port bounds the beats. Where the vectors come from is
    the read client's affair.

    Latency: 3 cycles from a lookup to its request, 2 from a beat to its term. Rate: a word a
    cycle.

    Members:
        base: Byte address of the source table; steady while lookups are held, as is `announce`.
        words: Words of a vector; steady likewise and for two cycles before.
        announce: Give the targets of segments on `closing`.
        i: Lookups.
        request: Vectors to read.
        data: Their beats.
        o: Terms.
        closing: With `announce`, each segment's target, once its last vector is requested:
            the order in which sums will be finished.
    """

    base: Signal
    words: Signal
    announce: Signal
    i: stream.Interface
    request: stream.Interface
    data: stream.Interface
    o: stream.Interface
    closing: stream.Interface

    def __init__(self, config: EngineConfig):
        self.config = config
        super().__init__(
            {
                "base": In(config.address_bits),
                "words": In(REQUEST_BITS),
                "announce": In(1),
                "i": In(stream.Signature(SlottedLookupLayout(config))),
                "request": Out(stream.Signature(RequestLayout(config))),
                "data": In(stream.Signature(config.bus_bits)),
                "o": Out(stream.Signature(TermLayout(config))),
                "closing": Out(stream.Signature(config.vector_index_bits)),
            }
        )

    def elaborate(self, platform):
        m = Module()
        config = self.config
        m.submodules.address = address = VectorAddress(config)
        under_way = data.StructLayout(
            {
                "target": config.vector_index_bits,
                "slot": SLOT_BITS,
                "read": 1,  # the words come from memory
                "again": 1,  # from the RAM
                "first": 1,
                "last": 1,
            }
        )
        m.submodules.order = order = Queue(under_way, depth=config.vector_requests)
        m.submodules.closings = closings = Queue(config.vector_index_bits, depth=4)
        wiring.connect(m, wiring.flipped(self.closing), closings.o)
        wiring.connect(m, address.o, wiring.flipped(self.request))

        # A lookup goes three ways at once: its request, its place in the order, its target.
        lookup = self.i.payload.lookup
        reads = lookup.valid & ~lookup.again
        closes = lookup.last & self.announce
        can_read = ~reads | address.i.ready
        can_close = ~closes | closings.i.ready
        m.d.comb += [
            address.base.eq(self.base),
            address.words.eq(self.words),
            address.i.payload.eq(lookup.source),
            address.i.valid.eq(self.i.valid & reads & order.i.ready & can_close),
            closings.i.payload.eq(lookup.target),
            closings.i.valid.eq(self.i.valid & closes & order.i.ready & can_read),
            order.i.payload.target.eq(lookup.target),
            order.i.payload.slot.eq(self.i.payload.slot),
            order.i.payload.read.eq(reads),
            order.i.payload.again.eq(lookup.valid & lookup.again),
            order.i.payload.first.eq(lookup.first),
            order.i.payload.last.eq(lookup.last),
            order.i.valid.eq(self.i.valid & can_read & can_close),
            self.i.ready.eq(order.i.ready & can_read & can_close),
        ]

        # Word after word of the lookup at the head of the order.
        m.submodules.oldest = oldest = Queue(under_way, depth=2)
        m.submodules.due = due = Queue(
            data.StructLayout({"lookup": under_way, "word": range(config.max_words), "end": 1}),
            depth=2,
        )
        wiring.connect(m, order.o, oldest.i)
        last_word = Signal(range(config.max_words))
        word = Signal(range(config.max_words))
        end = Signal()  # it is the last
        m.d.comb += [
            due.i.valid.eq(oldest.o.valid),
            due.i.payload.lookup.eq(oldest.o.payload),
            due.i.payload.word.eq(word),
            due.i.payload.end.eq(end),
            oldest.o.ready.eq(due.i.ready & end),
        ]
        m.d.sync += [last_word.eq(self.words - 1), end.eq(word == last_word)]
        with m.If(due.i.valid & due.i.ready):
            m.d.sync += [
                word.eq(Mux(end, 0, word + 1)),
                end.eq(Mux(end, last_word == 0, word + 1 == last_word)),
            ]

        # Out: with its data. Queues stand between, since those come from afar: what takes the terms
        # is asked neither by the order nor by the port.
        m.submodules.arrived = arrived = Queue(config.bus_bits, depth=2)
        wiring.connect(m, wiring.flipped(self.data), arrived.i)
        item, head = due.o.payload, due.o.payload.lookup
        depth = 1 << max(1, (config.max_words - 1).bit_length())
        m.submodules.memory = memory = Memory(shape=config.bus_bits, depth=depth, init=[])
        keep, replay = memory.write_port(), memory.read_port(domain="sync")
        out_free = ~self.o.valid | self.o.ready
        step = due.o.valid & out_free & (~head.read | arrived.o.valid)
        fresh = Signal(config.bus_bits, reset_less=True)  # the word, unless it is replayed
        replayed = Signal()
        m.d.comb += [
            arrived.o.ready.eq(due.o.valid & out_free & head.read),
            due.o.ready.eq(out_free & (~head.read | arrived.o.valid)),
            keep.en.eq(step & head.read),
            keep.addr.eq(item.word),
            keep.data.eq(arrived.o.payload),
            replay.en.eq(step & head.again),
            replay.addr.eq(item.word),
            self.o.payload.data.eq(Mux(replayed, replay.data, fresh)),
        ]
        with m.If(out_free):
            m.d.sync += [
                self.o.valid.eq(step),
                fresh.eq(Mux(head.read, arrived.o.payload, 0)),
                replayed.eq(head.again),
                self.o.payload.target.eq(head.target),
                self.o.payload.slot.eq(head.slot),
                self.o.payload.word.eq(item.word),
                self.o.payload.end.eq(item.end),
                self.o.payload.first.eq(head.first),
                self.o.payload.last.eq(head.last),
            ]
        return m
