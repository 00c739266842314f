# SPDX-FileCopyrightText: castbag contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Datapath: all streaming units of the engine and the streams between them."""

from enum import IntEnum

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out, connect, flipped

from .address import VectorAddress
from .axi import AXI4ReadSignature, AXI4WriteSignature
from .cast_table import CastTableWriter
from .caster import Caster
from .config import EngineConfig
from .control.command import CommandLayout
from .control.map import DESCRIPTOR_WORDS, Dataflow, Error
from .gather_reduce import GatherReduce
from .layouts import VectorWordLayout
from .lookups import LookupSource, Origin
from .memory import ListReader, ReadClient, ReadPort, WriteClient, WritePort
from .pairs import PairReader
from .sorter import RunSorter
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

        main   entries, offsets -> pairs -> lookups -> gather-reduce [-> update] -> writer
        cast   entries, offsets -> pairs -> sorter -> caster -> lookups, or the cast table

    An activity begins with `start`, runs to `done` and leaves nothing on its way: its writes
    have been answered. So whatever a later activity reads has been written. A cast begins with
    `cast_start`; it is done once its lists are written (`cast`, `expand-coalesce`), or once the
    sorted pairs stand at the caster, where they wait for the backward pass (`fused`). In a
    backward pass with update each row is read once, and written after it was read.

    A fault stops nothing here: the owner sees `fault`, raises `halt`, waits for `idle` and
    resets the whole datapath.

    Members:
        read, write: The AXI4 port.
        command: What is asked for; steady while anything runs.
        descriptor: Byte address of the descriptor, for COMMAND.
        activity: What the main path does; steady from `start` to `done`.
        start, done: Of the activity.
        cast_start, cast_done: Of the cast.
        words: The descriptor's words, for COMMAND.
        valid_lookups, dropped_lookups, unique_rows: Counts of the last batch.
        read_beat, write_beat: Pulse: a beat of the main path has passed.
        cast_read_beat, cast_write_beats: The same of the cast, which has two writers.
        fault, position, cast_fault: Code and place of the first fault; whether it was the cast's.
        halt: Start no burst any more.
        idle: All bursts have been answered.
        trace: Words of coalesced gradients as they pass (no handshake).
    """

    def __init__(self, config: EngineConfig):
        self.config = config
        bus = {"address_bits": config.address_bits, "data_bits": config.bus_bits}
        super().__init__(
            {
                "read": Out(AXI4ReadSignature(**bus)),
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
                "read_beat": Out(1),
                "write_beat": Out(1),
                "cast_read_beat": Out(1),
                "cast_write_beats": Out(2),
                "fault": Out(Error),
                "position": Out(64),
                "cast_fault": Out(1),
                "halt": In(1),
                "idle": Out(1),
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
    read_beat: Signal
    write_beat: Signal
    cast_read_beat: Signal
    cast_write_beats: Signal
    fault: Signal
    position: Signal
    cast_fault: Signal
    halt: Signal
    idle: Signal
    trace: data.View
    trace_valid: Signal

    def elaborate(self, platform):
        m = Module()
        ports = self._ports(m)
        casted, cast_pairs = self._cast_path(m, ports)
        main_pairs = self._main_path(m, ports, casted, cast_pairs)
        self._faults(m, ports, main_pairs, cast_pairs)
        with m.If(self.command.backward):
            m.d.comb += [
                self.valid_lookups.eq(cast_pairs.valid_lookups),
                self.dropped_lookups.eq(cast_pairs.dropped_lookups),
            ]
        with m.Else():
            m.d.comb += [
                self.valid_lookups.eq(main_pairs.valid_lookups),
                self.dropped_lookups.eq(main_pairs.dropped_lookups),
            ]
        return m

    def _ports(self, m: Module):
        """The two halves of the memory port, and which beats belong to whom."""
        config = self.config
        # An element a cycle from a memory some 100 cycles away; and a whole number of bursts.
        lists, bursts = 4 * config.burst_beats, 4
        m.submodules.read_port = read = ReadPort(
            config,
            clients=(
                ReadClient("entries", beats=lists, bursts=bursts),
                ReadClient("offsets", beats=lists, bursts=bursts),
                ReadClient("vectors", beats=config.vector_beats, bursts=config.vector_requests),
                ReadClient("rows", beats=config.vector_beats, bursts=config.vector_requests),
                ReadClient("cast_entries", beats=lists, bursts=bursts),
                ReadClient("cast_offsets", beats=lists, bursts=bursts),
            ),
        )
        m.submodules.write_port = write = WritePort(
            config,
            clients=(
                WriteClient("vectors", beats=4 * config.burst_beats, bursts=config.vector_requests),
                WriteClient("cast_table", beats=lists, bursts=bursts),
                WriteClient("unique_rows", beats=lists, bursts=bursts),
            ),
        )
        connect(m, read.axi, flipped(self.read))
        connect(m, write.axi, flipped(self.write))
        m.d.comb += [
            read.halt.eq(self.halt),
            write.halt.eq(self.halt),
            self.idle.eq(read.idle & write.idle),
            self.read_beat.eq(read.beat[:4].any()),
            self.cast_read_beat.eq(read.beat[4:].any()),
            self.write_beat.eq(write.beat[0]),
            self.cast_write_beats.eq(write.beat[1] + write.beat[2]),
        ]
        return read, write

    def _pairs(self, m: Module, ports, names: tuple[str, str], prefix: str):
        """A reader of pairs with the two list readers before it."""
        read, _ = ports
        entries, offsets = ListReader(self.config), ListReader(self.config)
        pairs = PairReader(self.config)
        for name, unit in zip(names, (entries, offsets), strict=True):
            m.submodules[name] = unit
            client = read.client(name)
            connect(m, unit.request, client.request)
            connect(m, client.data, unit.data)
        m.submodules[f"{prefix}pairs"] = pairs
        connect(m, offsets.o, pairs.offsets)
        command = self.command
        m.d.comb += [
            offsets.start.payload.address.eq(command.offsets),
            offsets.start.payload.count.eq(command.bags + 1),
            offsets.start.payload.wide.eq(command.wide_offsets),
            offsets.start.valid.eq(pairs.start),
            entries.start.payload.address.eq(command.indices),
            entries.start.payload.count.eq(command.lookups),
            entries.start.payload.wide.eq(command.wide_indices),
            *(
                pairs.batch[name].eq(command[name])
                for name in (
                    "lookups",
                    "bags",
                    "rows",
                    "padding_index",
                    "has_padding",
                    "ignore_bounds",
                )
            ),
        ]
        return entries, pairs

    def _cast_path(self, m: Module, ports):
        """Pairs are sorted and casted, then kept in memory or held for the backward pass."""
        _, write = ports
        entries, pairs = self._pairs(m, ports, ("cast_entries", "cast_offsets"), "cast_")
        connect(m, entries.o, pairs.indices)
        m.submodules.sorter = sorter = RunSorter(self.config)
        m.submodules.caster = caster = Caster(self.config)
        m.submodules.cast_table = table = CastTableWriter(self.config)
        connect(m, sorter.o, caster.i)
        for name, request, beats in (
            ("cast_table", table.table_request, table.table_data),
            ("unique_rows", table.rows_request, table.rows_data),
        ):
            connect(m, request, write.client(name).request)
            connect(m, beats, write.client(name).data)

        command, pair = self.command, pairs.o.payload
        copies = command.dataflow == Dataflow.EXPAND_COALESCE
        fused = command.dataflow == Dataflow.FUSED
        held = stream.Signature(caster.o.payload.shape()).create()  # for the backward pass
        casted = Signal(self.config.lookup_bits)  # lookups that have left the caster
        leaving = caster.o.valid & caster.o.ready
        m.d.comb += [
            pairs.start.eq(self.cast_start),
            entries.start.valid.eq(self.cast_start),
            sorter.i.payload.row.eq(pair.row),
            sorter.i.payload.source.eq(Mux(copies, pair.ordinal, pair.bag)),
            sorter.i.payload.end.eq(pair.end),
            sorter.i.valid.eq(pairs.o.valid),
            pairs.o.ready.eq(sorter.i.ready),
            table.table_address.eq(command.cast_table),
            table.rows_address.eq(command.unique_rows),
            table.i.payload.eq(caster.o.payload),
            table.i.valid.eq(caster.o.valid & ~fused),
            held.payload.eq(caster.o.payload),
            held.valid.eq(caster.o.valid & fused),
            caster.o.ready.eq(Mux(fused, held.ready, table.i.ready)),
        ]
        with m.If(leaving):
            m.d.sync += casted.eq(casted + 1)
            with m.If(caster.o.payload.end):
                m.d.sync += self.unique_rows.eq(caster.o.payload.segment + 1)
        with m.If(self.cast_start):
            m.d.sync += casted.eq(0)
        with m.If(self.cast_start | self.start & (self.activity == Activity.COMMAND)):
            m.d.sync += self.unique_rows.eq(0)

        all_casted = casted == pairs.valid_lookups
        written = all_casted & ~table.busy & ~write.pending[1:].any()
        m.d.comb += self.cast_done.eq(
            ~self.cast_start & pairs.done & Mux(fused, all_casted | caster.o.valid, written)
        )
        return held, pairs

    def _main_path(self, m: Module, ports, casted, cast_pairs):
        """Whatever the activity: lookups, their vectors, their sums, and where those go."""
        config, command, activity = self.config, self.command, self.activity
        read, write = ports
        entries, pairs = self._pairs(m, ports, ("entries", "offsets"), "")
        m.submodules.lookups = lookups = LookupSource(config)
        m.submodules.gather_reduce = gather = GatherReduce(config)
        m.submodules.row_address = row_address = VectorAddress(config)
        m.submodules.update = update = SgdUpdate(config)
        m.submodules.writer = writer = VectorWriter(config)
        connect(m, pairs.o, lookups.pairs)
        connect(m, casted, lookups.casted)
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
            entries.start.valid.eq(self.start),
            lookups.start.eq(self.start),
            gather.words.eq(command.words),
            gather.announce.eq(updating),
            row_address.words.eq(command.words),
            row_address.base.eq(command.table),
            update.learning_rate.eq(command.learning_rate),
            writer.words.eq(command.words),
            writer.dim.eq(command.dim),
        ]

        # Where entries go: words of a descriptor, indices of a batch, or lookups themselves.
        start = entries.start.payload
        with m.Switch(activity):
            with m.Case(Activity.COMMAND):
                m.d.comb += [
                    start.address.eq(self.descriptor),
                    start.count.eq(DESCRIPTOR_WORDS),
                    start.wide.eq(0),
                    self.words.payload.eq(entries.o.payload),
                    self.words.valid.eq(entries.o.valid),
                    entries.o.ready.eq(self.words.ready),
                ]
            with m.Case(Activity.FORWARD, Activity.EXPAND):
                m.d.comb += [
                    pairs.start.eq(self.start),
                    pairs.indices.payload.eq(entries.o.payload),
                    pairs.indices.valid.eq(entries.o.valid),
                    entries.o.ready.eq(pairs.indices.ready),
                ]
            with m.Default():
                m.d.comb += [
                    lookups.entries.payload.eq(entries.o.payload),
                    lookups.entries.valid.eq(entries.o.valid),
                    entries.o.ready.eq(lookups.entries.ready),
                ]
        with m.Switch(activity):
            with m.Case(Activity.FORWARD):
                m.d.comb += [
                    pairs.keep_empty.eq(1),
                    lookups.origin.eq(Origin.BAGS),
                    gather.base.eq(command.table),
                    writer.base.eq(command.pooled),
                ]
            with m.Case(Activity.EXPAND):
                m.d.comb += [
                    lookups.origin.eq(Origin.COPIES),
                    gather.base.eq(command.gradient),
                    gather.ordered.eq(1),
                    writer.base.eq(command.expanded),
                ]
            with m.Case(Activity.BACKWARD):
                copies = command.dataflow == Dataflow.EXPAND_COALESCE
                m.d.comb += [
                    start.address.eq(command.cast_table),
                    start.count.eq(Mux(fused, 0, cast_pairs.valid_lookups)),
                    start.wide.eq(0),
                    lookups.origin.eq(Mux(fused, Origin.CASTED, Origin.CAST_TABLE)),
                    gather.base.eq(Mux(copies, command.expanded, command.gradient)),
                    updating.eq(fused),
                    writer.base.eq(Mux(fused, command.table, command.coalesced)),
                ]
            with m.Case(Activity.UPDATE):
                m.d.comb += [
                    start.address.eq(command.unique_rows),
                    start.count.eq(self.unique_rows),
                    start.wide.eq(0),
                    lookups.origin.eq(Origin.UNIQUE_ROWS),
                    gather.base.eq(command.coalesced),
                    updating.eq(1),
                    writer.base.eq(command.table),
                ]

        # Sums are finished vectors, or gradients for the update.
        with m.If(updating):
            connect(m, gather.o, update.gradient)
            connect(m, update.o, writer.i)
        with m.Else():
            connect(m, gather.o, writer.i)
        m.d.comb += [
            self.trace.eq(gather.o.payload),
            self.trace_valid.eq(gather.o.valid & gather.o.ready & (activity == Activity.BACKWARD)),
        ]

        # Done: no lookup is left to come, and every segment's vector has been written.
        left = Signal(config.lookup_bits)  # lookups to come, of those that a list or the cast gives
        segments = Signal(range(4 * (config.window + config.vector_requests)))
        lookup_taken = lookups.o.valid & lookups.o.ready
        requested = writer.request.valid & writer.request.ready
        m.d.sync += segments.eq(segments + (lookup_taken & lookups.o.payload.last) - requested)
        total = Mux(activity == Activity.UPDATE, self.unique_rows, cast_pairs.valid_lookups)
        # A held cast gives its first lookup in the very first cycle.
        m.d.sync += left.eq(Mux(self.start, total, left) - lookup_taken)
        from_pairs = (activity == Activity.FORWARD) | (activity == Activity.EXPAND)
        m.d.comb += self.done.eq(
            ~self.start
            & Mux(from_pairs, pairs.done, left == 0)
            & (segments == 0)
            & ~write.pending[0]
        )
        return pairs

    def _faults(self, m: Module, ports, main_pairs, cast_pairs) -> None:
        """The first fault, by unit where two come at once."""
        read, write = ports
        with m.If(main_pairs.error != Error.NONE):
            m.d.comb += [self.fault.eq(main_pairs.error), self.position.eq(main_pairs.position)]
        with m.Elif(cast_pairs.error != Error.NONE):
            m.d.comb += [
                self.fault.eq(cast_pairs.error),
                self.position.eq(cast_pairs.position),
                self.cast_fault.eq(1),
            ]
        with m.Elif(read.error):
            m.d.comb += [
                self.fault.eq(Error.READ),
                self.position.eq(read.error_address),
                self.cast_fault.eq(read.error_client >= 4),
            ]
        with m.Elif(write.error):
            m.d.comb += [
                self.fault.eq(Error.WRITE),
                self.position.eq(write.error_address),
                self.cast_fault.eq(write.error_client >= 1),
            ]
