# SPDX-FileCopyrightText: castbag contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Unpacker: pairs out of the beats of spilled runs."""

from amaranth.hdl import Array, Cat, Module, Mux, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import exact_log2

from ..config import EngineConfig
from .run_writer import RunPairLayout


class UnpackedLayout(data.StructLayout):
    """A pair and where it belongs."""

    def __init__(self, config: EngineConfig):
        super().__init__(
            {
                "pair": RunPairLayout(config),
                "number": range(max(2, config.packing.group_pairs)),  # in its group
                "last": 1,  # of its group to come out; not the one of the highest number
            }
        )


class Unpacker(wiring.Component):
    """Every pair of the groups in the beats, each group's first one last.

    A group's first pair is whole when the group's last slot has come, see `packing`: then it
    leaves, in the cycle after that of the last slot's own pair. Rate: a pair a cycle. Latency: a
    pair leaves in the cycle its beat is there.

    Members:
        i: Beats.
        o: Pairs.
    """

    i: stream.Interface
    o: stream.Interface

    def __init__(self, config: EngineConfig):
        self.config = config
        super().__init__(
            {
                "i": In(stream.Signature(config.bus_bits)),
                "o": Out(stream.Signature(UnpackedLayout(config))),
            }
        )

    def elaborate(self, platform):
        m = Module()
        packing = self.config.packing
        lanes, slot_bits = packing.beat_slots, 8 * packing.slot_bytes
        lane = Signal(range(max(2, lanes)))
        slot = Signal(slot_bits)
        taking = Signal()  # the slot is done with
        m.d.comb += [
            slot.eq(Array(self.i.payload.word_select(k, slot_bits) for k in range(lanes))[lane]),
            self.i.ready.eq(taking & (lane == lanes - 1)),
        ]
        with m.If(taking):
            m.d.sync += lane.eq(Mux(lane == lanes - 1, 0, lane + 1))

        pair = self.o.payload.pair
        pair_bits = len(pair.as_value())
        leaving = self.o.valid & self.o.ready
        if packing.group_pairs == 1:
            m.d.comb += [
                self.o.valid.eq(self.i.valid),
                pair.eq(slot[:pair_bits]),
                self.o.payload.last.eq(1),
                taking.eq(leaving),
            ]
            return m

        part = 8 * packing.spare_bytes
        first = Signal(part * packing.group_slots)  # what has come of the group's first pair
        number = Signal(exact_log2(packing.group_pairs), init=1)
        whole = Signal()  # it is the group's first, of which all has come: `number` is 0
        m.d.comb += [
            self.o.valid.eq(self.i.valid | whole),
            pair.eq(Mux(whole, first[:pair_bits], slot[:pair_bits])),
            self.o.payload.number.eq(number),
            self.o.payload.last.eq(whole),
            taking.eq(leaving & ~whole),
        ]
        with m.If(leaving):
            m.d.sync += [number.eq(number + 1), whole.eq(number.all())]
        with m.If(taking):
            dealt = slot[8 * packing.pair_bytes :][:part]
            m.d.sync += first.eq(Cat(first, dealt)[part:])
        return m
