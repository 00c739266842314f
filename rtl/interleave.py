# SPDX-FileCopyrightText: castbag contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Interleaver: lookups of several segments take turns, so that no sum waits for itself."""

from amaranth.hdl import Array, Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import stream, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out, connect, flipped
from amaranth.utils import exact_log2

from .config import EngineConfig
from .layouts import REQUEST_BITS, SLOT_BITS, SLOTS, LookupLayout, SlottedLookupLayout
from .onehot import chosen as one_of
from .queue import Queue
from .stages import Stage

MOST_PAGES = 64
"""The window is dealt out in pages: more of them waste less of it, but need longer tables."""


def slot_count(words: int) -> int:
    """Accumulators in use for vectors of `words` words: enough that `slots * words >= SLOTS`."""
    return max(1, SLOTS >> (words.bit_length() - 1))


class Interleaver(wiring.Component):
    """Every lookup leaves once, those of one segment in order, with an accumulator's number.

    A sum's next term may enter the adders only `SLOTS` cycles after the one before (see
    `Reducer`). A vector of `words >= SLOTS` words covers that by itself; shorter ones need
    other segments between. So there are `slot_count(words)` slots, each a queue of lookups; a
    segment stays in one slot, behind those that came to it earlier. Each slot has its turn
    once in `SLOTS` cycles, whether it holds a lookup or not: the reducer could not take more
    of it, and lookups that ran ahead would only be missing later, when they could fill gaps.
    Where lookups come as fast as they leave, the reducer gets

        words a cycle = 1                          once every slot holds a lookup
        words a cycle = min(1, words / SLOTS)      where one segment is all there is

    Runs of `run` lookups a segment keep every slot filled, from lookup `slots * run` on, if
    `slots * run <= window - 2 * SLOTS * page`. A segment goes to the next slot in turn that
    holds no more lookups than the average one: so short segments pass a long one by in the
    other slots, as many as the window has room for. `page` is `window / MOST_PAGES`, or 1.

    The queues share one RAM of `window` lookups, page by page; each is a chain of pages, and
    never without one. Lookups come in order: where no page is free, all wait.

    With `ordered` there is a single slot: lookups leave in the order in which they came.

    Latency: 4 cycles, and up to `SLOTS` for the turn where there are several slots. Rate: with
    one slot, a lookup a cycle; with several, each of them one in `SLOTS` cycles.

    Members:
        words: Words of a vector; steady while lookups are held and for two cycles before.
        ordered: Keep the order of all lookups; steady likewise.
        i: Lookups, segment after segment.
        o: The same, turn by turn.
    """

    words: Signal
    ordered: Signal
    i: stream.Interface
    o: stream.Interface

    def __init__(self, config: EngineConfig):
        self.config = config
        super().__init__(
            {
                "words": In(REQUEST_BITS),
                "ordered": In(1),
                "i": In(stream.Signature(LookupLayout(config))),
                "o": Out(stream.Signature(SlottedLookupLayout(config))),
            }
        )

    def elaborate(self, platform):
        m = Module()
        window = self.config.window
        pages = min(MOST_PAGES, window)
        page_bits = exact_log2(window // pages)
        lookup = LookupLayout(self.config)
        m.submodules.memory = memory = Memory(shape=lookup, depth=window, init=[])
        write, read = memory.write_port(), memory.read_port(domain="sync")
        m.submodules.following = following = Memory(shape=range(pages), depth=pages, init=[])
        link, follow = following.write_port(), following.read_port(domain="comb")
        m.submodules.vacated = vacated = Queue(range(pages), depth=pages)
        # What takes them is not heard of by the RAM in the cycle.
        m.submodules.spares = spares = Queue(range(pages), depth=2)
        connect(m, vacated.o, spares.i)

        stride = Signal(range(SLOT_BITS + 1))  # cycles from turn to turn, as a power of two
        last_slot = Signal(SLOT_BITS)
        m.d.sync += [stride.eq(SLOT_BITS), last_slot.eq(0)]
        for log in range(SLOT_BITS):
            with m.If(~self.ordered & (self.words >> log == 1)):
                m.d.sync += [stride.eq(log), last_slot.eq((SLOTS - 1) >> log)]

        # A pointer is a page and a place in it; the tail's place is free, so each has a page.
        def pointer(name: str, slot: int) -> Signal:
            return Signal(range(window), name=f"{name}_{slot}", init=slot << page_bits)

        tails = Array(pointer("tail", slot) for slot in range(SLOTS))
        heads = Array(pointer("head", slot) for slot in range(SLOTS))
        entering, leaving = Signal(), Signal()

        # In: a segment keeps its slot; the next one takes the slot that stands ready.
        into = Signal(SLOT_BITS)
        fresh = Signal(SLOT_BITS)  # for the next segment
        tail = Signal(range(window))  # of `into`
        tail_after = Signal.like(tail)
        tail_turns = self._ends_page(tail)
        untouched = Signal(range(pages + 1), init=SLOTS)  # first of the pages never used so far
        recycling = untouched[-1]
        spare = Mux(recycling, spares.o.payload, untouched[:-1])
        m.d.comb += [
            self.i.ready.eq(~recycling | spares.o.valid),
            entering.eq(self.i.valid & self.i.ready),
            write.en.eq(entering),
            write.addr.eq(tail),
            write.data.eq(self.i.payload),
            link.en.eq(entering & tail_turns),
            link.addr.eq(tail[page_bits:]),
            link.data.eq(spare),
            spares.o.ready.eq(entering & tail_turns & recycling),
        ]
        with m.If(entering & tail_turns & ~recycling):
            m.d.sync += untouched.eq(untouched + 1)
        ending = entering & self.i.payload.last
        m.d.comb += tail_after.eq(Mux(tail_turns, spare << page_bits, tail + 1))
        # The lookup comes from afar: what becomes of the tail without it, by it, and by it if it is
        # its segment's last is worked out beside that.
        stay, turn = into & last_slot, fresh & last_slot
        tail_stays, tail_moves, tail_turns_to = (
            Signal.like(tail, attrs={"keep": True}, init=0, name=f"tail_{name}")
            for name in ("stays", "moves", "turns_to")
        )
        m.d.comb += [
            tail_stays.eq(tails[stay]),
            tail_moves.eq(Mux(stay == into, tail_after, tails[stay])),
            tail_turns_to.eq(Mux(turn == into, tail_after, tails[turn])),
        ]
        case = Cat(~entering, entering & ~self.i.payload.last, ending)
        m.d.sync += [
            into.eq(Mux(ending, turn, stay)),
            tail.eq(one_of(case, (tail_stays, tail_moves, tail_turns_to))),
        ]
        with m.If(entering):
            m.d.sync += tails[into].eq(tail_after)

        # Out: the slot whose turn it is, if it holds a lookup.
        clock = Signal(SLOT_BITS)  # of the next turn
        upcoming = clock >> stride
        chosen = Signal(SLOT_BITS)
        due = Signal()  # it is the first cycle of its turn
        head = Signal(range(window))  # of the chosen slot
        head_after = Signal.like(head)
        filled = Signal(SLOTS)
        fetched = Signal()  # the RAM's register holds a lookup
        slot = Signal(SLOT_BITS)  # its slot
        found = Stage("found", **SlottedLookupLayout(self.config).members)  # what it held
        m.submodules.turns = turns = Queue(SlottedLookupLayout(self.config), depth=2)
        connect(m, turns.o, flipped(self.o))
        fetch_free = ~fetched | found.free
        head_turns = self._ends_page(head)
        m.d.comb += [
            leaving.eq(due & fetch_free & filled.bit_select(chosen, 1)),
            read.en.eq(leaving),
            read.addr.eq(head),
            follow.addr.eq(head[page_bits:]),
            head_after.eq(Mux(head_turns, follow.data << page_bits, head + 1)),
            vacated.i.valid.eq(leaving & head_turns),
            vacated.i.payload.eq(head[page_bits:]),
        ]
        with m.If(fetch_free):
            m.d.sync += [
                clock.eq(clock + 1),
                chosen.eq(upcoming),
                due.eq((upcoming << stride == clock) | (last_slot == 0)),
                head.eq(heads[upcoming]),
                fetched.eq(leaving),
            ]
        with m.If(leaving):
            m.d.sync += [heads[chosen].eq(head_after), slot.eq(chosen)]
            with m.If(upcoming == chosen):
                m.d.sync += head.eq(head_after)
        m.d.comb += [
            found.free.eq(~found.valid | turns.i.ready),
            turns.i.valid.eq(found.valid),
            turns.i.payload.eq(found.item),
        ]
        found.load(m, fetched, lookup=read.data, slot=slot)

        self._levels(
            m,
            entering=Cat(entering & (into == slot) for slot in range(SLOTS)),
            leaving=Cat(leaving & (chosen == slot) for slot in range(SLOTS)),
            filled=filled,
            stride=stride,
            last_slot=last_slot,
            fresh=fresh,
            ending=ending,
        )
        return m

    def _ends_page(self, pointer: Value) -> Value:
        """Whether the place is the last of its page, which may be of one place."""
        page_bits = exact_log2(-(-self.config.window // MOST_PAGES))
        return Cat(Const(1, 1), pointer[:page_bits]).all()

    def _levels(self, m, *, entering, leaving, filled, stride, last_slot, fresh, ending) -> None:
        """Count what the slots hold, and keep ready in `fresh` the next that is not too full."""

        def count(level: Signal, up: Value, down: Value) -> None:
            with m.If(up ^ down):
                m.d.sync += level.eq(level + Cat(Const(1, 1), down.replicate(len(level) - 1)))

        held = Signal(range(self.config.window + 1))
        count(held, entering.any(), leaving.any())
        share = Signal.like(held)  # of each slot, if all held the same
        m.d.sync += share.eq((held << stride) >> SLOT_BITS)
        short = Signal(SLOTS)  # slots that held no more than their share, a few cycles ago
        for slot in range(SLOTS):
            level = Signal.like(held, name=f"level_{slot}")
            count(level, entering[slot], leaving[slot])
            m.d.sync += [
                filled[slot].eq(entering[slot] | level[1:].any() | level[0] & ~leaving[slot]),
                short[slot].eq((level <= share) & (slot <= last_slot)),
            ]
        beyond = short & (Const(-2, SLOTS) << fresh)[:SLOTS]
        with m.If(ending | ~short.bit_select(fresh, 1)):
            for candidates in (short, beyond):
                for slot in reversed(range(SLOTS)):
                    with m.If(candidates[slot]):
                        m.d.sync += fresh.eq(slot)
