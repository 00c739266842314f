# SPDX-FileCopyrightText: castbag contributors
# SPDX-License-Identifier: BSD-2-Clause
"""SgdUpdate: rows and their coalesced gradients become updated rows."""

from amaranth.hdl import Module, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from .config import EngineConfig
from .fp import Adder, Multiplier
from .layouts import VectorWordLayout
from .queue import Queue

SIGN = 1 << 31


class SgdUpdate(wiring.Component):
    """For every gradient word and row word, in step, one updated word.

    In NumPy, in float32: `row - learning_rate * gradient`, the product rounded, then the
    difference. Two pipelines in a row, each moving as a whole: the products wait for the rows,
    so that a row may come later than its gradient without a buffer between.

    Latency: `Multiplier.LATENCY + Adder.LATENCY + 1` cycles. Rate: a word a cycle.
    Resources: `lanes` multipliers and adders.

    Members:
        learning_rate: binary32; steady while gradients are held and for a cycle before.
        gradient: Words of coalesced gradients, `target` the row.
        row: Words of those rows, in the same order.
        o: Words of updated rows, `target` the row.
    """

    learning_rate: Signal
    gradient: stream.Interface
    row: stream.Interface
    o: stream.Interface

    def __init__(self, config: EngineConfig):
        self.config = config
        super().__init__(
            {
                "learning_rate": In(32),
                "gradient": In(stream.Signature(VectorWordLayout(config))),
                "row": In(stream.Signature(config.bus_bits)),
                "o": Out(stream.Signature(VectorWordLayout(config))),
            }
        )

    def elaborate(self, platform):
        m = Module()
        config = self.config
        tag = data.StructLayout({"target": config.vector_index_bits, "end": 1, "valid": 1})
        scaling = [Signal(tag, name=f"scaling_{age}") for age in range(Multiplier.LATENCY)]
        adding = [Signal(tag, name=f"adding_{age}") for age in range(Adder.LATENCY)]
        scaled, added = scaling[-1], adding[-1]
        scale_enable, add_enable = Signal(), Signal()

        # So that what gives gradients and rows is not asked by whoever takes them; and from
        # flip-flops, for much hangs on them.
        m.submodules.gradients = gradients = Queue(VectorWordLayout(config), depth=2)
        wiring.connect(m, wiring.flipped(self.gradient), gradients.i)
        learning_rate = Signal.like(self.learning_rate, reset_less=True)
        m.d.sync += learning_rate.eq(self.learning_rate)
        gradient = gradients.o.payload
        m.submodules.rows = rows = Queue(config.bus_bits, depth=2)
        wiring.connect(m, wiring.flipped(self.row), rows.i)
        joined = scaled.valid & rows.o.valid
        m.d.comb += [
            add_enable.eq(~added.valid | self.o.ready),
            scale_enable.eq(~scaled.valid | add_enable & rows.o.valid),
            rows.o.ready.eq(scaled.valid & add_enable),
            gradients.o.ready.eq(scale_enable),
            self.o.valid.eq(added.valid),
            self.o.payload.target.eq(added.target),
            self.o.payload.end.eq(added.end),
        ]
        with m.If(scale_enable):
            m.d.sync += [
                scaling[0].target.eq(gradient.target),
                scaling[0].end.eq(gradient.end),
                scaling[0].valid.eq(gradients.o.valid),
            ]
            for older, younger in zip(scaling[1:], scaling[:-1], strict=True):
                m.d.sync += older.eq(younger)
        with m.If(add_enable):
            m.d.sync += [adding[0].eq(scaled), adding[0].valid.eq(joined)]
            for older, younger in zip(adding[1:], adding[:-1], strict=True):
                m.d.sync += older.eq(younger)

        for lane in range(config.lanes):
            columns = slice(32 * lane, 32 * lane + 32)
            m.submodules[f"multiplier_{lane}"] = multiplier = Multiplier()
            m.submodules[f"adder_{lane}"] = adder = Adder()
            m.d.comb += [
                multiplier.en.eq(scale_enable),
                multiplier.a.eq(learning_rate),
                multiplier.b.eq(gradient.data[columns]),
                adder.en.eq(add_enable),
                adder.a.eq(rows.o.payload[columns]),
                adder.b.eq(multiplier.o ^ SIGN),
                self.o.payload.data[columns].eq(adder.o),
            ]
        return m
