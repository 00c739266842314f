# SPDX-FileCopyrightText: castbag contributors
# SPDX-License-Identifier: BSD-2-Clause
"""RunWriter: runs on their way to memory."""

from amaranth.hdl import Array, Cat, Const, Module, Mux, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from ..config import EngineConfig
from ..layouts import RequestLayout, WriteBeatLayout


class RunPairLayout(data.StructLayout):
    """A pair of a run as memory has it."""

    def __init__(self, config: EngineConfig):
        super().__init__({"row": config.index_bits, "source": config.source_bits})


class RunWriter(wiring.Component):
    """Every pair goes to memory, in order, packed as `packing` describes it.

    Runs follow each other without a gap, from the start's address on. Requests are whole chunks,
    each following its beats. A pair a cycle; a pair leaves with the last one of its beat, so that
    only whole chunks are sure to arrive.

    Members:
        start: From now on pairs go to `address` and on; not while busy.
        address: On a beat.
        i: Pairs.
        request, data: Streams out to a write port's client.
        busy: There are pairs of a chunk whose request has not been taken.
    """

    start: Signal
    address: Signal
    i: stream.Interface
    request: stream.Interface
    data: stream.Interface
    busy: Signal

    def __init__(self, config: EngineConfig):
        self.config = config
        super().__init__(
            {
                "start": In(1),
                "address": In(config.address_bits),
                "i": In(stream.Signature(RunPairLayout(config))),
                "request": Out(stream.Signature(RequestLayout(config))),
                "data": Out(stream.Signature(WriteBeatLayout(config))),
                "busy": Out(1),
            }
        )

    def elaborate(self, platform):
        m = Module()
        packing = self.config.packing
        number = Signal(range(max(2, packing.chunk_pairs)))  # of the pair, in its chunk
        entering = self.i.valid & self.i.ready
        closing = number == packing.chunk_pairs - 1
        has_slot, slot = self._slots(m, number, entering)

        # Slots fill a beat; the last one of a beat goes straight into it.
        lanes = packing.beat_slots
        lane = Signal(range(max(2, lanes)))
        held = Array(Signal(8 * packing.slot_bytes, name=f"held_{k}") for k in range(lanes - 1))
        whole = has_slot & (lane == lanes - 1)
        able = ~(closing & self.request.valid)
        m.d.comb += [
            self.data.valid.eq(self.i.valid & whole & able),
            self.data.payload.data.eq(Cat(*held, slot)),
            self.data.payload.strobe.eq(~0),
            self.i.ready.eq(able & (~whole | self.data.ready)),
            self.busy.eq((number != 0) | self.request.valid),
        ]
        with m.If(self.request.ready):
            m.d.sync += self.request.valid.eq(0)
        with m.If(entering):
            m.d.sync += number.eq(Mux(closing, 0, number + 1))
            with m.If(has_slot):
                m.d.sync += lane.eq(Mux(whole, 0, lane + 1))
                if lanes > 1:
                    m.d.sync += held[lane].eq(slot)  # of the last lane it is not looked at
            with m.If(closing):
                m.d.sync += self.request.valid.eq(1)

        chunk_bytes = packing.chunk_beats * self.config.bus_bytes
        m.d.comb += self.request.payload.beats.eq(packing.chunk_beats)
        with m.If(self.start):
            m.d.sync += self.request.payload.address.eq(self.address)
        with m.Elif(self.request.valid & self.request.ready):
            address = self.request.payload.address
            m.d.sync += address.eq(address + chunk_bytes)
        return m

    def _slots(self, m: Module, number: Signal, entering):
        """Whether the entering pair has a slot, and the slot: itself, and a part of the first."""
        packing = self.config.packing
        pair = Cat(self.i.payload.row, self.i.payload.source)
        pad = Const(0, 8 * packing.pair_bytes - len(pair))
        if packing.group_pairs == 1:
            return Const(1), Cat(pair, pad)
        dealt = Signal(8 * packing.pair_bytes)  # what is left of the group's first pair
        opening = number[: packing.group_slots.bit_length()] == 0
        part = 8 * packing.spare_bytes
        with m.If(entering):
            m.d.sync += dealt.eq(Mux(opening, Cat(pair, pad), dealt >> part))
        unused = Const(0, 8 * (packing.slot_bytes - packing.pair_bytes) - part)
        return ~opening, Cat(pair, pad, dealt[:part], unused)
