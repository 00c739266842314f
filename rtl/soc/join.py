# SPDX-FileCopyrightText: castbag contributors
# SPDX-License-Identifier: BSD-2-Clause
"""MemoryJoin: several AXI4 managers share one memory."""

from typing import Any

from amaranth.hdl import Cat, Module, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out, connect

from ..axi import INCR, AXI4ReadSignature, AXI4WriteSignature, numbered
from ..memory.arbiter import RoundRobin
from ..onehot import chosen
from ..queue import Queue

ORDER = 32
"""Places of the queue that remembers whose bursts are under way."""

OUTSTANDING = ORDER + 2
"""Bursts each way whose answers are awaited, of all managers together."""


class MemoryJoin(wiring.Component):
    """Every burst of every manager goes to memory once; each answer goes back to who asked.

    Managers take turns, a burst each; one that comes while it is another's turn waits a cycle for
    its own. Of one manager, and of all together, bursts stay in order, and memory must answer in
    order, whatever their ids. Reads and writes do not wait for each other. Between a manager and
    memory each channel has a queue of two: whatever is taken on the one side is offered on the
    other a cycle later, and no path leads through. At most `OUTSTANDING` each way are unanswered.
    Data of writes pass in the order of their bursts: a manager that has offered a burst must give
    its data, whatever the others do. Of a burst its address, length and size are kept; it is an
    incrementing one, and ids are 0 both ways.

    Args:
        managers: How many.
        address_bits, data_bits: Of all ports.

    Members:
        read, read1, ...; write, write1, ...: The managers'.
        memory_read, memory_write: Memory's.
    """

    memory_read: Any  # AXI4ReadSignature
    memory_write: Any  # AXI4WriteSignature

    def __init__(self, *, managers: int, address_bits: int, data_bits: int):
        if managers < 1:
            raise ValueError(f"managers = {managers}: must be at least 1")
        self._managers = managers
        bus = {"address_bits": address_bits, "data_bits": data_bits}
        self._read, self._write = AXI4ReadSignature(**bus), AXI4WriteSignature(**bus)
        super().__init__(
            {
                **{name: In(self._read) for name in numbered("read", managers)},
                **{name: In(self._write) for name in numbered("write", managers)},
                "memory_read": Out(self._read),
                "memory_write": Out(self._write),
            }
        )

    def elaborate(self, platform):
        m = Module()
        reads = [getattr(self, name) for name in numbered("read", self._managers)]
        writes = [getattr(self, name) for name in numbered("write", self._managers)]
        self._reads(m, reads)
        self._writes(m, writes)
        return m

    def _bursts(self, m: Module, kind: str, managers: list, memory, orders: list[Queue]) -> None:
        """Pass on bursts of channel `kind`, managers in turn; `orders` learn whose they are."""

        def channel(bus, name: str):
            return getattr(bus, f"{kind}{name}")

        count = self._managers
        fields = {name: channel(memory, name).shape() for name in ("addr", "len", "size")}
        m.submodules[f"{kind}_turn"] = turn = RoundRobin(count)
        m.submodules[f"{kind}_queue"] = queue = Queue(data.StructLayout(fields), depth=2)
        room = queue.i.ready & Cat(order.i.ready for order in orders).all()
        # Whose turn it is, is known before whether he has a burst: it passes on when he gave one,
        # or has none, and another has.
        granted = Signal(count, init=1)
        valid = Cat(channel(each, "valid") for each in managers)
        offered, taken = (granted & valid).any(), Signal()
        m.d.comb += [
            turn.valid.eq(valid & ~granted),
            turn.taken.eq(turn.valid.any() & (taken | ~offered)),
            taken.eq(room & offered),
            queue.i.valid.eq(taken),
            channel(memory, "valid").eq(queue.o.valid),
            queue.o.ready.eq(channel(memory, "ready")),
            channel(memory, "burst").eq(INCR),
        ]
        with m.If(turn.taken):
            m.d.sync += granted.eq(turn.grant)
        for place, each in enumerate(managers):
            m.d.comb += channel(each, "ready").eq(room & granted[place])
        for name in fields:
            given = chosen(granted, [channel(each, name) for each in managers])
            m.d.comb += queue.i.payload[name].eq(given)
        m.d.comb += [channel(memory, name).eq(queue.o.payload[name]) for name in fields]
        for order in orders:
            m.d.comb += [order.i.valid.eq(taken), order.i.payload.eq(granted)]

    def _queued(self, m: Module, channel: str, memory, names: tuple[str, ...]) -> Queue:
        """The queue that data channel `channel` passes through, its fields called `names`."""
        shape = data.StructLayout(
            {name: getattr(memory, f"{channel}{name}").shape() for name in names}
        )
        m.submodules[f"{channel}_queue"] = queue = Queue(shape, depth=2)
        return queue

    def _order(self, m: Module, name: str) -> tuple[Queue, stream.Interface]:
        """Whose the bursts are that are under way, a bit a manager: to write, to read."""
        m.submodules[f"{name}_order"] = order = Queue(self._managers, depth=ORDER)
        m.submodules[f"{name}_owner"] = owner = Queue(self._managers, depth=2)
        connect(m, order.o, owner.i)
        return order, owner.o

    def _reads(self, m: Module, reads: list) -> None:
        memory = self.memory_read
        order, owner = self._order(m, "read")
        self._bursts(m, "ar", reads, memory, [order])
        names = ("data", "resp", "last")
        queue = self._queued(m, "r", memory, names)
        m.d.comb += [
            queue.i.valid.eq(memory.rvalid),
            memory.rready.eq(queue.i.ready),
            *(queue.i.payload[name].eq(getattr(memory, f"r{name}")) for name in names),
            owner.ready.eq(queue.o.valid & queue.o.ready & queue.o.payload.last),
        ]
        for place, each in enumerate(reads):
            mine = owner.valid & owner.payload[place]
            m.d.comb += [
                each.rvalid.eq(queue.o.valid & mine),
                *(getattr(each, f"r{name}").eq(queue.o.payload[name]) for name in names),
            ]
        taken = chosen(owner.payload, [each.rready for each in reads])
        m.d.comb += queue.o.ready.eq(owner.valid & taken)

    def _writes(self, m: Module, writes: list) -> None:
        memory = self.memory_write
        data_order, giver = self._order(m, "data")
        answer_order, asker = self._order(m, "answer")
        self._bursts(m, "aw", writes, memory, [data_order, answer_order])
        names = ("data", "strb", "last")
        beats = self._queued(m, "w", memory, names)
        answers = self._queued(m, "b", memory, ("resp",))
        m.d.comb += [
            memory.wvalid.eq(beats.o.valid),
            beats.o.ready.eq(memory.wready),
            *(getattr(memory, f"w{name}").eq(beats.o.payload[name]) for name in names),
            answers.i.valid.eq(memory.bvalid),
            memory.bready.eq(answers.i.ready),
            answers.i.payload.resp.eq(memory.bresp),
            giver.ready.eq(beats.i.valid & beats.i.ready & beats.i.payload.last),
            asker.ready.eq(answers.o.valid & answers.o.ready),
        ]
        for place, each in enumerate(writes):
            gives = giver.valid & giver.payload[place]
            answered = asker.valid & asker.payload[place]
            m.d.comb += [
                each.wready.eq(beats.i.ready & gives),
                each.bvalid.eq(answers.o.valid & answered),
                each.bresp.eq(answers.o.payload.resp),
            ]

        def of_giver(signal: str) -> Value:
            return chosen(giver.payload, [getattr(each, signal) for each in writes])

        taken = chosen(asker.payload, [each.bready for each in writes])
        m.d.comb += [
            beats.i.valid.eq(giver.valid & of_giver("wvalid")),
            *(beats.i.payload[name].eq(of_giver(f"w{name}")) for name in names),
            answers.o.ready.eq(asker.valid & taken),
        ]
