# SPDX-FileCopyrightText: castbag contributors
# SPDX-License-Identifier: BSD-2-Clause
"""BatchSorter: the pairs of a batch of any length, sorted by row."""

from amaranth.hdl import Module, Mux, ResetInserter, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out, connect, flipped
from amaranth.utils import exact_log2

from ..config import EngineConfig
from ..layouts import RequestLayout, SortPairLayout, WriteBeatLayout
from ..queue import Queue
from .run_reader import RunReader
from .run_sorter import RunSorter
from .run_writer import RunWriter
from .tree import MergeTree

QUEUE_DEPTH = 16
"""Sorted pairs that wait to be written, or to be taken."""


class QueuedPairLayout(data.StructLayout):
    """A pair of a sorted run, and where that goes."""

    def __init__(self, config: EngineConfig):
        super().__init__({"pair": SortPairLayout(config), "spill": 1})  # spill: to memory


class BatchSorter(wiring.Component):
    """The pairs of each batch leave sorted by row, those of a row in the order they entered.

    In NumPy::

        order = np.argsort(row, kind="stable")
        row, source = row[order], source[order]

    Pairs are sorted in runs of `run_length`. The last run never leaves the chip; those before it
    are spilled, `s` of them. While they are more than `merge_ways - 1` they are merged,
    `merge_ways` at a time, and written again; then the rest and the last run are merged and leave::

        i -> RunSorter -+-> queue -+-> RunWriter -> memory
                        |          +-> o
                        |   MergeTree -> queue ...
                        +-> RunReader <- memory

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
        begin = Signal()  # a merge: what is left of the last one is gone
        m.submodules.run_sorter = run_sorter = RunSorter(config)
        # Between the two, so that neither's ready waits for the other's.
        m.submodules.runs = runs = Queue(SortPairLayout(config), depth=QUEUE_DEPTH)
        connect(m, run_sorter.o, runs.i)
        m.submodules.writer = writer = RunWriter(config)
        m.submodules.queue = queue = Queue(QueuedPairLayout(config), depth=QUEUE_DEPTH)
        reader, tree = RunReader(config), MergeTree(config)
        m.submodules.reader = ResetInserter(begin)(reader)
        m.submodules.tree = ResetInserter(begin)(tree)
        connect(m, reader.request, flipped(self.read_request))
        connect(m, flipped(self.read_data), reader.data)
        connect(m, writer.request, flipped(self.write_request))
        connect(m, writer.data, flipped(self.write_data))
        m.d.comb += [
            reader.asked.eq(tree.asked),
            reader.step.eq(tree.step),
            tree.ready.eq(reader.ready),
            tree.item.eq(reader.item),
        ]
        m.d.sync += tree.room.eq(queue.level < QUEUE_DEPTH - 1)

        left, alone = self._enter(m, run_sorter, runs)
        spilling = Signal()  # the runs that leave the RunSorter, or the tree, go to memory
        direct = Signal()  # pairs come from the RunSorter
        self._leave(m, runs, reader, tree, queue, writer, direct, spilling, left)
        self._passes(m, runs, reader, tree, queue, writer, begin, direct, spilling, alone)
        return m

    def _enter(self, m: Module, run_sorter: RunSorter, runs: Queue):
        """Cuts the batch into runs. Gives the count of its pairs, and whether the run that leaves
        the RunSorter is the batch's last.

        A run leaves only when all of it has entered: so it is known by then.
        """
        length = self.config.run_length
        pair = self.i.payload
        position = Signal(range(length))  # of the entering pair in its run
        pairs = Signal(self.config.lookup_bits)
        ended = Signal()  # the batch has entered
        inside = Signal(3)  # runs in the RunSorter that are whole
        entering = self.i.valid & self.i.ready
        closing = pair.end | position.all()
        leaving = runs.o.valid & runs.o.ready & runs.o.payload.end
        m.d.comb += [
            run_sorter.most.eq(self.lookups),
            run_sorter.i.payload.eq(pair),
            run_sorter.i.payload.end.eq(closing),
            run_sorter.i.valid.eq(self.i.valid),
            self.i.ready.eq(run_sorter.i.ready),
        ]
        m.d.sync += inside.eq(inside + (entering & closing) - leaving)
        with m.If(entering):
            m.d.sync += [
                position.eq(Mux(closing, 0, position + 1)),
                pairs.eq(pairs + 1),
                ended.eq(pair.end),
            ]
        with m.If(self.start):
            m.d.sync += [pairs.eq(0), ended.eq(0)]
        return pairs, ended & (inside == 1)

    def _leave(self, m, runs, reader, tree, queue, writer, direct, spilling, pairs) -> None:
        """Sorted pairs go to the queue, and from there to memory or on."""
        given = Signal.like(pairs)  # pairs that have gone on
        entry, head = queue.i.payload, queue.o.payload
        m.d.comb += [
            entry.spill.eq(spilling),
            reader.last_run.payload.eq(runs.o.payload),
            writer.i.payload.row.eq(head.pair.row),
            writer.i.payload.source.eq(head.pair.source),
            writer.i.valid.eq(queue.o.valid & head.spill),
            self.o.payload.eq(head.pair),
            self.o.valid.eq(queue.o.valid & ~head.spill),
            queue.o.ready.eq(Mux(head.spill, writer.i.ready, self.o.ready)),
        ]
        with m.If(direct):
            m.d.comb += [
                entry.pair.eq(runs.o.payload),
                queue.i.valid.eq(runs.o.valid),
                runs.o.ready.eq(queue.i.ready),
            ]
        with m.Else():
            m.d.comb += [
                entry.pair.row.eq(tree.winner.row),
                entry.pair.source.eq(tree.winner.source),
                entry.pair.end.eq(given + 1 == pairs),
                queue.i.valid.eq(tree.valid),
                reader.last_run.valid.eq(runs.o.valid),
                runs.o.ready.eq(reader.last_run.ready),
            ]
        with m.If(self.start):
            m.d.sync += given.eq(0)
        with m.Elif(tree.valid & ~spilling):
            m.d.sync += given.eq(given + 1)

    def _passes(self, m, runs, reader, tree, queue, writer, begin, direct, spilling, alone):
        """Runs are formed, merged as often as need be, and merged for the last time."""
        config, packing = self.config, self.config.packing
        length, ways = exact_log2(config.run_length), exact_log2(config.merge_ways)
        spilled = Signal(config.lookup_bits - length)  # runs, before any pass
        count = Signal.like(spilled)  # runs that there are now
        run_pairs = Signal(config.lookup_bits + ways)  # of each but the last
        run_bytes = Signal(config.address_bits)
        in_half = Signal()  # the runs are in the second half
        second = Signal(config.address_bits)
        left = Signal(config.lookup_bits)  # pairs of runs that have not been given to a way
        address = Signal(config.address_bits)  # of the next one
        way = Signal(ways)
        final = Signal()
        run = reader.ways.payload
        m.d.sync += second.eq(self.scratch + self.half)
        written = (queue.level == 0) & ~writer.busy & ~self.pending
        none = final & way.all()  # the last way is the RunSorter's run
        fits = left < run_pairs
        m.d.comb += [
            reader.live.eq(final),
            run.address.eq(address),
            run.pairs.eq(Mux(none, 0, Mux(fits, left, run_pairs))),
            self.feeding.eq(final),
        ]
        m.d.comb += [writer.start.eq(self.start), writer.address.eq(self.scratch)]
        with m.FSM():
            with m.State("form runs"):
                waiting = alone & (spilled != 0)
                m.d.comb += [direct.eq(~waiting), spilling.eq(~alone)]
                with m.If(runs.o.valid & runs.o.ready & runs.o.payload.end & spilling):
                    m.d.sync += spilled.eq(spilled + 1)
                with m.If(waiting):
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
                    left.eq(spilled << length),
                    address.eq(Mux(in_half, second, self.scratch)),
                ]
                m.next = "begin merge"
            with m.State("begin merge"):
                m.d.comb += begin.eq(1)
                # Not sooner: what is left of the last merge would take pairs of the last run.
                m.d.sync += [way.eq(0), final.eq(count < config.merge_ways)]
                m.next = "tell ways"
            with m.State("tell ways"):
                m.d.comb += [reader.ways.valid.eq(1), spilling.eq(~final)]
                with m.If(reader.ways.ready):
                    m.d.sync += [
                        way.eq(way + 1),
                        left.eq(left - run.pairs),
                        address.eq(address + run_bytes),
                    ]
                    with m.If(way.all()):
                        m.next = "merge"
            with m.State("merge"):
                m.d.comb += spilling.eq(~final)
                with m.If(tree.over & ~final):
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
            m.d.sync += [spilled.eq(0), final.eq(0), in_half.eq(0)]
