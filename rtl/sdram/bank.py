# SPDX-FileCopyrightText: castbag contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Bank: what one bank of the chip wants next, and when it may have it."""

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from .chips import Timings

ORDERED = 6
"""The most accesses that wait for their column commands, all banks together."""

LEAD = 2
"""Cycles from an event here to the first command that can follow from it."""


def later(m: Module, event, cycles: int):
    """`event`, that many cycles later."""
    for _ in range(max(cycles, 0)):
        event, before = Signal(), event
        m.d.sync += event.eq(before)
    return event


class Bank(wiring.Component):
    """Opens the row that the next access needs, once all before it have had theirs.

    What is said here in cycle t leads to a command in cycle t + LEAD at the earliest, so every
    distance is counted less LEAD. tRAS and tRC have no counters: a column command lies between, see
    `Timings.read_to_precharge`.

    Members:
        accept: An access of this bank is next in the order.
        miss: With `accept`: its row is another than the bank's.
        column, write: The oldest access' column command goes out; it is a write.
        activate, precharge: That command goes out to this bank.
        close: All banks are precharged; the next activate is held by whoever says so.
        used: The bank has a row, open or about to be.
        idle: No access waits.
        is_open: A column command may follow.
        may_activate, may_precharge: That command is wanted, and may follow.
        rested: Nothing forbids a precharge.
    """

    accept: Signal
    miss: Signal
    column: Signal
    write: Signal
    activate: Signal
    precharge: Signal
    close: Signal
    used: Signal
    idle: Signal
    is_open: Signal
    may_activate: Signal
    may_precharge: Signal
    rested: Signal

    def __init__(self, timings: Timings):
        self.timings = timings
        events = ("accept", "miss", "column", "write", "activate", "precharge", "close")
        states = ("used", "idle", "is_open", "may_activate", "may_precharge", "rested")
        super().__init__(
            {name: In(1) for name in events} | {name: Out(1) for name in states},
        )

    def elaborate(self, platform):
        m = Module()
        timings = self.timings
        after_read = timings.read_to_precharge - LEAD
        after_write = timings.write_to_precharge - LEAD
        wants_precharge = Signal()
        waiting = Signal(range(ORDERED + 1))
        rest = Signal(range(max(after_read, after_write) + 1))
        fresh = Signal()
        m.d.comb += [
            fresh.eq(self.accept & self.miss),
            self.idle.eq(waiting == 0),
            self.rested.eq(rest == 0),
            self.may_precharge.eq(wants_precharge & self.rested),
        ]

        with m.If(fresh):
            m.d.sync += [
                self.used.eq(1),
                self.is_open.eq(0),
                wants_precharge.eq(self.used),
                self.may_activate.eq(~self.used),
            ]
        with m.If(self.precharge):
            m.d.sync += wants_precharge.eq(0)
        with m.If(later(m, self.precharge, timings.rp - LEAD)):
            m.d.sync += self.may_activate.eq(1)
        with m.If(self.activate):
            m.d.sync += self.may_activate.eq(0)
        with m.If(later(m, self.activate, timings.rcd - LEAD)):
            m.d.sync += self.is_open.eq(1)
        with m.If(self.close):
            m.d.sync += [self.used.eq(0), self.is_open.eq(0)]

        with m.If(self.accept & ~self.column):
            m.d.sync += waiting.eq(waiting + 1)
        with m.If(self.column & ~self.accept):
            m.d.sync += waiting.eq(waiting - 1)
        with m.If(self.column):
            m.d.sync += rest.eq(Mux(self.write, after_write, after_read))
        with m.Elif(rest != 0):
            m.d.sync += rest.eq(rest - 1)
        return m
