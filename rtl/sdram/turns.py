# SPDX-FileCopyrightText: castbag contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Turns: one order out of the words to read and the words to write."""

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from .chips import SdramChip
from .layouts import AccessLayout, WordLayout

BATCH = 16
"""Words after which the other direction has its turn, if it waits."""

PATIENCE = 15
"""Cycles that a burst may stand still in its middle while the other direction waits."""


class Turns(wiring.Component):
    """Every word of either stream, in an order that keeps each stream's own.

    The direction changes where a burst ends: once BATCH words went one way, or as soon as there is
    nothing more that can go that way. So the data bus turns seldom, and neither way waits for more
    than a batch and a burst. A burst that cannot go on, since its data are not there or its answers
    have no room, gives way after PATIENCE cycles and goes on later: a manager that writes what it
    reads may have to be read from before it can give the rest.

    Throughput: an access every other cycle. Latency: a cycle.

    Members:
        reads, writes: Streams in of words.
        read_may: There is room for a word read.
        write_may: There is a beat for the word to write.
        write_may_begin: There are beats enough to begin a burst.
        answer_may: There is room for a burst's answer.
        took_read, took_write: Pulses: a word was taken; all of the above must be right anew in the
            cycle after the next.
        o: Stream out.
    """

    reads: stream.Interface
    writes: stream.Interface
    read_may: Signal
    write_may: Signal
    write_may_begin: Signal
    answer_may: Signal
    took_read: Signal
    took_write: Signal
    o: stream.Interface

    def __init__(self, *, chip: SdramChip):
        super().__init__(
            {
                "reads": In(stream.Signature(WordLayout(chip))),
                "writes": In(stream.Signature(WordLayout(chip))),
                "read_may": In(1),
                "write_may": In(1),
                "write_may_begin": In(1),
                "answer_may": In(1),
                "took_read": Out(1),
                "took_write": Out(1),
                "o": Out(stream.Signature(AccessLayout(chip))),
            }
        )

    def elaborate(self, platform):
        m = Module()
        writing = Signal()  # the direction
        read_begun, write_begun = Signal(), Signal()  # in the middle of a burst
        done = Signal(range(BATCH + 1))  # words since the direction changed
        standing = Signal(range(PATIENCE + 1))
        reads, writes, word = self.reads, self.writes, self.o.payload

        read_can, write_can = Signal(), Signal()
        m.d.comb += [
            read_can.eq(reads.valid & self.read_may),
            write_can.eq(
                writes.valid
                & self.write_may
                & (write_begun | self.write_may_begin)
                & (self.answer_may | ~writes.payload.last)
            ),
        ]
        own = Mux(writing, write_can, read_can)
        other = Mux(writing, read_can, write_can)
        begun = Mux(writing, write_begun, read_begun)
        turn = Signal()
        free = Signal()
        m.d.comb += [
            free.eq(~self.o.valid),
            turn.eq(
                other
                & ((~begun & (~own | (done == BATCH))) | (begun & ~own & (standing == PATIENCE)))
            ),
            self.took_read.eq(free & ~writing & read_can & ~turn),
            self.took_write.eq(free & writing & write_can & ~turn),
            reads.ready.eq(self.took_read),
            writes.ready.eq(self.took_write),
        ]
        taking = self.took_read | self.took_write

        with m.If(free):
            m.d.sync += [
                self.o.valid.eq(taking),
                word.place.eq(Mux(writing, writes.payload.place, reads.payload.place)),
                word.error.eq(Mux(writing, writes.payload.error, reads.payload.error)),
                word.write.eq(writing),
            ]
            with m.If(turn):
                m.d.sync += [writing.eq(~writing), done.eq(0)]
            with m.Elif(taking & (done != BATCH)):
                m.d.sync += done.eq(done + 1)
            with m.If(taking | turn):
                m.d.sync += standing.eq(0)
            with m.Elif(standing != PATIENCE):
                m.d.sync += standing.eq(standing + 1)
        with m.Elif(self.o.ready):
            m.d.sync += self.o.valid.eq(0)
        with m.If(self.took_read):
            m.d.sync += read_begun.eq(~reads.payload.last)
        with m.If(self.took_write):
            m.d.sync += write_begun.eq(~writes.payload.last)
        return m
