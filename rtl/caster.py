# SPDX-FileCopyrightText: castbag contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Caster: where the backward pass becomes a gather-reduce. See `golden/casting.py`."""

from amaranth.hdl import Module, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from .config import EngineConfig
from .layouts import CastedLayout, SortPairLayout


class Caster(wiring.Component):
    """Every sorted pair becomes one lookup of the casted gather-reduce, in order.

    Of the pairs of a batch, sorted by row, in NumPy::

        boundary = row != np.append(-1, row)[:-1]       first
        src = bag                                       source
        dst = np.cumsum(boundary) - 1                   segment

    `last` is the boundary that comes after: `np.append(boundary[1:], True)`. For the rows
    `[2, 5, 2, 0]` in bags `[0, 0, 1, 1]`, which the sorter has made `[0, 2, 2, 5]` and
    `[1, 0, 1, 0]`::

        row      0  2  2  5
        first    1  1  0  1
        last     1  0  1  1
        source   1  0  1  0
        segment  0  1  1  2
        end      0  0  0  1

    One pair a cycle. A pair is held until the next one tells whether the row goes on: it leaves
    in the cycle in which that one is offered. The last of a batch waits for none. With `end`,
    `segment + 1` is the number of unique rows.

    Members:
        i: Stream in, `SortPairLayout`: batches, each sorted by row and closed by `end`.
        o: Stream out, `CastedLayout`.
    """

    def __init__(self, config: EngineConfig):
        self.config = config
        super().__init__(
            {
                "i": In(stream.Signature(SortPairLayout(config))),
                "o": Out(stream.Signature(CastedLayout(config))),
            }
        )

    i: stream.Interface
    o: stream.Interface

    def elaborate(self, platform):
        m = Module()
        following, lookup = self.i.payload, self.o.payload
        pair = Signal(SortPairLayout(self.config))  # the pair that is cast
        held = Signal()  # there is one
        first = Signal(init=1)
        segment = Signal.like(lookup.segment)

        boundary = Signal()  # after the pair
        m.d.comb += [
            boundary.eq(pair.end | (following.row != pair.row)),
            lookup.source.eq(pair.source),
            lookup.row.eq(pair.row),
            lookup.segment.eq(segment),
            lookup.first.eq(first),
            lookup.last.eq(boundary),
            lookup.end.eq(pair.end),
            self.o.valid.eq(held & (pair.end | self.i.valid)),
            self.i.ready.eq(~held | self.o.ready),
        ]
        with m.If(self.o.valid & self.o.ready):
            m.d.sync += [held.eq(0), first.eq(boundary)]
            with m.If(pair.end):
                m.d.sync += segment.eq(0)
            with m.Elif(boundary):
                m.d.sync += segment.eq(segment + 1)
        with m.If(self.i.valid & self.i.ready):
            m.d.sync += [held.eq(1), pair.eq(following)]
        return m
