# SPDX-FileCopyrightText: castbag contributors
# SPDX-License-Identifier: BSD-2-Clause
"""CastPath: the part of the machine that runs beside the forward pass and makes it pay."""

from amaranth.hdl import Cat, Module, Mux, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out, connect, flipped

from .batch import BatchReader
from .cast_table import CastTableWriter
from .caster import Caster
from .config import EngineConfig
from .control.command import CommandLayout
from .control.map import Dataflow, Error
from .layouts import CastedLayout, RequestLayout, SortPairLayout, WriteBeatLayout
from .queue import Queue
from .sort.batch_sorter import BatchSorter


class CastPath(wiring.Component):
    """The pairs of a batch, sorted by row and casted: kept in memory, or held.

        batch -> pairs -> BatchSorter -> Caster -+-> CastTableWriter   (`cast`, `expand-coalesce`)
                             |                   +-> casted            (`fused`)
                           memory

    What is sorted beside the row is the bag or, for `expand-coalesce`, the lookup's ordinal:
    the number of its gradient copy. In `fused` the last merge of the sorter is what the backward
    pass takes its lookups from: so the cast is done when that may begin.

    Members:
        command: What is asked for; steady while busy.
        start: Begins the cast of the batch.
        done: The lists are written, or the first casted lookup is there to be taken. A cycle late,
            so it means nothing in the cycle of `start`.
        casted: For the backward pass of `fused`.
        feeding: The runs that are read are read for `casted`.
        unique_rows: Distinct rows, once the batch's last lookup has been casted.
        valid_lookups, dropped_lookups, error, position: See `PairReader`.
        entries_request, entries_data, offsets_request, offsets_data: To two read clients.
        runs_request, runs_data: To another one.
        spill_request, spill_data, table_request, table_data, rows_request, rows_data: To three
            write clients.
        spill_pending, pending: The first, or one of the others, still awaits an answer.
        valid, ready: Of the streams into sorter and caster, for counters.
    """

    command: data.View
    start: Signal
    done: Signal
    casted: stream.Interface
    feeding: Signal
    unique_rows: Signal
    valid_lookups: Signal
    dropped_lookups: Signal
    error: Signal
    position: Signal
    entries_request: stream.Interface
    entries_data: stream.Interface
    offsets_request: stream.Interface
    offsets_data: stream.Interface
    runs_request: stream.Interface
    runs_data: stream.Interface
    spill_request: stream.Interface
    spill_data: stream.Interface
    table_request: stream.Interface
    table_data: stream.Interface
    rows_request: stream.Interface
    rows_data: stream.Interface
    spill_pending: Signal
    pending: Signal
    valid: Signal
    ready: Signal

    def __init__(self, config: EngineConfig):
        self.config = config
        self._batch = BatchReader(config)
        request = Out(stream.Signature(RequestLayout(config)))
        read = In(stream.Signature(config.bus_bits))
        written = Out(stream.Signature(WriteBeatLayout(config)))
        super().__init__(
            {
                "command": In(CommandLayout(config)),
                "start": In(1),
                "done": Out(1),
                "casted": Out(stream.Signature(CastedLayout(config))),
                "feeding": Out(1),
                "unique_rows": Out(config.lookup_bits),
                "valid_lookups": Out(config.lookup_bits),
                "dropped_lookups": Out(config.lookup_bits),
                "error": Out(Error),
                "position": Out(len(self._batch.position)),
                "entries_request": request,
                "entries_data": read,
                "offsets_request": request,
                "offsets_data": read,
                "runs_request": request,
                "runs_data": read,
                "spill_request": request,
                "spill_data": written,
                "table_request": request,
                "table_data": written,
                "rows_request": request,
                "rows_data": written,
                "spill_pending": In(1),
                "pending": In(1),
                "valid": Out(2),
                "ready": Out(2),
            }
        )

    def elaborate(self, platform):
        m = Module()
        command = self.command
        m.submodules.batch_reader = batch = self._batch
        m.submodules.sorter = sorter = BatchSorter(self.config)
        m.submodules.caster = caster = Caster(self.config)
        m.submodules.cast_table = table = CastTableWriter(self.config)
        # So that nobody here waits in the cycle for whoever takes the casted lookups.
        m.submodules.casted_queue = casted = Queue(CastedLayout(self.config), depth=2)
        connect(m, caster.o, casted.i)
        for name in ("entries", "offsets"):
            connect(m, getattr(batch, f"{name}_request"), flipped(getattr(self, f"{name}_request")))
            connect(m, flipped(getattr(self, f"{name}_data")), getattr(batch, f"{name}_data"))
        for name in ("table_request", "table_data", "rows_request", "rows_data"):
            connect(m, getattr(table, name), flipped(getattr(self, name)))
        connect(m, sorter.read_request, flipped(self.runs_request))
        connect(m, flipped(self.runs_data), sorter.read_data)
        connect(m, sorter.write_request, flipped(self.spill_request))
        connect(m, sorter.write_data, flipped(self.spill_data))
        m.submodules.sorted_queue = in_order = Queue(SortPairLayout(self.config), depth=2)
        connect(m, sorter.o, in_order.i)
        connect(m, in_order.o, caster.i)

        pair = batch.o.payload
        copies, fused = Signal(), Signal()  # long before the first pair comes
        m.d.sync += [
            copies.eq(command.dataflow == Dataflow.EXPAND_COALESCE),
            fused.eq(command.dataflow == Dataflow.FUSED),
        ]
        m.d.comb += [
            batch.command.eq(command),
            batch.start.eq(self.start),
            sorter.start.eq(self.start),
            sorter.lookups.eq(command.lookups),
            sorter.scratch.eq(command.scratch),
            sorter.half.eq(command.scratch_half),
            sorter.pending.eq(self.spill_pending),
            sorter.i.payload.row.eq(pair.row),
            sorter.i.payload.source.eq(Mux(copies, pair.ordinal, pair.bag)),
            sorter.i.payload.end.eq(pair.end),
            sorter.i.valid.eq(batch.o.valid),
            self.valid.eq(Cat(sorter.i.valid, caster.i.valid)),
            self.ready.eq(Cat(sorter.i.ready, caster.i.ready)),
            batch.o.ready.eq(sorter.i.ready),
            table.table_address.eq(command.cast_table),
            table.rows_address.eq(command.unique_rows),
            table.i.payload.eq(casted.o.payload),
            table.i.valid.eq(casted.o.valid & ~fused),
            self.feeding.eq(fused & sorter.feeding),
            self.casted.payload.eq(casted.o.payload),
            self.casted.valid.eq(casted.o.valid & fused),
            casted.o.ready.eq(Mux(fused, self.casted.ready, table.i.ready)),
            self.valid_lookups.eq(batch.valid_lookups),
            self.dropped_lookups.eq(batch.dropped_lookups),
            self.error.eq(batch.error),
            self.position.eq(batch.position),
        ]

        taken = Signal(self.config.lookup_bits)  # lookups that have left the caster
        # Counted a cycle later, so that what takes them need not be heard of in the cycle.
        leaving, left = Signal(), Signal.like(casted.o.payload, reset_less=True)
        m.d.sync += [leaving.eq(casted.o.valid & casted.o.ready), left.eq(casted.o.payload)]
        with m.If(leaving):
            m.d.sync += taken.eq(taken + 1)
            with m.If(left.end):
                m.d.sync += self.unique_rows.eq(left.segment + 1)
        with m.If(self.start):
            m.d.sync += [taken.eq(0), self.unique_rows.eq(0)]
        all_taken = taken == batch.valid_lookups
        ready = Mux(fused, all_taken | casted.o.valid, all_taken & ~table.busy & ~self.pending)
        m.d.sync += self.done.eq(~self.start & batch.done & ready)
        return m
