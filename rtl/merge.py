# SPDX-FileCopyrightText: castbag contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Merging: two sorted sequences in, one out, equal rows in the order they came.

What is sorted is a run. Its sorted parts are sub-runs, of one pair each to begin with; merging
two neighbours halves their number, until the run is one sub-run.
"""

from itertools import pairwise

from amaranth.hdl import Cat, Module, Mux, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out, connect, flipped

from .config import EngineConfig
from .queue import LUT_RAM_DEPTH, Queue

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

    The heads of both are held in registers; the lesser leaves, and the next of its kind takes its
    place::

        a  2 5                 o  0 2 2 5
        b  0 2                    b a b a

    A pair leaves a cycle, for as long as heads are replaced. After the last of a sub-run its head
    becomes an empty one, which is larger than any row; with the last of both sub-runs both heads
    are replaced. So no cycle passes between two sub-runs, nor for an empty one. Which head leaves
    is decided a cycle ahead, while heads are replaced, for each of the ways in which they may be:
    three comparators, and no path through one of them to a queue.

    Members:
        a: Sub-runs, each earlier in its run than its partner in `b`. `end` is not looked at.
        b: Their partners. `end` tells that the run ends with this sub-run.
        o: The merged sub-runs; an empty one where both partners are empty.
    """

    def __init__(self, config: EngineConfig):
        self.shape = SubRunLayout(config)
        sub_runs = stream.Signature(self.shape)
        super().__init__({"a": In(sub_runs), "b": In(sub_runs), "o": Out(sub_runs)})

    a: stream.Interface
    b: stream.Interface
    o: stream.Interface

    def elaborate(self, platform):
        m = Module()
        merged = self.o.payload
        a, a_held = Signal(self.shape), Signal()
        b, b_held = Signal(self.shape), Signal()

        from_a = Signal()  # whose head leaves
        last = Signal()
        m.d.comb += [
            last.eq(Mux(from_a, a.last & b.empty, b.last & a.empty)),
            merged.row.eq(Mux(from_a, a.row, b.row)),
            merged.source.eq(Mux(from_a, a.source, b.source)),
            merged.empty.eq(a.empty & b.empty),
            merged.last.eq(last),
            merged.end.eq(last & b.end),
            self.o.valid.eq(a_held & b_held),
        ]

        leaving = self.o.valid & self.o.ready
        m.d.comb += [
            self.a.ready.eq(~a_held | (leaving & (last | (from_a & ~a.last)))),
            self.b.ready.eq(~b_held | (leaving & (last | (~from_a & ~b.last)))),
        ]
        with m.If(self.a.ready):
            m.d.sync += [a_held.eq(self.a.valid), a.eq(self.a.payload)]
        with m.Elif(leaving & from_a):
            m.d.sync += a.empty.eq(1)
        with m.If(self.b.ready):
            m.d.sync += [b_held.eq(self.b.valid), b.eq(self.b.payload)]
        with m.Elif(leaving & ~from_a):
            m.d.sync += b.empty.eq(1)

        with m.If(self.a.ready & self.b.ready):
            m.d.sync += from_a.eq(_first(self.a.payload, self.b.payload))
        with m.Elif(self.a.ready):
            m.d.sync += from_a.eq(_first(self.a.payload, b))
        with m.Elif(self.b.ready):
            m.d.sync += from_a.eq(_first(a, self.b.payload))
        with m.Elif(leaving):  # the last of its sub-run: the other one's turn
            m.d.sync += from_a.eq(~from_a)
        return m


def _first(a, b):
    """Whether `a` goes before `b`: not if `b` is less. (`<=` would cost an equality besides.)"""
    return ~(Cat(b.row, b.empty) < Cat(a.row, a.empty))


class MergeStage(wiring.Component):
    """Every two neighbouring sub-runs of a run leave as one: sorted, equal rows in order.

    The sub-runs of a run enter queue A and queue B by turns, the first one A; the last one of an
    odd number has an empty partner in B::

        i ──┬──► queue A ──┐
            │              ├──► Merge ──► o
            └──► queue B ──┘

    A run of n pairs that enter one a cycle leaves one a cycle, its first pair

        min(n - 1, length) + latency

    cycles after it entered, if `o` is always ready: a pair has to be compared with the first one
    of B, or the run to end, before it may leave. The rows do not matter. Neither does `i` wait
    then, whatever the lengths of the runs that follow each other. For that a queue has more than
    a sub-run's places: its first pair may leave as late as `2 * length + latency` cycles after it
    entered, when the next sub-run has begun. With `o` stalled, two sub-runs still enter.

    Args:
        length: Most pairs of a sub-run in `i`; a power of two. Those of `o` are twice as long.

    Members:
        i: Sub-runs in, none of them empty.
        o: Sub-runs out.
    """

    def __init__(self, config: EngineConfig, *, length: int):
        if length < 1 or length & (length - 1):
            raise ValueError(f"length = {length}: must be a power of two of at least 1")
        shape = SubRunLayout(config)
        sub_runs = stream.Signature(shape)
        super().__init__({"i": In(sub_runs), "o": Out(sub_runs)})
        self.length = length
        self._merge = Merge(config)
        self._a = [Queue(shape, depth=depth) for depth in _depths(length)]
        self._b = [Queue(shape, depth=depth) for depth in _depths(length)]
        self.latency = sum(queue.latency for queue in self._a) + 1  # and the head's register

    i: stream.Interface
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

        a, b, pair = self._a[0], self._b[0], self.i.payload
        to_b = Signal()
        alone = ~to_b & pair.last & pair.end
        entering = self.i.valid & self.i.ready
        m.d.comb += [
            a.i.valid.eq(entering & ~to_b),
            a.i.payload.eq(pair),
            a.i.payload.empty.eq(0),
            b.i.valid.eq(entering & (to_b | alone)),
            b.i.payload.eq(pair),
            b.i.payload.empty.eq(alone),
        ]
        # For one item each, and the one that may be entering: so that ready is a register.
        m.d.sync += self.i.ready.eq((a.level < a.depth - 1) & (b.level < b.depth - 1))
        with m.If(entering & pair.last):
            m.d.sync += to_b.eq(~to_b & ~pair.end)
        return m


def _depths(length: int) -> list[int]:
    """Depths of the queues that a sub-run passes one after the other.

    Twice a sub-run's places, as long as no more RAM is needed for that than for one sub-run's.
    """
    if 2 * length <= LUT_RAM_WORDS:
        return [max(8, 2 * length)]
    if 2 * length <= BLOCK_RAM_WORDS:
        return [max(2 * LUT_RAM_DEPTH, 2 * length)]
    return [SPARE, length]
