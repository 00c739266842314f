# SPDX-FileCopyrightText: castbag contributors
# SPDX-License-Identifier: BSD-2-Clause
"""BatchSorter: the pairs of a batch of any length, sorted by row."""

from amaranth.hdl import Module, Mux, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out, connect, flipped
from amaranth.utils import exact_log2

from ..config import EngineConfig
from ..layouts import RequestLayout, SortPairLayout, WriteBeatLayout
from ..queue import Queue
from ..resets import reset_by
from .merge import Merge
from .run_reader import RunReader, WayLayout
from .run_sorter import RunSorter
from .run_writer import RunPairLayout, RunWriter
from .tree import MergeTree

QUEUE_DEPTH = 16
"""Sorted pairs that wait to be written, or merged."""


class MergedPairLayout(data.StructLayout):
    """A pair of merged runs."""

    def __init__(self, config: EngineConfig):
        super().__init__({"pair": RunPairLayout(config), "last": 1})  # last: of the last merge


class BatchSorter(wiring.Component):
    """The pairs of each batch leave sorted by row, those of a row in the order they entered.

    In NumPy::

        order = np.argsort(row, kind="stable")
        row, source = row[order], source[order]

    Pairs are sorted in runs of `run_length`. The last run never leaves the chip; those before it
    are spilled, `s` of them. While they are more than `merge_ways` they are merged, `merge_ways` at
    a time, and written again. The rest are merged, with each other and then with the last run, on
    their way on::

        i -> RunSorter -+-----------------------------------------+-> Merge -> o
                        |                                         |
                        +-> RunWriter -> memory -> RunReader -> MergeTree
                              ^                                   |
                              +---- as long as they are many -----+

    A pair a cycle enters, leaves, or passes a merge, whatever the rows are: for n pairs

        n + n + s * run_length * passes

    cycles and what fills and drains, where `passes` is the times that the spilled runs are merged
    and written again; see `Packing` for that, and for the scratch space that is used.

    Members:
        start: A batch begins; whatever was there must have left.
        lookups: Its pairs are at most so many; steady from start on.
        scratch, half: Address of the scratch space, on a beat, and bytes from there to its second
            half, whole beats; steady likewise.
        i: Pairs; the last one with `end`. A batch may have none.
        o: Sorted pairs; the last one with `end`.
        feeding: What is read now goes straight to `o`.
        read_request, read_data: To a read port's client.
        write_request, write_data, pending: To a write port's client, and what it tells.
    """

    start: Signal
    lookups: Signal
    scratch: Signal
    half: Signal
    i: stream.Interface
    o: stream.Interface
    feeding: Signal
    read_request: stream.Interface
    read_data: stream.Interface
    write_request: stream.Interface
    write_data: stream.Interface
    pending: Signal

    def __init__(self, config: EngineConfig):
        self.config = config
        self._spills = Signal()  # a run of the batch has been spilled
        pairs = stream.Signature(SortPairLayout(config))
        request = Out(stream.Signature(RequestLayout(config)))
        super().__init__(
            {
                "start": In(1),
                "lookups": In(config.lookup_bits),
                "scratch": In(config.address_bits),
                "half": In(config.address_bits),
                "i": In(pairs),
                "o": Out(pairs),
                "feeding": Out(1),
                "read_request": request,
                "read_data": In(stream.Signature(config.bus_bits)),
                "write_request": request,
                "write_data": Out(stream.Signature(WriteBeatLayout(config))),
                "pending": In(1),
            }
        )

    def elaborate(self, platform):
        m = Module()
        config = self.config
        begin = Signal(init=1)  # a merge: what is left of the last one is gone
        m.submodules.run_sorter = run_sorter = RunSorter(config)
        # Between the two, so that neither's ready waits for the other's.
        m.submodules.runs = runs = Queue(SortPairLayout(config), depth=QUEUE_DEPTH)
        connect(m, run_sorter.o, runs.i)
        # What is merged is compared: it comes from flip-flops, not from a RAM.
        m.submodules.next_run = next_run = Queue(SortPairLayout(config), depth=2)
        m.submodules.next_merged = next_merged = Queue(MergedPairLayout(config), depth=2)
        connect(m, runs.o, next_run.i)
        m.submodules.writer = writer = RunWriter(config)
        m.submodules.merged = merged = Queue(MergedPairLayout(config), depth=QUEUE_DEPTH)
        connect(m, merged.o, next_merged.i)
        reader, tree = RunReader(config), MergeTree(config)
        merging = reset_by(m, begin, domain="merging")
        m.submodules.reader = merging(reader)
        m.submodules.tree = merging(tree)
        connect(m, reader.request, flipped(self.read_request))
        connect(m, flipped(self.read_data), reader.data)
        connect(m, writer.request, flipped(self.write_request))
        connect(m, writer.data, flipped(self.write_data))
        m.d.comb += [
            reader.asked.eq(tree.asked),
            reader.following.eq(tree.following),
            reader.step.eq(tree.step),
            tree.ready.eq(reader.ready),
            tree.item.eq(reader.item),
            merged.i.payload.pair.row.eq(tree.winner.row),
            merged.i.payload.pair.source.eq(tree.winner.source),
            merged.i.valid.eq(tree.valid),
        ]
        m.d.sync += tree.room.eq(merged.level < QUEUE_DEPTH - 1)

        alone, spilled, run = self._enter(m, run_sorter, next_run)
        written = ~merged.o.valid & ~next_merged.o.valid & ~writer.busy & ~self.pending
        final = self._passes(m, reader, tree, writer, begin, alone, spilled, written)
        all_given = self._leave(m, run, tree, next_merged, writer, alone, spilled, final)
        m.d.comb += merged.i.payload.last.eq(all_given)
        return m

    def _enter(self, m: Module, run_sorter: RunSorter, runs: Queue):
        """Cuts the batch into runs. Gives whether the run that leaves is the batch's last, how many
        have left before it, to be spilled, and the stream of its pairs.

        A run leaves only when all of it has entered: so it is known by then.
        """
        length = exact_log2(self.config.run_length)
        pair = self.i.payload
        position = Signal(length)  # of the entering pair in its run
        ended = Signal()  # the batch has entered
        inside, inside_next = Signal(3), Signal(3)  # runs in the RunSorter that are whole
        alone = Signal()  # of them there is one, and the batch has entered
        left = Signal()  # one has left in the cycle before; the next is not judged yet, so it waits
        run = stream.Signature(SortPairLayout(self.config)).create()
        entering = self.i.valid & self.i.ready
        closing = pair.end | position.all()
        leaving = run.valid & run.ready & run.payload.end
        m.d.comb += [
            run_sorter.most.eq(self.lookups),
            run_sorter.i.payload.eq(pair),
            run_sorter.i.payload.end.eq(closing),
            run_sorter.i.valid.eq(self.i.valid),
            self.i.ready.eq(run_sorter.i.ready),
            run.payload.eq(runs.o.payload),
            run.valid.eq(runs.o.valid & ~left),
            runs.o.ready.eq(run.ready & ~left),
        ]
        ending = Mux(entering, pair.end, ended)
        m.d.comb += inside_next.eq(inside + (entering & closing) - left)
        m.d.sync += [
            left.eq(leaving),
            inside.eq(inside_next),
            ended.eq(ending),
            alone.eq(ending & (inside_next == 1)),
        ]
        with m.If(entering):
            m.d.sync += position.eq(Mux(closing, 0, position + 1))
        spilled = Signal(self.config.lookup_bits - length)
        with m.If(self.start):
            m.d.sync += [ended.eq(0), alone.eq(0), spilled.eq(0), self._spills.eq(0)]
        with m.Elif(left & ~alone):
            m.d.sync += [spilled.eq(spilled + 1), self._spills.eq(1)]
        return alone, spilled, run

    def _leave(self, m, run, tree, merged, writer, alone, spilled, final) -> Value:
        """Runs go to memory; the last one is merged with all that come back for the last time.

        Gives whether the pair that the tree gives is the last of them.
        """
        m.submodules.last_merge = last_merge = Merge(self.config)
        rest, last_run = last_merge.a, last_merge.b
        single = alone & ~self._spills  # there is nothing to merge it with
        first, pair = run.payload, merged.o.payload.pair
        m.d.comb += [
            writer.i.payload.row.eq(Mux(alone, pair.row, first.row)),
            writer.i.payload.source.eq(Mux(alone, pair.source, first.source)),
            writer.i.valid.eq(Mux(alone, merged.o.valid & ~final, run.valid)),
            rest.payload.row.eq(pair.row),
            rest.payload.source.eq(pair.source),
            rest.payload.empty.eq(single),
            rest.payload.last.eq(single | merged.o.payload.last),
            rest.valid.eq(single | (merged.o.valid & final)),
            merged.o.ready.eq(Mux(final, rest.ready, writer.i.ready & alone)),
            last_run.payload.row.eq(first.row),
            last_run.payload.source.eq(first.source),
            last_run.payload.last.eq(first.end),
            last_run.payload.end.eq(first.end),
            last_run.valid.eq(run.valid & alone),
            run.ready.eq(Mux(alone, last_run.ready, writer.i.ready)),
            self.o.payload.row.eq(last_merge.o.payload.row),
            self.o.payload.source.eq(last_merge.o.payload.source),
            self.o.payload.end.eq(last_merge.o.payload.end),
            self.o.valid.eq(last_merge.o.valid),
            last_merge.o.ready.eq(self.o.ready),
        ]
        # Pairs of the last merge that the tree has given and will give, this cycle's included.
        given, giving = Signal(self.config.lookup_bits), tree.valid & final
        all_given = Signal()
        total = spilled << exact_log2(self.config.run_length)
        m.d.sync += all_given.eq(Mux(giving, given + 2 == total, given + 1 == total))
        with m.If(self.start):
            m.d.sync += given.eq(0)
        with m.Elif(giving):
            m.d.sync += given.eq(given + 1)
        return all_given

    def _passes(self, m, reader, tree, writer, begin, alone, spilled, written) -> Signal:
        """Once runs are formed they are merged, as often as need be, and for the last time.

        Gives whether it is the last time.
        """
        config, packing = self.config, self.config.packing
        length, ways = exact_log2(config.run_length), exact_log2(config.merge_ways)
        count = Signal.like(spilled)  # runs that there are now
        run_pairs = Signal(config.lookup_bits + ways)  # of each but the last
        run_bytes = Signal(config.address_bits)
        in_half = Signal()  # the runs are in the second half
        second = Signal(config.address_bits)
        left = Signal(config.lookup_bits)  # pairs of runs that have not been given to a way
        address = Signal(config.address_bits)  # of the next one
        way = Signal(ways)
        final = Signal()
        telling = Signal()  # the ways their runs
        # A way's run takes a sum and a comparison: it is told a cycle later.
        m.submodules.ways = told = Queue(WayLayout(config), depth=2)
        connect(m, told.o, reader.ways)
        run = told.i.payload
        last_run = left < run_pairs
        m.d.sync += second.eq(self.scratch + self.half)
        m.d.comb += [
            run.address.eq(address),
            run.pairs.eq(Mux(last_run, left, run_pairs)),
            told.i.valid.eq(telling),
            self.feeding.eq(final),
            writer.start.eq(self.start),
            writer.address.eq(self.scratch),
        ]
        m.d.sync += begin.eq(0)
        with m.FSM():
            with m.State("form runs"):
                with m.If(alone & self._spills):
                    m.next = "await spills"
            with m.State("await spills"):
                m.d.sync += [
                    count.eq(spilled),
                    run_pairs.eq(config.run_length),
                    run_bytes.eq(packing.run_bytes),
                ]
                with m.If(written):
                    m.next = "begin pass"
            with m.State("begin pass"):
                m.d.comb += [
                    writer.start.eq(1),
                    writer.address.eq(Mux(in_half, self.scratch, second)),
                ]
                m.d.sync += [
                    final.eq(count <= config.merge_ways),
                    left.eq(spilled << length),
                    address.eq(Mux(in_half, second, self.scratch)),
                    begin.eq(1),
                ]
                m.next = "begin merge"
            with m.State("begin merge"):
                m.d.sync += [way.eq(0), telling.eq(1)]
                m.next = "tell ways"
            with m.State("tell ways"):
                with m.If(told.i.ready):
                    m.d.sync += [
                        way.eq(way + 1),
                        left.eq(Mux(last_run, 0, left - run_pairs)),
                        address.eq(address + run_bytes),
                    ]
                    with m.If(way.all()):
                        m.d.sync += telling.eq(0)
                        m.next = "merge"
            with m.State("merge"):
                with m.If(tree.over & ~final):
                    m.d.sync += begin.eq(left != 0)
                    m.next = "begin merge"
                    with m.If(left == 0):
                        m.next = "await merged"
                with m.If(self.start):
                    m.next = "form runs"
            with m.State("await merged"):
                with m.If(written):
                    m.d.sync += [
                        count.eq((count + (config.merge_ways - 1)) >> ways),
                        run_pairs.eq(run_pairs << ways),
                        run_bytes.eq(run_bytes << ways),
                        in_half.eq(~in_half),
                    ]
                    m.next = "begin pass"
        with m.If(self.start):
            m.d.sync += [final.eq(0), in_half.eq(0)]
        return final
