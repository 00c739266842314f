# SPDX-FileCopyrightText: castbag contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Pairs: a batch's indices and offsets become a stream of (row, bag) pairs."""

from amaranth.hdl import Cat, Module, Mux, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from .config import EngineConfig
from .control.map import Error
from .layouts import PairLayout
from .queue import Queue
from .stages import Buffer, Stage

LATENCY = 4
"""Cycles from a lookup's index to its pair, see `PairReader`."""


class BatchLayout(data.StructLayout):
    """What the pairs of a batch depend on; steady from start to done."""

    def __init__(self, config: EngineConfig):
        super().__init__(
            {
                "lookups": config.lookup_bits,  # n
                "bags": config.bag_bits + 1,  # B
                "rows": config.index_bits + 1,  # N
                "padding_index": config.index_bits,  # row to drop
                "has_padding": 1,
                "ignore_bounds": 1,  # drop rows outside the table instead of stopping
            }
        )


class PairReader(wiring.Component):
    """For every valid lookup, in order, one pair; with `keep_empty`, one item an empty bag too.

    Decides validity, once: a lookup is valid if its row lies in the table and is not the
    padding row. Invalid lookups leave no trace but a count: the pairs before and after them
    still carry right `first` and `end` flags, and with `keep_empty` right `last` ones, for
    which one pair is held back until the next valid one, or the end, is seen. In NumPy, with
    `valid` as the golden model's:

        rows, bags = indices[valid], bag_of[valid]      ordinal = arange(valid.sum())

    With `keep_empty` a bag without a valid lookup gives one item with `valid` = 0, `first`
    and `last` set: its sum is +0.0 and somebody must write it. Without, nothing comes of it,
    and `last` means nothing.

    Rate: an item a cycle, whatever the bags' lengths; a dropped lookup or an empty bag takes
    a cycle. Latency: `LATENCY` cycles from a lookup's index to its pair, if its successor
    follows at once; a stage of the way is named for what it holds:

        offsets -> boundary -> bag -> numbered -> judged -> held -> o
        indices ----------------------^

    A fault stops it for good (until reset), at the same place however the lists come: all pairs
    before it come out, save the one that is held back, and nothing else. Faults are a row
    outside the table (unless ignored), a first offset that is not 0, a bag that ends before it
    starts or beyond the last lookup, a last bag that ends before it.

    Members:
        start: Begins a batch; both lists begin after it.
        keep_empty: Give empty bags an item; steady from start to done.
        batch: The batch's sizes and rules.
        offsets: `bags + 1` offsets, signed; no more are taken.
        indices: `lookups` row indices, signed; no more are taken.
        o: The pairs.
        done: All pairs of the batch have been taken; from the cycle after `start` on.
        valid_lookups: How many were valid, once done.
        dropped_lookups: How many were not.
        error: Code of the fault, else 0.
        position: Its lookup, or its bag; means nothing without a fault.
    """

    start: Signal
    keep_empty: Signal
    batch: data.View
    offsets: stream.Interface
    indices: stream.Interface
    o: stream.Interface
    done: Signal
    valid_lookups: Signal
    dropped_lookups: Signal
    error: Signal
    position: Signal

    def __init__(self, config: EngineConfig):
        self.config = config
        super().__init__(
            {
                "start": In(1),
                "keep_empty": In(1),
                "batch": In(BatchLayout(config)),
                "offsets": In(stream.Signature(64)),
                "indices": In(stream.Signature(64)),
                "o": Out(stream.Signature(PairLayout(config))),
                "done": Out(1),
                "valid_lookups": Out(config.lookup_bits),
                "dropped_lookups": Out(config.lookup_bits),
                "error": Out(Error),
                "position": Out(max(config.lookup_bits, config.bag_bits)),
            }
        )

    def elaborate(self, platform):
        m = Module()
        more, boundary = self._boundaries(m)
        bag = self._bags(m, boundary)
        numbered = self._numbered(m, bag)
        judged = self._judged(m, numbered)
        held = self._flagged(m, judged)
        on_the_way = Cat(stage.valid for stage in (boundary, bag, numbered, judged, held))
        m.d.comb += self.done.eq(
            ~more & ~on_the_way.any() & ~self.o.valid & (self.error == Error.NONE)
        )
        return m

    def _boundaries(self, m: Module):
        """Offsets, cut down to what the next stage compares."""
        config = self.config
        boundary = Buffer(
            m,
            "boundary",
            number=config.bag_bits + 1,  # bags before it
            value=config.lookup_bits,  # the offset, unless it is
            large=1,  # negative, or far beyond the last lookup
            negative=1,
            opening=1,  # the batch's first
            final=1,  # the batch's last
        )
        more = Signal()  # offsets are to come
        number = Signal(config.bag_bits + 1)
        offset = self.offsets.payload
        final = number == self.batch.bags
        entering = self.offsets.valid & self.offsets.ready
        m.d.comb += self.offsets.ready.eq(more & boundary.free)
        boundary.load(
            m,
            entering,
            number=number,
            value=offset,
            large=offset[config.lookup_bits :].any(),
            negative=offset[-1],
            opening=number == 0,
            final=final,
        )
        with m.If(entering):
            m.d.sync += [number.eq(number + 1), more.eq(~final)]
        with m.If(self.start):
            m.d.sync += [number.eq(0), more.eq(1)]
        return more, boundary

    def _bags(self, m: Module, boundary: Buffer):
        """A boundary ends the bag that the one before it began."""
        config, lookups = self.config, self.batch.lookups
        bag = Stage(
            "bag",
            number=config.bag_bits,
            end=config.lookup_bits,  # the lookup after its last
            single=1,  # it has one lookup
            alone=1,  # it has no lookup: it is empty, or faulty
            final=1,  # the batch's last bag
            fault=Error,
        )
        number = Signal(config.bag_bits)
        begin = Signal(config.lookup_bits)
        offset = boundary.item
        off_start = offset.opening & (offset.large | offset.value.any())
        falls = offset.negative | ~offset.large & (offset.value < begin)
        beyond = offset.large | (offset.value > lookups)
        off_end = beyond | offset.final & (offset.value != lookups)
        fault = Mux(off_end, Error.OFFSET_END, Error.NONE)
        fault = Mux(falls, Error.OFFSET_FALL, fault)
        fault = Mux(off_start, Error.OFFSET_START, fault)
        faulty = off_start | falls | off_end
        m.d.comb += boundary.leaving.eq(bag.free)
        bag.load(
            m,
            boundary.valid & (~offset.opening | faulty),
            number=number,
            end=offset.value,
            single=offset.value == begin + 1,
            alone=faulty | (offset.value == begin),
            final=offset.final,
            fault=fault,
        )
        with m.If(boundary.valid & bag.free):
            m.d.sync += [number.eq(offset.number), begin.eq(offset.value)]
        with m.If(self.start):
            m.d.sync += [number.eq(0), begin.eq(0)]
        return bag

    def _numbered(self, m: Module, bag: Stage):
        """Each lookup gets its bag; an empty bag, or a faulty one, is an item without a lookup."""
        config = self.config
        numbered = Buffer(
            m,
            "numbered",
            row=config.index_bits,  # of the table, unless it is
            large=1,  # negative, or too large for any table
            bag=config.bag_bits,
            position=len(self.position),  # lookup, or the faulty bag
            real=1,  # there is a lookup
            last=1,  # of its bag
            end=1,  # of the batch
            fault=Error,
        )
        position = Signal(config.lookup_bits)
        entered = Signal()  # the bag has had a lookup
        follows_last = Signal()  # the next one is its last
        index = self.indices.payload
        alone = bag.item.alone
        last = alone | Mux(entered, follows_last, bag.item.single)
        step = bag.valid & numbered.free & (alone | self.indices.valid)
        m.d.comb += [
            self.indices.ready.eq(bag.valid & numbered.free & ~alone),
            bag.free.eq(~bag.valid | step & last),
        ]
        numbered.load(
            m,
            step,
            row=index,
            large=index[config.index_bits :].any(),
            bag=bag.item.number,
            position=Mux(bag.item.fault != Error.NONE, bag.item.number, position),
            real=~alone,
            last=last,
            end=last & bag.item.final,
            fault=bag.item.fault,
        )
        with m.If(step & ~alone):
            m.d.sync += [
                position.eq(position + 1),
                follows_last.eq(position + 2 == bag.item.end),
                entered.eq(~last),
            ]
        with m.If(self.start):
            m.d.sync += [position.eq(0), entered.eq(0)]
        return numbered

    def _judged(self, m: Module, numbered: Buffer):
        """Validity, decided here and nowhere else; and here faults are reported, in order."""
        config, batch = self.config, self.batch
        judged = Buffer(
            m,
            "judged",
            row=config.index_bits,
            bag=config.bag_bits,
            real=1,
            take=1,  # a valid lookup
            last=1,
            end=1,
        )
        item = numbered.item
        inside = ~item.large & (item.row < batch.rows)
        padding = batch.has_padding & (item.row == batch.padding_index)
        outside = item.real & ~inside & ~batch.ignore_bounds
        fault = Mux(outside, Error.INDEX, item.fault)
        going = self.error == Error.NONE
        m.d.comb += numbered.leaving.eq(judged.free & going)
        judged.load(
            m,
            numbered.valid & going & (fault == Error.NONE),
            row=item.row,
            bag=item.bag,
            real=item.real,
            take=item.real & inside & ~padding,
            last=item.last,
            end=item.end,
        )
        with m.If(numbered.valid & judged.free & going):
            m.d.sync += [self.error.eq(fault), self.position.eq(item.position)]
        return judged

    def _flagged(self, m: Module, judged: Buffer):
        """Holds one item back, until it is known to be the last of its bag, and of the batch."""
        held = Stage("held", **dict(PairLayout(self.config).members))
        opened = Signal()  # the bag of `judged` has had a valid lookup, and it is `held`
        item = judged.item
        m.submodules.pairs = pairs = Queue(PairLayout(self.config), depth=2)
        wiring.connect(m, pairs.o, wiring.flipped(self.o))
        out_free = pairs.i.ready
        complete = Mux(self.keep_empty, held.item.last, held.item.end)
        closing = judged.valid & ~item.take & item.last
        enters = judged.valid & (item.take | self.keep_empty & item.last & ~opened)
        leaves = held.valid & out_free & (enters | complete)
        m.d.comb += [
            # A complete item leaves on its own; any other when its successor enters.
            held.free.eq(~held.valid | leaves),
            # So said without `complete`, which is not needed where a successor enters.
            judged.leaving.eq(~enters | ~held.valid | out_free),
        ]
        m.d.comb += [pairs.i.valid.eq(leaves), pairs.i.payload.eq(held.item)]
        held.load(
            m,
            enters,
            row=item.row,
            bag=item.bag,
            ordinal=self.valid_lookups,
            valid=item.take,
            first=~opened,
            last=item.last,
            end=item.end,
        )
        with m.If(closing & ~enters):
            m.d.sync += [held.item.last.eq(1), held.item.end.eq(held.item.end | item.end)]
        with m.If(judged.valid & judged.leaving):
            m.d.sync += [
                opened.eq((opened | item.take) & ~item.last),
                self.valid_lookups.eq(self.valid_lookups + item.take),
                self.dropped_lookups.eq(self.dropped_lookups + (item.real & ~item.take)),
            ]
        with m.If(self.start):
            m.d.sync += [self.valid_lookups.eq(0), self.dropped_lookups.eq(0)]
        return held
