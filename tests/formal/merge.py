# SPDX-FileCopyrightText: castbag contributors
# SPDX-License-Identifier: BSD-2-Clause
"""What the merge cell must do: a stable merge that keeps every pair and never waits in vain."""

from dataclasses import replace

from amaranth.hdl import Assert, Assume, Cat, Elaboratable, Module, Mux, Signal

from castbag.rtl.config import preset
from castbag.rtl.sort.merge import Merge, SubRunLayout

CONFIG = replace(preset("tiny"), index_bits=4, bag_bits=4, max_lookups=16)
"""Sixteen rows: enough for every order of those that meet in the cell."""

SIDE = -1
"""Bit of `source` that tells where a pair came from: 0 `a`, 1 `b`.

The cell carries `source` along without looking at it; so it may serve as the pair's name.
"""


class _Side:
    """One input of the cell, and what is known of it from the streams alone."""

    def __init__(self, port, *, name: str):
        self.port = port
        self.item = port.payload
        self.taken = port.valid & port.ready
        self.first = Signal(name=f"{name}_first", init=1)  # what is taken next begins a sub-run
        self.latest = Signal(SubRunLayout(CONFIG), name=f"{name}_latest")  # that was taken
        self.done = Signal(name=f"{name}_done")  # what is offered has left
        self.stands = Signal(name=f"{name}_stands")  # what was offered was not taken
        self.offer = Signal(SubRunLayout(CONFIG), name=f"{name}_offer")

    def follow(self, m, *, side: int, leaves):
        """Sorted sub-runs come, each closed by `last`, at any pace; keep up with them."""
        item = self.item
        m.d.comb += [
            Assume(item.last | ~(item.empty | item.end)),
            Assume(self.first | (~item.empty & (item.row >= self.latest.row))),
            Assume(item.source[SIDE] == side),
            Assume(~self.stands | (self.port.valid & (item == self.offer))),
        ]
        m.d.sync += [
            self.stands.eq(self.port.valid & ~self.port.ready),
            self.offer.eq(item),
            self.done.eq(~self.taken & (self.done | leaves)),
        ]
        with m.If(self.taken):
            m.d.sync += [self.first.eq(item.last), self.latest.eq(item)]

    @property
    def spent(self):
        """No pair that is offered is still to leave."""
        return self.item.empty | self.done


class StableMerge(Elaboratable):
    """The merge cell between any two sequences of sorted sub-runs, and any taker.

    Args:
        cell: The cell, for `CONFIG`.
        fit: Assert besides how its state fits what has been seen.
    """

    def __init__(self, cell: Merge, *, fit: bool = True):
        self.cell = cell
        self._fits = fit

    def inputs(self):
        cell = self.cell
        a, b = cell.a.payload.as_value(), cell.b.payload.as_value()
        return [cell.a.valid, a, cell.b.valid, b, cell.o.ready]

    def elaborate(self, platform):
        m = Module()
        m.submodules.cell = cell = self.cell
        a, b, out = _Side(cell.a, name="a"), _Side(cell.b, name="b"), cell.o.payload
        leaving = cell.o.valid & cell.o.ready
        of_b = out.source[SIDE]
        a_leaves = leaving & ~out.empty & ~of_b
        b_leaves = leaving & ~out.empty & of_b
        over = leaving & out.last
        a.follow(m, side=0, leaves=a_leaves)
        b.follow(m, side=1, leaves=b_leaves)
        begun = Signal()  # some of the merged sub-run has left, lastly this pair
        before = Signal.like(out)
        with m.If(leaving):
            m.d.sync += [begun.eq(~out.last), before.eq(out)]

        # Every pair leaves, once and unchanged: what leaves is offered and has not left before;
        # what is taken has left. A sub-run's last is taken when its partner's is.
        with m.If(cell.o.valid & ~out.empty):
            m.d.comb += [
                Assert(Mux(of_b, ~b.spent, ~a.spent)),
                Assert(out.source == Mux(of_b, b.item.source, a.item.source)),
                Assert(out.row == Mux(of_b, b.item.row, a.item.row)),
            ]
        for side, leaves in ((a, a_leaves), (b, b_leaves)):
            m.d.comb += [
                Assert(~side.taken | leaves | side.spent),
                Assert((side.taken & side.item.last) == over),
            ]

        # Sorted, of equal rows those of `a` first; and each input's own in order, one at a time.
        with m.If(cell.o.valid & begun):
            m.d.comb += [
                Assert(out.row >= before.row),
                Assert((out.row != before.row) | of_b | ~before.source[SIDE]),
            ]

        # The delimiters: `last` with the last of both, `end` as `b` has it, `empty` for no pair.
        with m.If(cell.o.valid):
            all_of_a = a.spent | (~of_b & a.item.last)
            all_of_b = b.spent | (of_b & b.item.last)
            m.d.comb += [
                Assert(out.empty == (a.item.empty & b.item.empty)),
                Assert(out.last == (out.empty | (all_of_a & all_of_b))),
                Assert(out.end == (out.last & b.item.end)),
                Assert(~(out.empty & begun)),
            ]

        # The rules of streams: `valid` follows from what is offered, whatever `ready` is; an
        # offer stands. And no deadlock: with both offered and `o` ready a pair leaves, and its
        # stream moves on, or both do.
        stalled, offer = Signal(), Signal.like(out)
        m.d.sync += [stalled.eq(cell.o.valid & ~cell.o.ready), offer.eq(out)]
        m.d.comb += [
            Assert(cell.o.valid == (cell.a.valid & cell.b.valid)),
            Assert(~stalled | (cell.o.valid & (out == offer))),
            Assert(~a_leaves | a.item.last | a.taken),
            Assert(~b_leaves | b.item.last | b.taken),
        ]
        if self._fits:
            self._fit(m, a, b, begun, before)
        return m

    def _fit(self, m, a, b, begun, before):
        """How the cell's state fits what has been seen: what the induction needs besides."""
        m.d.comb += [
            Assert(self.cell.a_done == a.done),
            Assert(self.cell.b_done == b.done),
            Assert(~(a.done & b.done)),
            Assert(begun | (a.first & b.first)),
        ]
        for side in (a, b):
            there = begun & side.port.valid & side.item.last & ~side.item.empty
            m.d.comb += Assert(~side.done | there)
        # One side's pair has left last; what the other one offered then still stands.
        key = Cat(before.source[SIDE], before.row)
        for side, other, number in ((a, b, 0), (b, a, 1)):
            with m.If(begun & (before.source[SIDE] == number)):
                greater = Cat(1 - number, other.item.row)[: len(key)] >= key
                m.d.comb += [
                    Assert(other.port.valid & (other.spent | greater)),
                    Assert(side.done | (~side.first & (side.latest.row == before.row))),
                ]
