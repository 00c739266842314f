# SPDX-FileCopyrightText: castbag contributors
# SPDX-License-Identifier: BSD-2-Clause
"""What the queue must do: each item leaves, once and in order, and none waits for another."""

from amaranth.hdl import Assert, Elaboratable, Module, Mux, Signal

from castbag.rtl.queue import Queue


class EveryItemLeaves(Elaboratable):
    """The queue between any source and any taker. Any item may be marked, and is then watched.

    Args:
        queue: The queue; its payload is a plain number.
        fit: Assert besides how its state fits what has been seen.
    """

    def __init__(self, queue: Queue, *, fit: bool = True):
        self.queue = queue
        self._fits = fit
        self.mark = Signal()  # watch what enters, if nothing is watched

    def inputs(self):
        queue = self.queue
        return [queue.i.valid, queue.i.payload, queue.o.ready, self.mark]

    def elaborate(self, platform):
        m = Module()
        m.submodules.queue = queue = self.queue
        entering = queue.i.valid & queue.i.ready
        leaving = queue.o.valid & queue.o.ready
        held = Signal(range(queue.depth + 1))
        m.d.sync += held.eq(held + entering - leaving)

        watching = Signal()
        watched = Signal.like(queue.i.payload)
        ahead = Signal(range(queue.depth))  # items that entered before it and have not left
        with m.If(self.mark & entering & ~watching):
            m.d.sync += [watching.eq(1), watched.eq(queue.i.payload), ahead.eq(held - leaving)]
        with m.Elif(watching & leaving):
            m.d.sync += [watching.eq(ahead != 0), ahead.eq(ahead - 1)]

        # It leaves when those before it have, unchanged; and nothing that did not enter.
        m.d.comb += [
            Assert(~watching | (ahead < held)),
            Assert(~(watching & queue.o.valid & (ahead == 0)) | (queue.o.payload == watched)),
            Assert(~queue.o.valid | (held != 0)),
        ]
        # Exactly `depth` are held, and after `latency` cycles the first is offered.
        awaited = Signal(range(queue.latency + 1))  # cycles that it has not been
        m.d.sync += awaited.eq(0)
        with m.If((held != 0) & ~queue.o.valid):
            m.d.sync += awaited.eq(awaited + 1)
        m.d.comb += [
            Assert(queue.level == held),
            Assert(queue.i.ready == (held < queue.depth)),
            Assert(awaited < queue.latency),
        ]
        # An offer stands.
        stalled, offer = Signal(), Signal.like(queue.o.payload)
        m.d.sync += [stalled.eq(queue.o.valid & ~queue.o.ready), offer.eq(queue.o.payload)]
        m.d.comb += Assert(~stalled | (queue.o.valid & (queue.o.payload == offer)))

        if self._fits:
            self._fit(m, held, awaited, stalled, offer)
            m.d.comb += Assert(~watching | (self._place(m, ahead) == watched))
        return m

    def _fit(self, m, held, awaited, stalled, offer):
        """How the queue's state fits what has been seen: what the induction needs besides."""
        queue = self.queue
        m.d.comb += [Assert(held <= queue.depth), Assert(~stalled | (held != 0))]
        m.d.comb += Assert(queue.full == ~queue.i.ready)
        if queue.latency == 1:
            m.d.comb += Assert(~stalled | (self._place(m, 0) == offer))
        if queue.depth == 2:
            m.d.comb += Assert(~queue.full | queue.o.valid)
            return
        in_ram = (queue.entered - queue.fetched)[: len(queue.entered)]
        m.d.comb += [
            Assert(queue.stored == (in_ram != 0)),
            Assert((queue.next_entered - queue.entered)[: len(queue.entered)] == 1),
            Assert((queue.next_fetched - queue.fetched)[: len(queue.fetched)] == 1),
        ]
        if queue.latency == 1:
            m.d.comb += Assert(in_ram == held)
        else:
            m.d.comb += [
                Assert(in_ram + queue.waiting + queue.o.valid == held),
                Assert((awaited != 1) | queue.waiting | queue.o.valid),
                Assert((awaited != 2) | queue.o.valid),
            ]
            # What is read from a place in the cycle that writes it would not be used.
            with m.If(queue.i.valid & queue.i.ready & queue.read.en & (in_ram != 0)):
                m.d.comb += Assert((queue.entered ^ queue.fetched)[:-1] != 0)

    def _place(self, m, number):
        """The item that leaves after `number` others, wherever it lies."""
        queue = self.queue
        if queue.depth == 2:
            return Mux(number == 0, queue.o.payload, queue.spare)
        in_ram = queue.memory.read_port(domain="comb")
        if queue.latency == 1:
            m.d.comb += in_ram.addr.eq(queue.fetched + number)
            return in_ram.data
        m.d.comb += in_ram.addr.eq(queue.fetched + number - queue.waiting - queue.o.valid)
        waits = queue.waiting & (number == queue.o.valid)
        later = Mux(waits, queue.read.data, in_ram.data)
        return Mux(queue.o.valid & (number == 0), queue.o.payload, later)
