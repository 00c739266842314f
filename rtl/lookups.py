# SPDX-FileCopyrightText: castbag contributors
# SPDX-License-Identifier: BSD-2-Clause
"""LookupSource: whatever the phase, its work is one stream of lookups.

This is the point of Tensor Casting: the forward pass, both backward passes and the update
differ in where their lookups come from, and in nothing behind that.

| origin        | source          | target        | segment            | phase                  |
|---------------|-----------------|---------------|--------------------|------------------------|
| `BAGS`        | row             | bag           | a bag              | forward                |
| `COPIES`      | bag             | lookup        | a lookup           | expand                 |
| `CASTED`      | casted source   | row           | a run of one row   | backward (`fused`)     |
| `CAST_TABLE`  | casted source   | unique row    | a run of one row   | backward, coalesce     |
| `UNIQUE_ROWS` | unique row      | row           | a unique row       | update                 |
"""

from enum import IntEnum

from amaranth.hdl import Module, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from .cast_table import SOURCE_BITS
from .config import EngineConfig
from .layouts import CastedLayout, LookupLayout, PairLayout


class Origin(IntEnum):
    """Where lookups come from."""

    NONE = 0
    BAGS = 1  # pairs, in order
    COPIES = 2  # pairs, in order, each a segment of its own
    CASTED = 3  # the caster's stream
    CAST_TABLE = 4  # the same, read back from memory
    UNIQUE_ROWS = 5  # the list of unique rows, read back from memory


class LookupSource(wiring.Component):
    """For every item of the chosen stream, in order, its lookup. Adds no cycle.

    Members:
        origin: The stream that is taken; the others wait. In the cycle of `start` it is NONE, or
            offers nothing: whoever counts the phase's lookups from there on counts them all.
        start: Begins a phase: numbering starts over.
        pairs: For BAGS and COPIES.
        casted: For CASTED.
        entries: For CAST_TABLE (words of the cast table) and UNIQUE_ROWS (row indices).
        o: Lookups.
    """

    origin: Signal
    start: Signal
    pairs: stream.Interface
    casted: stream.Interface
    entries: stream.Interface
    o: stream.Interface

    def __init__(self, config: EngineConfig):
        self.config = config
        super().__init__(
            {
                "origin": In(Origin),
                "start": In(1),
                "pairs": In(stream.Signature(PairLayout(config))),
                "casted": In(stream.Signature(CastedLayout(config))),
                "entries": In(stream.Signature(64)),
                "o": Out(stream.Signature(LookupLayout(config))),
            }
        )

    def elaborate(self, platform):
        m = Module()
        pair, casted, entry = self.pairs.payload, self.casted.payload, self.entries.payload
        lookup = self.o.payload
        taken = self.o.valid & self.o.ready
        number = Signal(self.config.lookup_bits)  # segments before this one
        first = Signal(init=1)  # the last entry closed its segment
        with m.If(self.start):
            m.d.sync += [number.eq(0), first.eq(1)]
        with m.Elif(taken):
            m.d.sync += [number.eq(number + lookup.last), first.eq(lookup.last)]

        def give(items, *, valid, **fields):
            """Take the origin's stream, and set the lookup's fields."""
            m.d.comb += [
                self.o.valid.eq(items.valid),
                items.ready.eq(self.o.ready),
                lookup.valid.eq(valid),
                *(lookup[name].eq(value) for name, value in fields.items()),
            ]

        with m.Switch(self.origin):
            with m.Case(Origin.BAGS):
                give(
                    self.pairs,
                    valid=pair.valid,
                    source=pair.row,
                    target=pair.bag,
                    first=pair.first,
                    last=pair.last,
                )
            with m.Case(Origin.COPIES):
                give(
                    self.pairs,
                    valid=1,
                    source=pair.bag,
                    target=pair.ordinal,
                    again=~pair.first,
                    first=1,
                    last=1,
                )
            with m.Case(Origin.CASTED):
                give(
                    self.casted,
                    valid=1,
                    source=casted.source,
                    target=casted.row,
                    first=casted.first,
                    last=casted.last,
                )
            with m.Case(Origin.CAST_TABLE):
                give(
                    self.entries,
                    valid=1,
                    source=entry[:SOURCE_BITS],
                    target=number,
                    first=first,
                    last=entry[SOURCE_BITS],
                )
            with m.Case(Origin.UNIQUE_ROWS):
                give(self.entries, valid=1, source=number, target=entry, first=1, last=1)
        return m
