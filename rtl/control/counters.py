# SPDX-FileCopyrightText: castbag contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Counters: what the last command did with its cycles and with the bus."""

from amaranth.hdl import Array, Cat, Const, Module, Mux, Signal
from amaranth.lib import data, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out
from amaranth.utils import exact_log2

from .map import (
    CAST_UNITS,
    COUNTERS,
    MAIN_READERS,
    MAIN_WRITERS,
    READ_CLIENTS,
    UNITS,
    WRITE_CLIENTS,
    Phase,
)

COUNTER_BITS = 40
"""Three hours at 100 MHz."""

NAMES = tuple(name for name, _ in COUNTERS)
RUNS = [name for name, _ in READ_CLIENTS].index("runs")


NEAR = 8
"""Events of which one is chosen in a cycle."""

ASK_CYCLES = 7
"""Cycles from one `ask` to the next, at least."""


def feedback_states(bits: int) -> list[int]:
    """The states of a feedback register of 6 or 7 bits, in order: all but 0."""
    state, states = 1, []
    while state not in states:
        states.append(state)
        feedback = (state >> bits - 1 ^ state >> bits - 2) & 1
        state = (state << 1 | feedback) & (1 << bits) - 1
    return states


class CounterBank(wiring.Component):
    """Counts pulses of many events, each in its place of one memory.

    An event is first counted beside it, in as few bits as fit the time until it is visited: all are
    visited in turn, one a cycle, and what has come together is added to the count in memory. So a
    count costs six flip-flops and a share of a block RAM instead of `COUNTER_BITS` and a
    multiplexer; and the six step through the states of a feedback register, which takes one LUT
    where a binary counter takes a dozen. A count is exact once its events have ceased.

    A visit takes a cycle each to choose the event, to choose its state from the ones near it and
    then from the rest, to make a number of it and to add that. An `ask` has its count visited out
    of turn: latency 5 cycles, up to 9 where that one is being visited just then, up to `count` more
    behind a `clear`.

    Args:
        count: How many events; 4 to 100.

    Members:
        clear: All counts become 0; what comes in this cycle is not counted.
        events: Bit k: one more of event k.
        ask, index: A count is wanted: steady until `valid`; at most once in ASK_CYCLES.
        valid, value: The count, for one cycle.
    """

    clear: Signal
    events: Signal
    ask: Signal
    index: Signal
    valid: Signal
    value: Signal

    def __init__(self, count: int):
        if not 4 <= count <= 100:
            raise ValueError(f"count = {count}: must be 4 to 100")
        self.count = count
        # Cycles between two visits, if each ask takes another one's turn; an event in each.
        longest = count * ASK_CYCLES // (ASK_CYCLES - 1) + 1
        self.bits = 6 if longest < 63 else 7
        super().__init__(
            {
                "clear": In(1),
                "events": In(count),
                "ask": In(1),
                "index": In(range(count)),
                "valid": Out(1),
                "value": Out(COUNTER_BITS),
            }
        )

    def elaborate(self, platform):
        m = Module()
        depth = 1 << (self.count - 1).bit_length()
        m.submodules.memory = memory = Memory(
            shape=COUNTER_BITS, depth=depth, init=[], attrs={"ram_style": "block"}
        )
        read, write = memory.read_port(domain="sync"), memory.write_port()
        states = feedback_states(self.bits)
        first, top = states[0], self.bits - 1
        gathered = [Signal(self.bits, init=first, name=f"event_{k}") for k in range(self.count)]
        numbers = Array(states.index(k) if k else 0 for k in range(1 << self.bits))

        turn = Signal(range(self.count))
        left = Signal(range(self.count + 1))  # turns to come at which memory's count is an old one
        visit = data.StructLayout(
            {
                "event": range(self.count),
                "anew": 1,  # its count begins with this visit
                "asked": 1,
            }
        )
        names = ("visited", "neared", "picked", "added")
        visited, neared, picked, added = (Signal(visit, name=name) for name in names)
        # Of each `NEAR` events the one that is visited: its state, and whether there is one more.
        near_states = Array(
            Signal(self.bits + 1, name=f"near_{k}") for k in range(0, self.count, NEAR)
        )
        state, last_event, amount = Signal(self.bits), Signal(), Signal(self.bits)
        base = Signal(COUNTER_BITS)
        total = base + amount
        turn_after = Signal.like(turn, init=1)
        # A count is not read before it is written, nor while all are old: between two visits of one
        # lie two of others, be they turns.
        under_way = Cat(stage.asked for stage in (visited, neared, picked, added))
        waiting = self.ask & ~(under_way.any() | self.valid)
        soon = (visited.event, neared.event, turn, turn_after)
        free = ~Cat(self.index == event for event in soon).any()
        serving = waiting & free & (left == 0) & ~self.clear
        m.d.comb += [
            read.addr.eq(neared.event),
            read.en.eq(1),
            write.addr.eq(added.event),
            write.data.eq(total),
            write.en.eq(1),
        ]
        m.d.sync += [
            visited.event.eq(Mux(serving, self.index, turn)),
            visited.anew.eq((left != 0) | self.clear),
            visited.asked.eq(serving),
            neared.eq(visited),
            picked.eq(neared),
            Cat(state, last_event).eq(near_states[neared.event >> exact_log2(NEAR)]),
            base.eq(Mux(picked.anew, 0, read.data)),
            added.eq(picked),
            amount.eq(numbers[state] + last_event),
            self.value.eq(total),
            self.valid.eq(added.asked),
        ]
        for k, nearest in enumerate(near_states):
            mine = slice(NEAR * k, NEAR * k + NEAR)
            pairs = zip(gathered[mine], self.events[mine], strict=True)
            here = visited.event[: exact_log2(NEAR)]
            m.d.sync += nearest.eq(Array(Cat(*pair) for pair in pairs)[here])
        with m.If(~serving):
            m.d.sync += [
                turn.eq(turn_after),
                turn_after.eq(Mux(turn_after == self.count - 1, 0, turn_after + 1)),
            ]
            with m.If(left != 0):
                m.d.sync += left.eq(left - 1)
        for k, counted in enumerate(gathered):
            with m.If((visited.event == k) | self.clear):
                m.d.sync += counted.eq(first)
            with m.Elif(self.events[k]):
                m.d.sync += counted.eq(Cat(counted[top] ^ counted[top - 1], counted[:top]))
        with m.If(self.clear):
            m.d.sync += left.eq(self.count - 1)  # the first of them is being chosen
        return m


