# SPDX-FileCopyrightText: castbag contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Reducer: terms are added up by segment, strictly in order, one word a cycle."""

from amaranth.hdl import Cat, Module, Mux, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from .config import EngineConfig
from .fp import Adder
from .layouts import REQUEST_BITS, SLOTS, TermLayout, VectorWordLayout
from .queue import Queue

LATENCY = 2 + Adder.LATENCY
"""Cycles from a term to its sum: accumulator read, operands, adder."""

assert LATENCY == SLOTS, "the interleaver provides for as many cycles as the loop has"


class Reducer(wiring.Component):
    """For every segment its vectors' sum, `+0.0 + v0 + v1 + ...`, each addition rounded.

    In NumPy, a lane a column, in float32: `acc[slot] = (0 if first else acc[slot]) + term`;
    after the segment's last term the sum leaves, and the accumulator is free.

    Terms of different segments may come mixed, those of one in their order. A term waits
    until the sum that it adds to is back from the adders: `SLOTS` cycles after the term
    before it. A segment alone therefore runs at `min(1, words / SLOTS)` words a cycle, which
    no machine that keeps the order can beat with this adder; with `SLOTS / words` segments
    mixed, or with runs of length 1 (whose sums depend on nothing), it is one word a cycle.

    Latency: `LATENCY` + 1 cycles. Resources: `lanes` adders, accumulators for one vector of
    the largest size.

    Members:
        words: Words of a vector; steady while terms are held.
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
        m.submodules.finished = finished = Queue(VectorWordLayout(config), depth=4)
        wiring.connect(m, wiring.flipped(self.o), finished.o)

        depth = 2 * SLOTS
        while depth < config.max_words:
            depth *= 2
        m.submodules.memory = memory = Memory(shape=config.bus_bits, depth=depth, init=[])
        read, write = memory.read_port(domain="sync"), memory.write_port()

        # Where a term's sum is: slots lie apart by the words of a vector, rounded up.
        term = self.i.payload
        place = Signal(range(depth))
        with m.If(self.words == 1):
            m.d.comb += place.eq(term.slot)
        with m.Elif(self.words < SLOTS // 2):
            m.d.comb += place.eq(term.word | term.slot << 2)
        with m.Else():
            m.d.comb += place.eq(term.word | term.slot << 3)

        tag = data.StructLayout(
            {
                "place": range(depth),
                "target": config.vector_index_bits,
                "end": 1,
                "last": 1,
                "valid": 1,
            }
        )
        # stages[k] goes with the term that was taken k cycles ago.
        stages = [Signal(tag, name=f"stage_{age}") for age in range(1, LATENCY + 1)]
        result = stages[-1]
        enable = Signal()  # everything moves, or nothing does
        m.d.comb += enable.eq(~(result.valid & result.last) | finished.i.ready)

        waits = Signal()  # its sum is still in the adders
        m.d.comb += waits.eq(
            ~term.first & Cat(s.valid & (s.place == place) for s in stages[:-1]).any()
        )
        taking = self.i.valid & self.i.ready
        m.d.comb += [
            self.i.ready.eq(enable & ~waits),
            read.en.eq(enable),
            read.addr.eq(place),
        ]
        added = Signal(config.bus_bits)  # the sums
        newest = Signal(config.bus_bits)  # the sums of the cycle before
        # A sum that came back in the very cycle of the read is not in the RAM yet.
        bypass = Signal()
        addend, addend_first = Signal(config.bus_bits), Signal()
        left, right = Signal(config.bus_bits), Signal(config.bus_bits)
        with m.If(enable):
            m.d.sync += [
                stages[0].place.eq(place),
                stages[0].target.eq(term.target),
                stages[0].end.eq(term.end),
                stages[0].last.eq(term.last),
                stages[0].valid.eq(taking),
                bypass.eq(result.valid & (result.place == place)),
                newest.eq(added),
                addend.eq(term.data),
                addend_first.eq(term.first),
                left.eq(Mux(addend_first, 0, Mux(bypass, newest, read.data))),
                right.eq(addend),
            ]
            for older, younger in zip(stages[1:], stages[:-1], strict=True):
                m.d.sync += older.eq(younger)
        for lane in range(config.lanes):
            m.submodules[f"adder_{lane}"] = adder = Adder()
            columns = slice(32 * lane, 32 * lane + 32)
            m.d.comb += [
                adder.en.eq(enable),
                adder.a.eq(left[columns]),
                adder.b.eq(right[columns]),
                added[columns].eq(adder.o),
            ]
        m.d.comb += [
            write.en.eq(enable & result.valid & ~result.last),
            write.addr.eq(result.place),
            write.data.eq(added),
            finished.i.valid.eq(result.valid & result.last),
            finished.i.payload.data.eq(added),
            finished.i.payload.target.eq(result.target),
            finished.i.payload.end.eq(result.end),
        ]
        return m
