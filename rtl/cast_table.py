# SPDX-FileCopyrightText: castbag contributors
# SPDX-License-Identifier: BSD-2-Clause
"""CastTableWriter: the casted lookups and the unique rows, kept in memory for later."""

from amaranth.hdl import Cat, Const, Module, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from .config import EngineConfig
from .layouts import CastedLayout, RequestLayout, WriteBeatLayout
from .memory import ListWriter
from .queue import Queue

SOURCE_BITS = 31
"""Bits of a cast table entry that hold the casted source; the one above marks a row's last."""


class CastTableWriter(wiring.Component):
    """For every casted lookup one word of the cast table; for every unique row one of the rows.

    In NumPy, with the golden model's `Cast`:

        table = cast.src | (last << 31)         last = diff(cast.dst, append=inf) != 0
        rows = cast.unique_rows

    The casted destination is not stored: it is the count of set top bits before an entry.
    Neither list waits for the other but at a row's last lookup, which both must have taken before
    the next one comes. Rate: a lookup a cycle, and a cycle a batch to open the lists; a batch
    without a lookup never comes here, and writes nothing. Latency: a cycle.

    Members:
        table_address, rows_address: Where the two lists go; steady while busy.
        i: Casted lookups.
        table_request, table_data: To the write client of the cast table.
        rows_request, rows_data: To that of the unique rows.
        busy: From the first lookup of a batch until both lists have been handed over.
    """

    table_address: Signal
    rows_address: Signal
    i: stream.Interface
    table_request: stream.Interface
    table_data: stream.Interface
    rows_request: stream.Interface
    rows_data: stream.Interface
    busy: Signal

    def __init__(self, config: EngineConfig):
        self.config = config
        super().__init__(
            {
                "table_address": In(config.address_bits),
                "rows_address": In(config.address_bits),
                "i": In(stream.Signature(CastedLayout(config))),
                "table_request": Out(stream.Signature(RequestLayout(config))),
                "table_data": Out(stream.Signature(WriteBeatLayout(config))),
                "rows_request": Out(stream.Signature(RequestLayout(config))),
                "rows_data": Out(stream.Signature(WriteBeatLayout(config))),
                "busy": Out(1),
            }
        )

    def elaborate(self, platform):
        m = Module()
        m.submodules.table = table = ListWriter(self.config)
        m.submodules.rows = rows = ListWriter(self.config)
        wiring.connect(m, table.request, wiring.flipped(self.table_request))
        wiring.connect(m, table.data, wiring.flipped(self.table_data))
        wiring.connect(m, rows.request, wiring.flipped(self.rows_request))
        wiring.connect(m, rows.data, wiring.flipped(self.rows_data))

        # What gives the lookups does not hear in the cycle whether both lists have room.
        m.submodules.lookups = lookups = Queue(CastedLayout(self.config), depth=2)
        wiring.connect(m, wiring.flipped(self.i), lookups.i)
        # The lists are opened by the first lookup: a batch without one writes nothing.
        opened = Signal()
        both_free = table.start.ready & rows.start.ready
        item, valid = lookups.o.payload, lookups.o.valid
        unused = Const(0, SOURCE_BITS - len(item.source))
        in_table, in_rows = Signal(), Signal()  # the item has gone there, the other list waits
        for_rows = item.last & ~in_rows
        leaving = opened & valid & (in_table | table.i.ready) & (~for_rows | rows.i.ready)
        m.d.comb += [
            table.start.payload.eq(self.table_address),
            rows.start.payload.eq(self.rows_address),
            table.start.valid.eq(valid & ~opened & both_free),
            rows.start.valid.eq(valid & ~opened & both_free),
            table.i.payload.data.eq(Cat(item.source, unused, item.last)),
            table.i.payload.end.eq(item.end),
            table.i.valid.eq(opened & valid & ~in_table),
            rows.i.payload.data.eq(item.row),
            rows.i.payload.end.eq(item.end),
            rows.i.valid.eq(opened & valid & for_rows),
            lookups.o.ready.eq(leaving),
            self.busy.eq(self.i.valid | valid | opened | table.busy | rows.busy),
        ]
        with m.If(leaving):
            m.d.sync += [in_table.eq(0), in_rows.eq(0)]
        with m.Else():
            m.d.sync += [
                in_table.eq(in_table | table.i.valid & table.i.ready),
                in_rows.eq(in_rows | rows.i.valid & rows.i.ready),
            ]
        with m.If(table.start.valid):
            m.d.sync += opened.eq(1)
        with m.Elif(leaving & item.end):
            m.d.sync += opened.eq(0)
        return m
