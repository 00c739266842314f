# SPDX-FileCopyrightText: castbag contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Queue: the one buffer that stands between two streams."""

from amaranth.hdl import Module, Mux, Signal, Value
from amaranth.lib import stream, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

LUT_RAM_DEPTH = 32
"""Up to here a queue lies in LUT RAM, read in the cycle; deeper ones in block RAM."""


class Queue(wiring.Component):
    """Every item that enters leaves, once and in order; at most `depth` are held.

    One item a cycle in and out at once, full or empty ends excepted. An item that enters an
    empty queue can leave `latency` cycles later: 1 in flip-flops, where a queue of two lies, and
    in LUT RAM; 3 in block RAM, whose read register is followed by one of flip-flops, because
    block RAM is slow to its outputs.

    Both handshakes come straight from flip-flops, whatever the depth: a queue ends the paths
    through the streams on its two sides, there and back.

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
        full: No item can enter.
        head: What is offered, but for LUT RAM. Like all that a valid bit goes with, in this queue
            and elsewhere, it has no reset: a reset that goes to fewer flip-flops is faster.
        spare: Of a queue of two: its second item, while `full`.
        memory, write, read: Of any other: the RAM and its ports.
        entered, fetched: Items so far that were written to it, and read from it, modulo twice the
            depth: so they are places and counts at once.
        next_entered, next_fetched: The same, and one more.
        stored: The RAM holds an item that has not been read.
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
        self.full = Signal()
        self.head = Signal(shape, reset_less=True)
        if depth == 2:
            self.spare = Signal(shape, reset_less=True)
            return
        style = "distributed" if depth <= LUT_RAM_DEPTH else "block"
        self.memory = Memory(shape=shape, depth=depth, init=[], attrs={"ram_style": style})
        self.write = self.memory.write_port()
        self.read = self.memory.read_port(domain="comb" if depth <= LUT_RAM_DEPTH else "sync")
        self.entered = Signal(range(2 * depth))
        self.fetched = Signal.like(self.entered)
        self.next_entered = Signal.like(self.entered, init=1)
        self.next_fetched = Signal.like(self.entered, init=1)
        self.stored = Signal()
        self.waiting = Signal()

    i: stream.Interface
    o: stream.Interface
    level: Signal

    def elaborate(self, platform):
        m = Module()
        ready = Signal(init=1)  # not `full`, of which much hangs besides
        m.d.comb += self.i.ready.eq(ready)
        full = self._in_registers(m) if self.depth == 2 else self._in_ram(m)
        m.d.sync += [self.full.eq(full), ready.eq(~full)]
        return m

    def _in_registers(self, m: Module) -> Value:
        """What is offered is the first register; what comes while it must stay, the second.

        Gives whether the queue will be full, as `_in_ram` does.
        """
        stays = self.o.valid & ~self.o.ready
        m.d.comb += [self.level.eq(self.o.valid + self.full), self.o.payload.eq(self.head)]
        with m.If(~self.full):
            m.d.sync += self.spare.eq(self.i.payload)
        with m.If(~stays):
            m.d.sync += [
                self.o.valid.eq(self.full | self.i.valid),
                self.head.eq(Mux(self.full, self.spare, self.i.payload)),
            ]
        return stays & (self.full | self.i.valid)

    def _in_ram(self, m: Module) -> Value:
        m.submodules.memory = self.memory
        write, read = self.write, self.read
        entered, fetched = self.entered, self.fetched
        left = Signal.like(entered)
        entering = self.i.valid & self.i.ready
        leaving = self.o.valid & self.o.ready
        fetching = Signal()
        # Compared before the handshakes are known: one place is left, one item is.
        nearly_full = self.next_entered == left ^ self.depth
        nearly_empty = entered == self.next_fetched
        m.d.comb += [
            self.level.eq((entered - left)[: len(entered)]),
            write.en.eq(entering),
            write.addr.eq(entered),
            write.data.eq(self.i.payload),
            read.addr.eq(fetched),
        ]
        m.d.sync += self.stored.eq(entering | self.stored & ~(nearly_empty & fetching))
        full = ~leaving & (self.full | nearly_full & entering)
        for moving, place, following in (
            (entering, entered, self.next_entered),
            (fetching, fetched, self.next_fetched),
        ):
            with m.If(moving):
                m.d.sync += [place.eq(following), following.eq(following + 1)]

        if self.depth <= LUT_RAM_DEPTH:
            m.d.comb += [
                left.eq(fetched),
                self.o.valid.eq(self.stored),
                self.o.payload.eq(read.data),
                fetching.eq(leaving),
            ]
            return full
        waiting = self.waiting
        head_free = ~self.o.valid | self.o.ready
        m.d.comb += [
            self.o.payload.eq(self.head),
            read.en.eq(~waiting | head_free),
            fetching.eq(self.stored & read.en),
        ]
        with m.If(leaving):
            m.d.sync += left.eq(left + 1)
        with m.If(head_free):
            m.d.sync += [self.o.valid.eq(waiting), self.head.eq(read.data)]
        m.d.sync += waiting.eq(Mux(waiting & ~head_free, 1, self.stored))
        return full
