# SPDX-FileCopyrightText: castbag contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Queue: the one buffer that stands between two streams."""

from amaranth.hdl import Module, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

LUT_RAM_DEPTH = 32
"""Up to here a queue lies in LUT RAM, read in the cycle; deeper ones in block RAM."""


class Queue(wiring.Component):
    """Every item that enters leaves, once and in order; at most `depth` are held.

    One item a cycle in and out at once, full or empty ends excepted. An item that enters an
    empty queue can leave `latency` cycles later: 1 in LUT RAM; 3 in block RAM, whose read
    register is followed by one of flip-flops, because block RAM is slow to its outputs.
    What is read from an address in the cycle that writes it is not used, so the RAM needs no
    bypass.

    Args:
        shape: Of the payload.
        depth: Capacity, a power of two of at least 2.

    Members:
        i: Stream in.
        o: Stream out.
        level: Items held.

    Attributes:
        memory, write, read: The RAM and its ports.
        entered, fetched: Items so far that were written to it, and read from it, modulo twice the
            depth: so they are places and counts at once.
        waiting: The block RAM's own register holds an item.
    """

    def __init__(self, shape, *, depth: int):
        if depth < 2 or depth & (depth - 1):
            raise ValueError(f"depth = {depth}: must be a power of two of at least 2")
        self.shape = shape
        self.depth = depth
        self.latency = 1 if depth <= LUT_RAM_DEPTH else 3
        super().__init__(
            {
                "i": In(stream.Signature(shape)),
                "o": Out(stream.Signature(shape)),
                "level": Out(range(depth + 1)),
            }
        )
        self.memory = Memory(shape=shape, depth=depth, init=[])
        self.write = self.memory.write_port()
        self.read = self.memory.read_port(domain="comb" if depth <= LUT_RAM_DEPTH else "sync")
        self.entered = Signal(range(2 * depth))
        self.fetched = Signal.like(self.entered)
        self.waiting = Signal()

    i: stream.Interface
    o: stream.Interface
    level: Signal

    def elaborate(self, platform):
        m = Module()
        m.submodules.memory = self.memory
        write, read = self.write, self.read
        entered, fetched = self.entered, self.fetched
        left = Signal.like(entered)
        entering = self.i.valid & self.i.ready
        leaving = self.o.valid & self.o.ready
        stored = entered != fetched
        fetching = Signal()
        m.d.comb += [
            self.level.eq((entered - left)[: len(entered)]),
            self.i.ready.eq(entered != left ^ self.depth),  # they differ by less than the depth
            write.en.eq(entering),
            write.addr.eq(entered),
            write.data.eq(self.i.payload),
        ]
        with m.If(entering):
            m.d.sync += entered.eq(entered + 1)
        with m.If(fetching):
            m.d.sync += fetched.eq(fetched + 1)

        if self.depth <= LUT_RAM_DEPTH:
            m.d.comb += [
                left.eq(fetched),
                self.o.valid.eq(stored),
                self.o.payload.eq(read.data),
                fetching.eq(leaving),
            ]
        else:
            waiting = self.waiting
            head_free = ~self.o.valid | self.o.ready
            m.d.comb += [
                read.en.eq(~waiting | head_free),
                fetching.eq(stored & read.en),
            ]
            with m.If(leaving):
                m.d.sync += left.eq(left + 1)
            with m.If(head_free):
                m.d.sync += [self.o.valid.eq(waiting), self.o.payload.eq(read.data)]
            with m.If(fetching):
                m.d.sync += waiting.eq(1)
            with m.Elif(head_free):
                m.d.sync += waiting.eq(0)
        m.d.comb += read.addr.eq(fetched)
        return m
