# SPDX-FileCopyrightText: castbag contributors
# SPDX-License-Identifier: BSD-2-Clause
"""MemoryJoin: several AXI4 managers share one memory."""

from typing import Any

from amaranth.hdl import Cat, Module, Signal
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from ..axi import INCR, AXI4ReadSignature, AXI4WriteSignature, numbered
from ..memory.arbiter import RoundRobin
from ..queue import Queue

OUTSTANDING = 32
"""Bursts each way whose answers are awaited, of all managers together."""


class MemoryJoin(wiring.Component):
    """Every burst of every manager goes to memory once; each answer goes back to who asked.

    Managers take turns, a burst each; of one manager, and of all together, bursts stay in order,
    and memory must answer in order, whatever their ids. Reads and writes do not wait for each
    other. A burst reaches memory a cycle after it is taken here, its data at once; at most
    `OUTSTANDING` each way are unanswered. Data of writes pass in the order of their bursts: a
    manager that has offered a burst must give its data, whatever the others do. Of a burst its
    address, length and size are kept; it is an incrementing one, and ids are 0 both ways.

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
        number = Signal(range(max(count, 2)))
        m.d.comb += [
            turn.valid.eq(Cat(channel(each, "valid") for each in managers)),
            turn.taken.eq(room & turn.valid.any()),
            queue.i.valid.eq(turn.taken),
            channel(memory, "valid").eq(queue.o.valid),
            queue.o.ready.eq(channel(memory, "ready")),
            channel(memory, "burst").eq(INCR),
        ]
        for place, each in enumerate(managers):
            m.d.comb += channel(each, "ready").eq(room & turn.grant[place])
            with m.If(turn.grant[place]):
                m.d.comb += number.eq(place)
                m.d.comb += [queue.i.payload[name].eq(channel(each, name)) for name in fields]
        m.d.comb += [channel(memory, name).eq(queue.o.payload[name]) for name in fields]
        for order in orders:
            m.d.comb += [order.i.valid.eq(turn.taken), order.i.payload.eq(number)]

    def _order(self) -> Queue:
        """Whose the bursts are that are under way."""
        return Queue(range(max(self._managers, 2)), depth=OUTSTANDING)

    def _reads(self, m: Module, reads: list) -> None:
        memory = self.memory_read
        m.submodules.read_order = order = self._order()
        self._bursts(m, "ar", reads, memory, [order])
        m.d.comb += order.o.ready.eq(memory.rvalid & memory.rready & memory.rlast)
        for place, each in enumerate(reads):
            mine = order.o.valid & (order.o.payload == place)
            m.d.comb += [
                each.rvalid.eq(memory.rvalid & mine),
                each.rdata.eq(memory.rdata),
                each.rresp.eq(memory.rresp),
                each.rlast.eq(memory.rlast),
            ]
            with m.If(mine):
                m.d.comb += memory.rready.eq(each.rready)

    def _writes(self, m: Module, writes: list) -> None:
        memory = self.memory_write
        m.submodules.data_order = data_order = self._order()
        m.submodules.answer_order = answer_order = self._order()
        self._bursts(m, "aw", writes, memory, [data_order, answer_order])
        m.d.comb += [
            data_order.o.ready.eq(memory.wvalid & memory.wready & memory.wlast),
            answer_order.o.ready.eq(memory.bvalid & memory.bready),
        ]
        for place, each in enumerate(writes):
            gives = data_order.o.valid & (data_order.o.payload == place)
            answered = answer_order.o.valid & (answer_order.o.payload == place)
            m.d.comb += [
                each.wready.eq(memory.wready & gives),
                each.bvalid.eq(memory.bvalid & answered),
                each.bresp.eq(memory.bresp),
            ]
            with m.If(gives):
                m.d.comb += [
                    memory.wvalid.eq(each.wvalid),
                    memory.wdata.eq(each.wdata),
                    memory.wstrb.eq(each.wstrb),
                    memory.wlast.eq(each.wlast),
                ]
            with m.If(answered):
                m.d.comb += memory.bready.eq(each.bready)
