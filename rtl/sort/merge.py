# SPDX-FileCopyrightText: castbag contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Merging: two sorted sequences in, one out, equal rows in the order they came.

What is sorted is a run. Its sorted parts are sub-runs, of one pair each to begin with; merging
two neighbours halves their number, until the run is one sub-run.
"""

from itertools import pairwise

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out, connect, flipped

from ..config import EngineConfig
from ..queue import LUT_RAM_DEPTH, Queue

LUT_RAM_WORDS = 16
"""A LUT RAM on ECP5: queues of up to so many words cost the same."""

BLOCK_RAM_WORDS = 512
"""A block RAM on ECP5, at its widest."""

SPARE = LUT_RAM_WORDS
"""Places of the queue before one that has just a sub-run's, see `MergeStage`."""


class SubRunLayout(data.StructLayout):
    """A pair of a sub-run; or, where `empty` is 1, the only item of a sub-run without pairs."""

    def __init__(self, config: EngineConfig):
        super().__init__(
            {
                "row": config.index_bits,  # the key
                "source": config.source_bits,  # carried along
                "empty": 1,  # no pair: row and source mean nothing
                "last": 1,  # last item of the sub-run
                "end": 1,  # last item of the run
            }
        )


class Merge(wiring.Component):
    """Each sub-run of `a` and the next one of `b` leave as one: sorted, equal rows `a` first.

    The lesser of the two pairs that are offered leaves, and its stream moves on::

        a  2 5                 o  0 2 2 5
        b  0 2                    b a b a

    A pair leaves a cycle, for as long as both streams offer one. The last of a sub-run stays where
    it is, done with, until that of its partner leaves: both move on then. So no cycle passes
    between two sub-runs, nor for an empty one. There is no register on the way from `a` and `b` to
    `o`, and one comparator.

    Members:
        a: Sub-runs, each earlier in its run than its partner in `b`. `end` is not looked at.
        b: Their partners. `end` tells that the run ends with this sub-run.
        o: The merged sub-runs; an empty one where both partners are empty.

    Attributes:
        a_done, b_done: The last of the sub-run has left; its partner's have not.
    """

    def __init__(self, config: EngineConfig):
        sub_runs = stream.Signature(SubRunLayout(config))
        super().__init__({"a": In(sub_runs), "b": In(sub_runs), "o": Out(sub_runs)})
        self.a_done = Signal()
        self.b_done = Signal()

    a: stream.Interface
    b: stream.Interface
    o: stream.Interface

    def elaborate(self, platform):
        m = Module()
        a, b, merged = self.a.payload, self.b.payload, self.o.payload
        no_a = a.empty | self.a_done
        no_b = b.empty | self.b_done
        less = self.less(b.row, a.row)
        from_a = Signal()
        last = Signal()
        m.d.comb += [
            from_a.eq(no_b | (~no_a & ~less)),
            last.eq(Mux(from_a, a.last & no_b, b.last & no_a)),
            merged.row.eq(Mux(from_a, a.row, b.row)),
            merged.source.eq(Mux(from_a, a.source, b.source)),
            merged.empty.eq(a.empty & b.empty),
            merged.last.eq(last),
            merged.end.eq(last & b.end),
            self.o.valid.eq(self.a.valid & self.b.valid),
        ]

        leaving = self.o.valid & self.o.ready
        # The comparator is the last to know. What follows is made out for both cases, and kept: so
        # that from there to what reads the queues' RAM it is one choice.
        for port, moves in (
            (self.a, lambda from_a: Mux(from_a, ~a.last | no_b, b.last & no_a)),
            (self.b, lambda from_a: Mux(from_a, a.last & no_b, ~b.last | no_a)),
        ):
            if_less, if_not = Signal(attrs={"keep": True}), Signal(attrs={"keep": True})
            m.d.comb += [
                if_less.eq(leaving & moves(no_b)),
                if_not.eq(leaving & moves(no_b | ~no_a)),
                port.ready.eq(Mux(less, if_less, if_not)),
            ]
        with m.If(leaving):
            m.d.sync += [
                self.a_done.eq(Mux(from_a, a.last & ~no_b, self.a_done & ~b.last)),
                self.b_done.eq(Mux(from_a, self.b_done & ~a.last, b.last & ~no_a)),
            ]
        return m

    def less(self, row, other):
        """Whether `row` goes before `other`."""
        return row < other


