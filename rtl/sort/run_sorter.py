# SPDX-FileCopyrightText: castbag contributors
# SPDX-License-Identifier: BSD-2-Clause
"""RunSorter: pairs sorted by row, on chip, one a cycle."""

from itertools import pairwise

from amaranth.hdl import Module, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out, connect

from ..config import EngineConfig
from ..layouts import SortPairLayout
from .merge import MergeStage


class RunSorter(wiring.Component):
    """Every run of pairs leaves sorted by row, those of a row in the order they entered.

    A run of n pairs in NumPy::

        order = np.argsort(row, kind="stable")
        row, source = row[order], source[order]

    It is `log2(run_length)` stages in a chain, a FIFO merge sorter: stage k makes sub-runs of
    `2**(k + 1)` pairs out of two of `2**k`, while the next two enter. With the rows of four pairs::

        i          2 5 2 0
        stage 0    2 5 │ 0 2
        stage 1    0 2 2 5

    From the first pair in to the last pair out, if neither side ever waits, it takes

        n - 1 + sum(min(n - 1, stage.length) + stage.latency for stage in stages)

    cycles, whatever the rows are: `cycles(n)`; at n = run_length = 4096 that is 8241. A run can
    enter while those before it leave. `i` is ready in every cycle as long as `o` is, so that runs
    of equal length follow each other without a gap on either side. A shorter run after a longer
    one leaves right behind it.

    Of a short run each stage that is longer waits for the end; with n = 1024 that is half
    the time. Where `most` tells beforehand that a run has no more pairs than a stage's sub-runs,
    the stage does not wait, and only those with `stage.length < most` add `min(n - 1, length)`:
    `cycles(n, most)`. Runs of the same `most` follow each other as all do.

    While `o` is stalled a whole run enters, and waits sorted.

    Source: Matsumoto, Nakano and Ito, "Optimal parallel hardware K-sorter and top K-sorter, with
    FPGA implementations", ISPDC 2015. It sorts K keys; here a run may be shorter: `end`
    goes along, so that a stage knows a sub-run that no partner will follow.

    Members:
        i: Stream in, `SortPairLayout`: runs of 1 to `run_length` pairs, each closed by `end`.
        most: The most pairs of a run, 0 if that is not known. Steady from the cycle before a run's
            first pair is offered until its last has left. A longer run is not sorted.
        o: Stream out, `SortPairLayout`: the runs, sorted, each closed by `end`.
    """

    def __init__(self, config: EngineConfig):
        pairs = stream.Signature(SortPairLayout(config))
        super().__init__({"i": In(pairs), "most": In(config.lookup_bits), "o": Out(pairs)})
        levels = range((config.run_length - 1).bit_length())
        self.stages = [MergeStage(config, length=2**level) for level in levels]

    i: stream.Interface
    most: Signal
    o: stream.Interface

    def cycles(self, pairs: int, most: int = 0) -> int:
        """Cycles from the first of `pairs` in to the last one out, if neither side waits."""
        waiting = (stage for stage in self.stages if most == 0 or stage.length < most)
        fills = sum(min(pairs - 1, stage.length) for stage in waiting)
        return pairs - 1 + fills + sum(stage.latency for stage in self.stages)

    def elaborate(self, platform):
        m = Module()
        for level, stage in enumerate(self.stages):
            m.submodules[f"stage_{level}"] = stage
        for before, after in pairwise(self.stages):
            connect(m, before.o, after.i)
        for stage in self.stages:
            fits = (self.most < stage.length) | (self.most == stage.length)  # without carries
            m.d.sync += stage.whole.eq(fits & self.most.any())

        inlet, outlet = self.stages[0].i, self.stages[-1].o
        m.d.comb += [
            inlet.valid.eq(self.i.valid),
            inlet.payload.row.eq(self.i.payload.row),
            inlet.payload.source.eq(self.i.payload.source),
            inlet.payload.last.eq(1),  # each pair is a sub-run to begin with
            inlet.payload.end.eq(self.i.payload.end),
            self.i.ready.eq(inlet.ready),
            self.o.valid.eq(outlet.valid),
            self.o.payload.row.eq(outlet.payload.row),
            self.o.payload.source.eq(outlet.payload.source),
            self.o.payload.end.eq(outlet.payload.end),
            outlet.ready.eq(self.o.ready),
        ]
        return m
