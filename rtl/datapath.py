# SPDX-FileCopyrightText: castbag contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Datapath: all streaming units of the engine and the streams between them."""

from enum import IntEnum

from amaranth.hdl import Cat, Module, Mux, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out, connect, flipped

from .address import VectorAddress
from .axi import AXI4ReadSignature, AXI4WriteSignature, numbered
from .batch import BatchReader
from .cast_path import CastPath
from .config import EngineConfig
from .control.command import CommandLayout
from .control.map import (
    DESCRIPTOR_WORDS,
    MAIN_READERS,
    MAIN_WRITERS,
    READ_CLIENTS,
    UNITS,
    WRITE_CLIENTS,
    Dataflow,
    Error,
)
from .gather_reduce import GatherReduce
from .layouts import VectorWordLayout
from .lookups import LookupSource, Origin
from .memory import ReadClient, ReadPort, WriteClient, WritePort
from .sort.run_reader import CHUNKS_ON_THEIR_WAY
from .update import SgdUpdate
from .writer import VectorWriter


class Activity(IntEnum):
    """What the main path is doing."""

    IDLE = 0
    COMMAND = 1  # read a descriptor
    FORWARD = 2
    EXPAND = 3
    BACKWARD = 4
    UPDATE = 5


class Datapath(wiring.Component):
    """Carries out one activity at a time on the main path, and a cast beside it.

        main   batch -> lookups -> gather-reduce -> [update ->] writer
        cast   batch -> sorter (and memory) -> caster -> the cast table, or lookups

    An activity begins with `start`, runs to `done` and leaves nothing on its way: its writes
    have been answered. So whatever a later activity reads has been written. A cast begins with
    `cast_start`; it is done once its lists are written (`cast`, `expand-coalesce`), or once the
    sorted pairs stand at the caster, where they wait for the backward pass (`fused`). In a
    backward pass with update each row is read once, and written after it was read.

    A fault stops nothing here: the owner sees `fault`, raises `halt`, waits for `idle` and
    resets the whole datapath.

    Members:
        read, write: The AXI4 port; read1, read2, ...: those that only read, if there are any.
        command: What is asked for; steady while anything runs.
        descriptor: Byte address of the descriptor, for COMMAND.
        activity: What the main path does; steady from `start` to `done`.
        start, done: Of the activity; the latter means nothing in the cycle of the former.
        cast_start, cast_done: Of the cast, likewise.
        words: The descriptor's words, for COMMAND.
        valid_lookups, dropped_lookups, unique_rows: Counts of the last batch.
        read_beats, write_beats: Bit k: a beat of client k has passed (`map.READ_CLIENTS`, ...).
        feeding: Runs that are read are merged for the backward pass of `fused`.
        unit_valid, unit_ready: Bit k: of the stream into unit k (`map.UNITS`).
        fault, position, cast_fault: Code and place of the first fault; whether it was the cast's.
        halt: Start no burst any more.
        idle: All bursts have been answered.
        reading: A read burst has not been.
        trace: Words of coalesced gradients as they pass (no handshake).
    """

    def __init__(self, config: EngineConfig):
        self.config = config
        bus = {"address_bits": config.address_bits, "data_bits": config.bus_bits}
        super().__init__(
            {
                **{
                    name: Out(AXI4ReadSignature(**bus))
                    for name in numbered("read", config.read_ports)
                },
                "write": Out(AXI4WriteSignature(**bus)),
                "command": In(CommandLayout(config)),
                "descriptor": In(config.address_bits),
                "activity": In(Activity),
                "start": In(1),
                "done": Out(1),
                "cast_start": In(1),
                "cast_done": Out(1),
                "words": Out(stream.Signature(64)),
                "valid_lookups": Out(config.lookup_bits),
                "dropped_lookups": Out(config.lookup_bits),
                "unique_rows": Out(config.lookup_bits),
                "read_beats": Out(len(READ_CLIENTS)),
                "write_beats": Out(len(WRITE_CLIENTS)),
                "feeding": Out(1),
                "unit_valid": Out(len(UNITS)),
                "unit_ready": Out(len(UNITS)),
                "fault": Out(Error),
                "position": Out(64),
                "cast_fault": Out(1),
                "halt": In(1),
                "idle": Out(1),
                "reading": Out(1),
                "trace": Out(VectorWordLayout(config)),
                "trace_valid": Out(1),
            }
        )

    read: wiring.PureInterface
    write: wiring.PureInterface
    command: data.View
    descriptor: Signal
    activity: Signal
    start: Signal
    done: Signal
    cast_start: Signal
    cast_done: Signal
    words: stream.Interface
    valid_lookups: Signal
    dropped_lookups: Signal
    unique_rows: Signal
    read_beats: Signal
    write_beats: Signal
    feeding: Signal
    unit_valid: Signal
    unit_ready: Signal
    fault: Signal
    position: Signal
    cast_fault: Signal
    halt: Signal
    idle: Signal
    reading: Signal
    trace: data.View
    trace_valid: Signal

    def elaborate(self, platform):
        m = Module()
        ports = self._ports(m)
        cast = self._cast_path(m, ports)
        batch = self._main_path(m, ports, cast)
        self._faults(m, ports, batch, cast)
        backward = self.command.backward
        m.d.comb += [
            self.valid_lookups.eq(Mux(backward, cast.valid_lookups, batch.valid_lookups)),
            self.dropped_lookups.eq(Mux(backward, cast.dropped_lookups, batch.dropped_lookups)),
            self.unique_rows.eq(Mux(backward, cast.unique_rows, 0)),
        ]
        return m

    def _ports(self, m: Module):
        """The two halves of the memory port, and which beats belong to whom."""
        config = self.config
        # An element a cycle from a memory some 100 cycles away; and a whole number of bursts.
        lists, bursts = 4 * config.burst_beats, 4
        runs = 16 * config.burst_beats  # a pair a cycle, which may be a beat
        vectors = {"beats": config.vector_beats, "bursts": config.vector_requests}
        readers = {"vectors": vectors, "rows": vectors} | {
            "runs": {"beats": runs, "bursts": CHUNKS_ON_THEIR_WAY}
        }
        writers = {"vectors": {"beats": lists, "bursts": config.vector_requests}}
        others = {"beats": lists, "bursts": bursts}
        m.submodules.read_port = read = ReadPort(
            config,
            clients=tuple(ReadClient(n, **readers.get(n, others)) for n, _ in READ_CLIENTS),
        )
        m.submodules.write_port = write = WritePort(
            config,
            clients=tuple(WriteClient(n, **writers.get(n, others)) for n, _ in WRITE_CLIENTS),
        )
        names = (numbered(kind, config.read_ports) for kind in ("axi", "read"))
        for inner, outer in zip(*names, strict=True):
            connect(m, getattr(read, inner), flipped(getattr(self, outer)))
        connect(m, write.axi, flipped(self.write))
        m.d.comb += [
            read.halt.eq(self.halt),
            write.halt.eq(self.halt),
            self.idle.eq(read.idle & write.idle),
            self.reading.eq(~read.idle),
            self.read_beats.eq(read.beat),
            self.write_beats.eq(write.beat),
        ]
        return read, write

    def _cast_path(self, m: Module, ports) -> CastPath:
        """What runs beside the forward pass."""
        read, write = ports
        m.submodules.cast = cast = CastPath(self.config)
        for request, beats, client in (
            (cast.entries_request, cast.entries_data, read.client("cast_entries")),
            (cast.offsets_request, cast.offsets_data, read.client("cast_offsets")),
            (cast.runs_request, cast.runs_data, read.client("runs")),
        ):
            connect(m, request, client.request)
            connect(m, client.data, beats)
        for request, beats, client in (
            (cast.table_request, cast.table_data, write.client("cast_table")),
            (cast.rows_request, cast.rows_data, write.client("unique_rows")),
            (cast.spill_request, cast.spill_data, write.client("runs")),
        ):
            connect(m, request, client.request)
            connect(m, beats, client.data)
        m.d.comb += [
            cast.command.eq(self.command),
            cast.start.eq(self.cast_start),
            cast.pending.eq(write.pending[1:3].any()),
            cast.spill_pending.eq(write.pending[3]),
            self.feeding.eq(cast.feeding),
            self.cast_done.eq(cast.done),
        ]
        return cast

    def _main_path(self, m: Module, ports, cast: CastPath) -> BatchReader:
        """Whatever the activity: lookups, their vectors, their sums, and where those go."""
        config, command, activity = self.config, self.command, self.activity
        read, write = ports
        m.submodules.batch_reader = batch = BatchReader(config)
        m.submodules.lookups = lookups = LookupSource(config)
        m.submodules.gather_reduce = gather = GatherReduce(config)
        m.submodules.row_address = row_address = VectorAddress(config)
        m.submodules.update = update = SgdUpdate(config)
        m.submodules.writer = writer = VectorWriter(config)
        connect(m, batch.entries_request, read.client("entries").request)
        connect(m, read.client("entries").data, batch.entries_data)
        connect(m, batch.offsets_request, read.client("offsets").request)
        connect(m, read.client("offsets").data, batch.offsets_data)
        connect(m, batch.o, lookups.pairs)
        connect(m, cast.casted, lookups.casted)
        connect(m, lookups.o, gather.i)
        connect(m, gather.request, read.client("vectors").request)
        connect(m, read.client("vectors").data, gather.data)
        connect(m, gather.closing, row_address.i)
        connect(m, row_address.o, read.client("rows").request)
        connect(m, read.client("rows").data, update.row)
        connect(m, writer.request, write.client("vectors").request)
        connect(m, writer.data, write.client("vectors").data)

        fused = command.dataflow == Dataflow.FUSED
        updating = Signal()
        m.d.comb += [
            batch.command.eq(command),
            lookups.start.eq(self.start),
            gather.words.eq(command.words),
            gather.announce.eq(updating),
            row_address.words.eq(command.words),
            row_address.base.eq(command.table),
            update.learning_rate.eq(command.learning_rate),
            writer.words.eq(command.words),
            writer.dim.eq(command.dim),
        ]

        # Of a batch come pairs; the entries of any other list are a descriptor's words, or
        # lookups themselves.
        wanted = batch.list.payload
        from_pairs = (activity == Activity.FORWARD) | (activity == Activity.EXPAND)
        m.d.sync += [
            batch.start.eq(self.start & from_pairs),
            batch.list.valid.eq(self.start & ~from_pairs),
        ]
        receiving = Signal()
        with m.If(receiving):
            connect(m, batch.entries, flipped(self.words))
        with m.Else():
            connect(m, batch.entries, lookups.entries)
        # What holds for all of an activity is known a cycle into it, before the first lookup comes.
        m.d.sync += [
            receiving.eq(activity == Activity.COMMAND),
            batch.keep_empty.eq(0),
            lookups.origin.eq(Origin.NONE),
            gather.ordered.eq(0),
            updating.eq(0),
        ]
        with m.Switch(activity):
            with m.Case(Activity.COMMAND):
                m.d.sync += [
                    wanted.address.eq(self.descriptor),
                    wanted.count.eq(DESCRIPTOR_WORDS),
                ]
            with m.Case(Activity.FORWARD):
                m.d.sync += [
                    batch.keep_empty.eq(1),
                    lookups.origin.eq(Origin.BAGS),
                    gather.base.eq(command.table),
                    writer.base.eq(command.pooled),
                ]
            with m.Case(Activity.EXPAND):
                m.d.sync += [
                    lookups.origin.eq(Origin.COPIES),
                    gather.base.eq(command.gradient),
                    gather.ordered.eq(1),
                    writer.base.eq(command.expanded),
                ]
            with m.Case(Activity.BACKWARD):
                copies = command.dataflow == Dataflow.EXPAND_COALESCE
                m.d.sync += [
                    wanted.address.eq(command.cast_table),
                    wanted.count.eq(Mux(fused, 0, cast.valid_lookups)),
                    lookups.origin.eq(Mux(fused, Origin.CASTED, Origin.CAST_TABLE)),
                    gather.base.eq(Mux(copies, command.expanded, command.gradient)),
                    updating.eq(fused),
                    writer.base.eq(Mux(fused, command.table, command.coalesced)),
                ]
            with m.Case(Activity.UPDATE):
                m.d.sync += [
                    wanted.address.eq(command.unique_rows),
                    wanted.count.eq(cast.unique_rows),
                    lookups.origin.eq(Origin.UNIQUE_ROWS),
                    gather.base.eq(command.coalesced),
                    updating.eq(1),
                    writer.base.eq(command.table),
                ]

        # Sums are finished vectors, or gradients for the update.
        sums, gradient = gather.o, update.gradient
        m.d.comb += [
            gradient.payload.eq(sums.payload),
            gradient.valid.eq(sums.valid & updating),
            sums.ready.eq(Mux(updating, gradient.ready, writer.i.ready)),
            writer.i.payload.eq(Mux(updating, update.o.payload, sums.payload)),
            writer.i.valid.eq(Mux(updating, update.o.valid, sums.valid)),
            update.o.ready.eq(writer.i.ready),
        ]
        inputs = (update.gradient, writer.i)
        m.d.comb += [
            self.unit_valid.eq(Cat(gather.valid, (each.valid for each in inputs), cast.valid)),
            self.unit_ready.eq(Cat(gather.ready, (each.ready for each in inputs), cast.ready)),
            self.trace.eq(gather.o.payload),
            self.trace_valid.eq(gather.o.valid & gather.o.ready & (activity == Activity.BACKWARD)),
        ]

        # Done: no lookup is left to come, and every segment's vector has been written.
        left = Signal(config.lookup_bits)  # lookups to come, of those that a list or the cast gives
        segments = Signal(range(4 * (config.window + config.vector_requests)))
        lookup_taken = lookups.o.valid & lookups.o.ready
        requested = writer.request.valid & writer.request.ready
        taken = Signal()  # a lookup, in the cycle before
        opened, closed = Signal(), Signal()  # segments, likewise
        m.d.sync += [
            taken.eq(lookup_taken),
            opened.eq(lookup_taken & lookups.o.payload.last),
            closed.eq(requested),
            segments.eq(segments + opened - closed),
        ]
        with m.If(self.start):  # nothing is taken in that cycle, see LookupSource
            total = Mux(activity == Activity.UPDATE, cast.unique_rows, cast.valid_lookups)
            m.d.sync += left.eq(total)
        with m.Elif(taken):
            m.d.sync += left.eq(left - 1)
        m.d.sync += self.done.eq(
            ~(self.start | batch.start)
            & Mux(from_pairs, batch.done, left == 0)
            & (segments == 0)
            & ~opened
            & ~write.pending[0]
        )
        return batch

    def _faults(self, m: Module, ports, batch: BatchReader, cast: CastPath) -> None:
        """The first fault, by unit where two come at once."""
        read, write = ports
        with m.If(batch.error != Error.NONE):
            m.d.comb += [self.fault.eq(batch.error), self.position.eq(batch.position)]
        with m.Elif(cast.error != Error.NONE):
            m.d.comb += [
                self.fault.eq(cast.error),
                self.position.eq(cast.position),
                self.cast_fault.eq(1),
            ]
        with m.Elif(read.error):
            m.d.comb += [
                self.fault.eq(Error.READ),
                self.position.eq(read.error_address),
                self.cast_fault.eq(read.error_client >= MAIN_READERS),
            ]
        with m.Elif(write.error):
            m.d.comb += [
                self.fault.eq(Error.WRITE),
                self.position.eq(write.error_address),
                self.cast_fault.eq(write.error_client >= MAIN_WRITERS),
            ]