class Counters(wiring.Component):
    """Says in each cycle what counts for what, and counts it (`map.COUNTERS`).

    Members:
        clear: All counts become 0.
        running: A command runs.
        active: Bit p: phase p runs. Of the phases of the main path one does at a time.
        read_beats, write_beats: Bit k: a beat of client k has passed; those of the main path belong
            to its active phase, the others to the cast whenever they come.
        feeding: A beat of `runs` feeds the backward pass of `fused`: it belongs to that.
        valid, ready: Bit k: of the stream into unit k.
        events: What counts in this cycle, a bit for each counter.
        ask, index, count_valid, count: See `CounterBank`.
    """

    clear: Signal
    running: Signal
    active: Signal
    read_beats: Signal
    write_beats: Signal
    feeding: Signal
    valid: Signal
    ready: Signal
    events: Signal
    ask: Signal
    index: Signal
    count_valid: Signal
    count: Signal

    def __init__(self):
        super().__init__(
            {
                "clear": In(1),
                "running": In(1),
                "active": In(len(Phase)),
                "read_beats": In(len(READ_CLIENTS)),
                "write_beats": In(len(WRITE_CLIENTS)),
                "feeding": In(1),
                "valid": In(len(UNITS)),
                "ready": In(len(UNITS)),
                "events": Out(len(NAMES)),
                "ask": In(1),
                "index": In(range(len(NAMES))),
                "count_valid": Out(1),
                "count": Out(COUNTER_BITS),
            }
        )

    def elaborate(self, platform):
        m = Module()
        m.submodules.bank = bank = CounterBank(len(NAMES))
        # Counted a cycle later: they come from all over the engine.
        m.d.sync += [bank.clear.eq(self.clear), bank.events.eq(self.events)]
        m.d.comb += [
            self.events.eq(Cat(self._events())),
            bank.ask.eq(self.ask),
            bank.index.eq(self.index),
            self.count_valid.eq(bank.valid),
            self.count.eq(bank.value),
        ]
        return m

    def _events(self):
        """The condition of each counter, in the order of the map."""
        yield self.running
        fed = self.read_beats[RUNS] & self.feeding
        for phase in Phase:
            active = self.active[phase]
            reads = active & self.read_beats[:MAIN_READERS].any()
            writes = active & self.write_beats[:MAIN_WRITERS].any()
            if phase == Phase.CAST:
                reads = self.read_beats[MAIN_READERS:].any() & ~fed
                writes = self.write_beats[MAIN_WRITERS:].any()
            elif phase == Phase.BACKWARD:
                reads = reads | fed
            yield from (active, reads, writes)
        cast = self.active[Phase.CAST]
        main = (self.active & ~Const(1 << Phase.CAST, len(Phase))).any()
        for k in range(len(READ_CLIENTS)):
            # Before a command runs, its descriptor is read by the first client.
            yield self.read_beats[k] & (main if k < MAIN_READERS else 1)
        yield from self.write_beats
        for k in range(len(UNITS)):
            at_work = cast if k >= len(UNITS) - CAST_UNITS else main
            valid, ready = self.valid[k], self.ready[k]
            yield from (valid & ready, at_work & ~valid & ready, valid & ~ready)
