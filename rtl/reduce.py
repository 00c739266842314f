# SPDX-FileCopyrightText: castbag contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Reducer: terms are added up by segment, strictly in order, one word a cycle."""

from amaranth.hdl import Cat, Module, Mux, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from .config import EngineConfig
from .fp import Adder
from .layouts import REQUEST_BITS, SLOTS, TermLayout, VectorWordLayout
from .queue import Queue

LATENCY = 2 + Adder.LATENCY
"""Cycles from a sum to the next in the same place: accumulator read, operands, adder."""

assert LATENCY == SLOTS, "the interleaver provides for as many cycles as the loop has"

ROOM = 16
"""Finished words that are on their way through the adders, or wait to leave: as many as leave one
a cycle for as long as one comes a cycle, and what fits LUT RAM."""


class Reducer(wiring.Component):
    """For every segment its vectors' sum, `+0.0 + v0 + v1 + ...`, each addition rounded.

    In NumPy, a lane a column, in float32: `acc[slot] = (0 if first else acc[slot]) + term`;
    after the segment's last term the sum leaves, and the accumulator is free.

    Terms of different segments may come mixed, those of one in their order. A term waits
    until the sum that it adds to is back from the adders: `SLOTS` cycles after the term
    before it. A segment alone therefore runs at `min(1, words / SLOTS)` words a cycle, which
    no machine that keeps the order can beat with this adder; with `SLOTS / words` segments
    mixed, or with runs of length 1 (whose sums depend on nothing), it is one word a cycle.

    The adders never stop. A term that finishes a sum waits until there is a place for the word
    that it will become; so `o` may stop as it likes.

    Latency: `LATENCY` + 3 cycles. Resources: `lanes` adders, accumulators for one vector of
    the largest size.

    Members:
        words: Words of a vector; steady while terms are held and for a cycle before.
        i: Terms.
        o: Words of sums; a sum's words leave in order and together.
    """

    words: Signal
    i: stream.Interface
    o: stream.Interface

    def __init__(self, config: EngineConfig):
        self.config = config
        super().__init__(
            {
                "words": In(REQUEST_BITS),
                "i": In(stream.Signature(TermLayout(config))),
                "o": Out(stream.Signature(VectorWordLayout(config))),
            }
        )

    def elaborate(self, platform):
        m = Module()
        config = self.config
        m.submodules.finished = finished = Queue(VectorWordLayout(config), depth=ROOM)
        wiring.connect(m, wiring.flipped(self.o), finished.o)

        depth = 2 * SLOTS
        while depth < config.max_words:
            depth *= 2
        m.submodules.memory = memory = Memory(shape=config.bus_bits, depth=depth, init=[])
        read, write = memory.read_port(domain="sync"), memory.write_port()

        # Where a term's sum is: slots lie apart by the words of a vector, rounded up.
        apart = Signal(2)
        m.d.sync += apart.eq(Mux(self.words == 1, 0, Mux(self.words < SLOTS // 2, 2, 3)))

        kept = {"place": range(depth), "target": config.vector_index_bits, "end": 1, "last": 1}
        tag = data.StructLayout(kept | {"valid": 1})
        # What gives the terms does not hear whether a sum has to wait.
        m.submodules.terms = terms = Queue(
            data.StructLayout(kept | {"first": 1, "data": config.bus_bits}), depth=2
        )
        given, term = self.i.payload, terms.o.payload
        m.d.comb += [
            terms.i.valid.eq(self.i.valid),
            self.i.ready.eq(terms.i.ready),
            terms.i.payload.place.eq(given.word | given.slot << apart),
            *(
                terms.i.payload[name].eq(given[name])
                for name in ("target", "end", "last", "first", "data")
            ),
        ]
        # A term is held until the sum that it adds to is back from the adders, and there is room.
        # Then it moves on, a stage a cycle: stages[k] was taken k + 1 cycles ago.
        held, held_first = Signal(tag), Signal()
        held_data = Signal(config.bus_bits, reset_less=True)
        stages = [Signal(tag, name=f"stage_{age}") for age in range(1, LATENCY + 1)]
        result = stages[-1]
        taking = Signal()
        # Which stage holds that sum is found out as the term comes, and followed from then on.
        awaited = Signal(LATENCY)
        blocked = Signal()  # it is one before the last
        room = self._room(m, finished, taking & held.last)
        m.d.comb += [
            taking.eq(held.valid & ~blocked & (room | ~held.last)),
            terms.o.ready.eq(~held.valid | taking),
            read.en.eq(1),
            read.addr.eq(held.place),
        ]
        with m.If(terms.o.ready):
            m.d.sync += [
                held.place.eq(term.place),
                held.target.eq(term.target),
                held.end.eq(term.end),
                held.last.eq(term.last),
                held.valid.eq(terms.o.valid),
                held_data.eq(term.data),
                held_first.eq(term.first),
            ]
        found = Cat(stage.valid & (stage.place == term.place) & ~term.first for stage in stages)
        follows = taking & (held.place == term.place) & ~term.first
        following = Mux(terms.o.ready, found, awaited)
        m.d.sync += [
            awaited.eq(Cat(follows, following)),
            # As `awaited[:-1].any()` will be, worked out beside it and not after it.
            blocked.eq(follows | following[:-2].any()),
        ]

        added = Signal(config.bus_bits)  # the sums
        newest = Signal(config.bus_bits, reset_less=True)  # the sums of the cycle before
        closes = Signal()  # the result is a finished sum's word
        bypass = Signal()  # that is where the sum is: it was not in the RAM yet
        addend, addend_first = Signal(config.bus_bits, reset_less=True), Signal()
        left, right = (Signal(config.bus_bits, reset_less=True) for _ in range(2))
        m.d.sync += [
            stages[0].eq(held),
            stages[0].valid.eq(taking),
            closes.eq(stages[-2].valid & stages[-2].last),
            bypass.eq(awaited[-1]),
            newest.eq(added),
            addend.eq(held_data),
            addend_first.eq(held_first),
            left.eq(Mux(addend_first, 0, Mux(bypass, newest, read.data))),
            right.eq(addend),
            *(older.eq(younger) for older, younger in zip(stages[1:], stages[:-1], strict=True)),
        ]
        for lane in range(config.lanes):
            m.submodules[f"adder_{lane}"] = adder = Adder()
            columns = slice(32 * lane, 32 * lane + 32)
            m.d.comb += [
                adder.en.eq(1),
                adder.a.eq(left[columns]),
                adder.b.eq(right[columns]),
                added[columns].eq(adder.o),
            ]
        m.d.comb += [
            write.en.eq(result.valid & ~result.last),
            write.addr.eq(result.place),
            write.data.eq(added),
            finished.i.valid.eq(closes),
            finished.i.payload.data.eq(added),
            finished.i.payload.target.eq(result.target),
            finished.i.payload.end.eq(result.end),
        ]
        return m

    def _room(self, m: Module, finished: Queue, closing: Value) -> Signal:
        """Whether one more word may be finished; late by a cycle, so it tells of one too few."""
        places = Signal(range(ROOM + 1), init=ROOM)
        room = Signal(init=1)
        left = Signal()  # a word, in the cycle before: whether it does is known late
        m.d.sync += [
            left.eq(finished.o.valid & finished.o.ready),
            places.eq(places + left - closing),
            room.eq(places > 1),
        ]
        return room
