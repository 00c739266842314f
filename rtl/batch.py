# SPDX-FileCopyrightText: castbag contributors
# SPDX-License-Identifier: BSD-2-Clause
"""BatchReader: from a batch's lists in memory to its pairs."""

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out, connect, flipped

from .config import EngineConfig
from .control.command import CommandLayout
from .control.map import Error
from .layouts import PairLayout, RequestLayout
from .memory import ListReader, ListStartLayout
from .pairs import BatchLayout, PairReader


class WordListLayout(data.StructLayout):
    """Where a list of 4-byte entries lies."""

    def __init__(self, config: EngineConfig):
        members = dict(ListStartLayout(config).members)
        super().__init__({name: members[name] for name in ("address", "count")})


class BatchReader(wiring.Component):
    """The pairs of the command's batch, as `PairReader` gives them.

    Between batches its list reader serves for any other list of entries.

    Members:
        command: Where the lists lie, and the batch's rules; steady while busy.
        start: Begins the batch.
        keep_empty, o, done, valid_lookups, dropped_lookups, error, position: See `PairReader`.
        list: A list of 4-byte entries to read instead of a batch.
        entries: Its entries.
        entries_request, entries_data, offsets_request, offsets_data: To two read clients.
    """

    command: data.View
    start: Signal
    keep_empty: Signal
    o: stream.Interface
    done: Signal
    valid_lookups: Signal
    dropped_lookups: Signal
    error: Signal
    position: Signal
    list: stream.Interface
    entries: stream.Interface
    entries_request: stream.Interface
    entries_data: stream.Interface
    offsets_request: stream.Interface
    offsets_data: stream.Interface

    def __init__(self, config: EngineConfig):
        self.config = config
        self._pairs = PairReader(config)
        request = Out(stream.Signature(RequestLayout(config)))
        beats = In(stream.Signature(config.bus_bits))
        super().__init__(
            {
                "command": In(CommandLayout(config)),
                "start": In(1),
                "keep_empty": In(1),
                "o": Out(stream.Signature(PairLayout(config))),
                "done": Out(1),
                "valid_lookups": Out(config.lookup_bits),
                "dropped_lookups": Out(config.lookup_bits),
                "error": Out(Error),
                "position": Out(len(self._pairs.position)),
                "list": In(stream.Signature(WordListLayout(config))),
                "entries": Out(stream.Signature(64)),
                "entries_request": request,
                "entries_data": beats,
                "offsets_request": request,
                "offsets_data": beats,
            }
        )

    def elaborate(self, platform):
        m = Module()
        command = self.command
        m.submodules.entries = entries = ListReader(self.config)
        m.submodules.offsets = offsets = ListReader(self.config)
        m.submodules.pairs = pairs = self._pairs
        connect(m, entries.request, flipped(self.entries_request))
        connect(m, flipped(self.entries_data), entries.data)
        connect(m, offsets.request, flipped(self.offsets_request))
        connect(m, flipped(self.offsets_data), offsets.data)
        connect(m, offsets.o, pairs.offsets)
        connect(m, pairs.o, flipped(self.o))

        indices = entries.start.payload
        listing = Signal()  # the entries are a list's, not a batch's
        m.d.comb += [
            offsets.start.payload.address.eq(command.offsets),
            offsets.start.payload.count.eq(command.bags + 1),
            offsets.start.payload.wide.eq(command.wide_offsets),
            offsets.start.valid.eq(self.start),
            indices.address.eq(self.list.payload.address),
            indices.count.eq(self.list.payload.count),
            entries.start.valid.eq(self.start | self.list.valid),
            self.list.ready.eq(entries.start.ready & ~self.start),
            pairs.start.eq(self.start),
            pairs.keep_empty.eq(self.keep_empty),
            *(pairs.batch[name].eq(command[name]) for name in BatchLayout(self.config).members),
            pairs.indices.payload.eq(entries.o.payload),
            pairs.indices.valid.eq(entries.o.valid & ~listing),
            self.entries.payload.eq(entries.o.payload),
            self.entries.valid.eq(entries.o.valid & listing),
            entries.o.ready.eq(Mux(listing, self.entries.ready, pairs.indices.ready)),
            self.done.eq(pairs.done),
            self.valid_lookups.eq(pairs.valid_lookups),
            self.dropped_lookups.eq(pairs.dropped_lookups),
            self.error.eq(pairs.error),
            self.position.eq(pairs.position),
        ]
        with m.If(self.start):
            m.d.comb += [
                indices.address.eq(command.indices),
                indices.count.eq(command.lookups),
                indices.wide.eq(command.wide_indices),
            ]
            m.d.sync += listing.eq(0)
        with m.Elif(self.list.valid & self.list.ready):
            m.d.sync += listing.eq(1)
        return m