class MergeStage(wiring.Component):
    """Every two neighbouring sub-runs of a run leave as one: sorted, equal rows in order.

    The sub-runs of a run enter queue A and queue B by turns, the first one A; the last one of an
    odd number has an empty partner in B::

        i ── entry ──┬──► queue A ──┐
                     │              ├──► Merge ──► o
                     └──► queue B ──┘

    A run of n pairs that enter one a cycle leaves one a cycle, its first pair

        min(n - 1, length) + latency

    cycles after it entered, if `o` is always ready: a pair has to be compared with the first one
    of B, or the run to end, before it may leave. The rows do not matter. Where `whole` tells that
    no partner will come, the empty one goes into B with the run's first pair, and that leaves
    after `latency` cycles.

    Neither does `i` wait then, whatever the lengths of the runs that follow each other. For that
    a queue has more than a sub-run's places: its first pair may leave as late as
    `2 * length + latency` cycles after it entered, when the next sub-run has begun. With `o`
    stalled, two sub-runs still enter.

    Args:
        length: Most pairs of a sub-run in `i`; a power of two. Those of `o` are twice as long.

    Members:
        i: Sub-runs in, none of them empty.
        whole: Every run is one sub-run. Steady while any pair is inside.
        o: Sub-runs out.
    """

    def __init__(self, config: EngineConfig, *, length: int):
        if length < 1 or length & (length - 1):
            raise ValueError(f"length = {length}: must be a power of two of at least 1")
        shape = SubRunLayout(config)
        sub_runs = stream.Signature(shape)
        super().__init__({"i": In(sub_runs), "whole": In(1), "o": Out(sub_runs)})
        self.length = length
        self._merge = Merge(config)
        self._a = [Queue(shape, depth=depth) for depth in _depths(length)]
        self._b = [Queue(shape, depth=depth) for depth in _depths(length)]
        self.latency = 1 + sum(queue.latency for queue in self._a)  # the entry's register first

    i: stream.Interface
    whole: Signal
    o: stream.Interface

    def elaborate(self, platform):
        m = Module()
        m.submodules.merge = self._merge
        for name, queues, outlet in (
            ("a", self._a, self._merge.a),
            ("b", self._b, self._merge.b),
        ):
            for number, queue in enumerate(queues):
                m.submodules[f"{name}_{number}"] = queue
            for before, after in pairwise(queues):
                connect(m, before.o, after.i)
            connect(m, queues[-1].o, outlet)
        connect(m, self._merge.o, flipped(self.o))

        pair = self.i.payload
        first = Signal(init=1)  # the next pair is its run's first
        to_b = Signal()  # its sub-run goes into B
        alone = Mux(self.whole, first, ~to_b & pair.last & pair.end)
        with m.If(self.i.valid & self.i.ready):
            m.d.sync += first.eq(pair.end)
            with m.If(pair.last):
                m.d.sync += to_b.eq(~to_b & ~pair.end)

        a, b = self._a[0].i, self._b[0].i
        entry = Signal.like(
            pair, reset_less=True
        )  # what goes into a queue, or an empty partner with it
        for_a, for_b = Signal(), Signal()
        m.d.comb += [
            self.i.ready.eq(a.ready & b.ready),  # both, so that the two queues go in step
            a.valid.eq(for_a & self.i.ready),
            a.payload.eq(entry),
            a.payload.empty.eq(0),
            b.valid.eq(for_b & self.i.ready),
            b.payload.eq(entry),
            b.payload.last.eq(entry.last | entry.empty),
            b.payload.end.eq(entry.end | entry.empty),
        ]
        with m.If(self.i.ready):
            m.d.sync += [
                for_a.eq(self.i.valid & ~to_b),
                for_b.eq(self.i.valid & (to_b | alone)),
                entry.eq(pair),
                entry.empty.eq(alone),
            ]
        return m


def _depths(length: int) -> list[int]:
    """Depths of the queues that a sub-run passes one after the other.

    Twice a sub-run's places, as long as no more RAM is needed for that than for one sub-run's. What
    is compared comes from flip-flops, and block RAM is not told of it in the cycle.
    """
    if 2 * length <= LUT_RAM_WORDS:
        return [max(8, 2 * length)]
    if 2 * length <= BLOCK_RAM_WORDS:
        return [max(2 * LUT_RAM_DEPTH, 2 * length), 2]
    return [SPARE, length, 2]
