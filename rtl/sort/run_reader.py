# SPDX-FileCopyrightText: castbag contributors
# SPDX-License-Identifier: BSD-2-Clause
"""RunReader: the ways of a merge, each a run in memory that is read ahead."""

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.data import View
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out, connect, flipped
from amaranth.utils import exact_log2

from ..config import EngineConfig
from ..layouts import RequestLayout
from ..onehot import chosen
from ..queue import Queue
from .run_writer import RunPairLayout
from .tree import MergeItemLayout, PlaceLayout
from .unpacker import Unpacker

CHUNKS_ON_THEIR_WAY = 16
"""Chunks asked for whose turn to be unpacked is not near, at most: two more are."""


class WayLayout(data.StructLayout):
    """A run."""

    def __init__(self, config: EngineConfig):
        super().__init__({"address": config.address_bits, "pairs": config.lookup_bits})


class RunReader(wiring.Component):
    """Of each way its pairs, in order, whenever they are asked for; then only empty items.

    Begins with a reset: then it takes a run for each way. A way's buffer of `way_pairs` pairs is
    asked for in chunks, the first chunk of every way, then the second of every way, and so on;
    each chunk that has been given makes room for another. Chunks are unpacked in the order in which
    they were asked for, a pair a cycle. So the ways together give a pair a cycle. So does one way
    alone, as long as

        way_pairs - chunk_pairs >= cycles from a chunk's last pair given to its next one's first

    which are the memory's latency and 20 or so more.

    Members:
        ways: A run for each way, in order: none of its pairs, or whole chunks of them.
        request, data: To a read port's client.
        asked: The way of which a pair is wanted, if `valid`; steady until `step`.
        following: What will be asked after a step.
        ready: It can be had: the way has a pair, or has come to its end; or none is wanted.
        step: It will be given. Not without `ready`.
        item: What was asked for two steps before.
    """

    ways: stream.Interface
    request: stream.Interface
    data: stream.Interface
    asked: View
    following: View
    ready: Signal
    step: Signal
    item: View

    def __init__(self, config: EngineConfig):
        self.config = config
        super().__init__(
            {
                "ways": In(stream.Signature(WayLayout(config))),
                "request": Out(stream.Signature(RequestLayout(config))),
                "data": In(stream.Signature(config.bus_bits)),
                "asked": In(PlaceLayout(config.merge_ways)),
                "following": In(PlaceLayout(config.merge_ways)),
                "ready": Out(1),
                "step": In(1),
                "item": Out(MergeItemLayout(config)),
            }
        )

    def elaborate(self, platform):
        m = Module()
        config, packing = self.config, self.config.packing
        ways, blocks = config.merge_ways, config.way_pairs // packing.chunk_pairs
        m.submodules.tokens = tokens = Queue(range(ways), depth=ways * blocks)
        m.submodules.chunks = chunks = Queue(range(ways), depth=CHUNKS_ON_THEIR_WAY)
        m.submodules.buffer = buffer = Memory(
            shape=RunPairLayout(config), depth=ways * config.way_pairs, init=[]
        )
        # Pairs to unpack of each way, as far as they tell how much its buffer holds.
        m.submodules.to_unpack = to_unpack = Memory(
            shape=exact_log2(config.way_pairs) + 1, depth=ways, init=[]
        )

        # Each way gets its run, then, again and again, a token for a chunk of its buffer.
        number = Signal(range(ways * blocks))
        way = number[: exact_log2(ways)]
        told, over = Signal(), Signal()  # every way has its run; and all its tokens
        returning = Signal()  # a token of `returned`, whose chunk has been given
        returned = Signal(range(ways))
        setting = ~told & self.ways.valid & ~returning
        handing = setting | (told & ~over & ~returning)
        m.d.comb += [
            self.ways.ready.eq(~told & ~returning),
            tokens.i.valid.eq(handing | returning),
            tokens.i.payload.eq(Mux(returning, returned, way)),
        ]
        with m.If(handing):
            m.d.sync += [
                number.eq(number + 1),
                told.eq(told | way.all()),
                over.eq(number.all()),
            ]

        self._ask(m, tokens, chunks, setting, way, told)
        self._unpack(m, chunks, buffer, to_unpack, setting, way)
        self._give(m, buffer, to_unpack, setting, way, told, returning, returned)
        return m

    def _ask(self, m: Module, tokens: Queue, chunks: Queue, setting, way, told) -> None:
        """For every token the next chunk of its way, if there is one."""
        config, packing = self.config, self.config.packing
        chunk = exact_log2(packing.chunk_pairs)
        # That there are any is kept besides, since it is needed soon.
        rest = data.StructLayout(
            {
                "address": config.address_bits,
                "chunks": max(1, config.lookup_bits - chunk),
                "some": 1,
            }
        )
        m.submodules.to_ask = to_ask = Memory(shape=rest, depth=config.merge_ways, init=[])
        read, write = to_ask.read_port(domain="comb"), to_ask.write_port()
        token, run = Signal(range(config.merge_ways)), Signal(rest)
        after = Signal(rest)  # what is left of the run behind the chunk
        held, prepared = Signal(), Signal()  # `prepared`: held for a cycle, as `after` takes
        wanted = held & run.some
        asking = Signal()  # request and note of the chunk are taken together
        m.d.comb += [
            tokens.o.ready.eq(~held),
            read.addr.eq(tokens.o.payload),
            self.request.valid.eq(wanted & prepared & chunks.i.ready & told),
            self.request.payload.address.eq(run.address),
            self.request.payload.beats.eq(packing.chunk_beats),
            asking.eq(self.request.valid & self.request.ready),
            chunks.i.valid.eq(asking),
            chunks.i.payload.eq(token),
            write.en.eq(setting | asking),
            write.addr.eq(Mux(setting, way, token)),
        ]
        with m.If(setting):
            m.d.comb += [
                write.data.address.eq(self.ways.payload.address),
                write.data.chunks.eq(self.ways.payload.pairs >> chunk),
                write.data.some.eq((self.ways.payload.pairs >> chunk) != 0),
            ]
        with m.Else():
            m.d.comb += write.data.eq(after)
        m.d.sync += [
            prepared.eq(held),
            after.address.eq(run.address + packing.chunk_beats * config.bus_bytes),
            after.chunks.eq(run.chunks - 1),
            after.some.eq(run.chunks != 1),
        ]
        with m.If(~held):
            m.d.sync += [held.eq(tokens.o.valid), token.eq(tokens.o.payload), run.eq(read.data)]
        with m.Elif(asking | ~wanted):
            m.d.sync += held.eq(0)

    def _unpack(self, m: Module, chunks: Queue, buffer, to_unpack, setting, way) -> None:
        """Pairs go where their way's buffer has room; a group of them counts once it is whole."""
        config, packing = self.config, self.config.packing
        m.submodules.unpacker = unpacker = Unpacker(config)
        # So that what takes the pairs is not asked by what gives the beats.
        m.submodules.beats = beats = Queue(self.config.bus_bits, depth=2)
        connect(m, flipped(self.data), beats.i)
        connect(m, beats.o, unpacker.i)
        # Two RAMs are asked with it in a cycle, so it comes from flip-flops.
        m.submodules.current = current = Queue(range(config.merge_ways), depth=2)
        connect(m, chunks.o, current.i)
        read, write = to_unpack.read_port(domain="comb"), to_unpack.write_port()
        store = buffer.write_port()
        item, into = unpacker.o.payload, current.o.payload
        groups = packing.chunk_pairs // packing.group_pairs
        group = Signal(range(max(2, groups)))
        last = group == groups - 1
        taking = unpacker.o.valid & unpacker.o.ready
        place = (read.data - item.number)[: exact_log2(config.way_pairs)]
        storing, stored_at = Signal(), Signal.like(store.addr, reset_less=True)
        stored = Signal.like(item.pair, reset_less=True)
        m.d.comb += [
            unpacker.o.ready.eq(current.o.valid),
            read.addr.eq(into),
            write.en.eq(setting | (taking & item.last)),
            write.addr.eq(Mux(setting, way, into)),
            write.data.eq(Mux(setting, self.ways.payload.pairs, read.data - packing.group_pairs)),
            current.o.ready.eq(taking & item.last & last),
            store.en.eq(storing),
            store.addr.eq(stored_at),
            store.data.eq(stored),
        ]
        # A cycle later, since where it goes comes late; nobody looks for it before it is there.
        m.d.sync += [
            storing.eq(taking),
            stored_at.eq(Cat(place, into)),
            stored.eq(item.pair),
        ]
        with m.If(taking & item.last):
            m.d.sync += group.eq(Mux(last, 0, group + 1))

    def _give(self, m: Module, buffer, to_unpack, setting, way, told, returning, returned) -> None:
        """A way's next pair: looked for in the step before, read in the step and the next one."""
        config = self.config
        # Pairs to give of each way. That there are none is kept besides, since it is needed soon.
        count = data.StructLayout({"pairs": config.lookup_bits, "none": 1})
        m.submodules.to_give = to_give = Memory(shape=count, depth=config.merge_ways, init=[])
        write, load = to_give.write_port(), buffer.read_port(domain="sync")
        asked = self.asked.child

        # What is known of the way that is asked; older by a cycle than what is unpacked, so that
        # it may seem to have less than it has. Which of two ways follows comes late, by the tree's
        # last comparison: both are looked up and kept, and one is chosen after the step.
        kept = data.StructLayout({"count": count, "there": 1})  # what is wanted can be had
        known = Signal(kept)
        known_told = Signal()
        wanted = self.asked.valid & ~known.count.none
        giving = self.step & wanted
        given = Signal(count)

        def looked_up(address, *, giving) -> View:
            to_give_read = to_give.read_port(domain="comb")
            to_unpack_read = to_unpack.read_port(domain="comb")
            m.d.comb += [to_give_read.addr.eq(address), to_unpack_read.addr.eq(address)]
            found, read = Signal(kept), to_give_read.data
            # Whether one is given comes late: both answers are worked out.
            given_there, read_there = Signal(attrs={"keep": True}), Signal(attrs={"keep": True})

            def there(count) -> Value:
                unpacked = to_unpack_read.data
                return count.none | (count.pairs[: len(unpacked)] != unpacked)

            newer = giving & (address == asked)
            m.d.comb += [
                given_there.eq(there(given)),
                read_there.eq(there(read)),
                found.count.eq(Mux(newer, given, read)),
                found.there.eq(Mux(newer, given_there, read_there)),
            ]
            return found

        same = looked_up(asked, giving=0)
        candidates = []
        for low in range(2):
            candidate = Signal(kept, name=f"known_{low}")
            following = looked_up(Cat(Const(low, 1), self.following.child[1:]), giving=wanted)
            # Not a condition: by that a synthesiser would see that one port can serve for both,
            # with an address that comes late.
            stepped = Cat(~self.step, self.step)
            m.d.sync += candidate.eq(chosen(stepped, (same, following)))
            candidates.append(candidate)
        low, (one, other) = asked[0], candidates
        m.d.comb += [
            known.eq(Mux(low, other, one)),
            given.pairs.eq(Mux(low, other.count.pairs - 1, one.count.pairs - 1)),
            given.none.eq(Mux(low, other.count.pairs == 1, one.count.pairs == 1)),
        ]

        chunk_given = known.count.pairs[: exact_log2(config.packing.chunk_pairs)] == 1
        m.d.comb += [
            self.ready.eq(~self.asked.valid | (known_told & known.there)),
            load.addr.eq(Cat(known.count.pairs[: exact_log2(config.way_pairs)], asked)),
            load.en.eq(self.step),
            write.en.eq(setting | giving),
            write.addr.eq(Mux(setting, way, asked)),
            write.data.pairs.eq(Mux(setting, self.ways.payload.pairs, given.pairs)),
            write.data.none.eq(Mux(setting, self.ways.payload.pairs == 0, given.none)),
        ]
        m.d.sync += [
            known_told.eq(told),
            returning.eq(giving & chunk_given),
            returned.eq(asked),
        ]

        empty = Signal()  # what is read from the buffer means nothing
        with m.If(self.step):
            m.d.sync += [
                empty.eq(known.count.none),
                self.item.empty.eq(empty),
                self.item.filled.eq(1),
                self.item.row.eq(load.data.row),
                self.item.source.eq(load.data.source),
            ]
