# SPDX-FileCopyrightText: castbag contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Scheduler: accesses in their order become commands of the chip."""

from functools import reduce
from operator import or_
from typing import Any

from amaranth.hdl import Cat, Const, Module, Mux, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from ..queue import Queue
from .bank import LEAD, ORDERED, Bank, later
from .chips import BURST, SdramChip, Timings
from .layouts import AccessLayout, ColumnLayout
from .upkeep import Upkeep

ORDER = ORDERED - 2
"""Accesses that wait behind the oldest one; a place is spared for arithmetic's sake."""

PRECHARGE_ALL = 10
"""Address bit that makes a precharge one of all banks."""


def any_of(values):
    """Whether one of them is 1."""
    return reduce(or_, values)


def first_of(values) -> list:
    """Of each: it is 1, and none before it is."""
    values = list(values)
    return [v & ~any_of(values[:k]) if k else v for k, v in enumerate(values)]


class Scheduler(wiring.Component):
    """Column commands in the order of the accesses, rows opened ahead of them.

    Four banks, each with its page left open. An access is accepted if its bank's row is the right
    one, or as soon as no older access of that bank waits; then its bank closes the old row and
    opens the new one while older accesses of other banks have the data bus. Up to ORDERED - 1 are
    accepted ahead, so a row is opened that many accesses before its turn. In a cycle the oldest
    access' column command goes before an activate, that before a precharge.

    A decision takes two cycles: what each bank may have is put down in one, the next chooses; see
    `Bank`. The command is at the pads' flip-flops two cycles after that.

    Throughput: an access every BURST cycles. An access that is offered in cycle 0 is accepted in
    cycle 1, and has its column command chosen in cycle 4 if its row is open, 3 + tRCD if its bank
    is closed, and 3 + tRP + tRCD if another row is open, none older being in the way.

    Members:
        i: Stream in of accesses. Nothing is taken in the cycle behind the one in which it came.
        read, write: Pulses: a read's or a write's column command stands at the pads' inputs in the
            next cycle. Those of an access in error come in their time, with no command.
        cs, ras, cas, we, ba, a: See `SdramPadsSignature`; flip-flops.
        ready: The chip is up.
    """

    i: stream.Interface
    read: Signal
    write: Signal
    cs: Signal
    ras: Signal
    cas: Signal
    we: Signal
    ba: Signal
    a: Signal
    ready: Signal

    def __init__(self, *, chip: SdramChip, timings: Timings):
        self.chip = chip
        self.timings = timings
        commands = ("cs", "ras", "cas", "we")
        super().__init__(
            {
                "i": In(stream.Signature(AccessLayout(chip))),
                "read": Out(1),
                "write": Out(1),
                **{name: Out(1) for name in commands},
                "ba": Out(2),
                "a": Out(chip.row_bits),
                "ready": Out(1),
            }
        )

    def elaborate(self, platform):
        m = Module()
        banks = [Bank(self.timings) for _ in range(self.chip.banks)]
        for k, bank in enumerate(banks):
            m.submodules[f"bank{k}"] = bank
        m.submodules.upkeep = upkeep = Upkeep(chip=self.chip, timings=self.timings)
        m.submodules.order = order = Queue(ColumnLayout(self.chip), depth=ORDER)
        # Two copies of four rows: one is compared, one is sent.
        m.submodules.rows = rows = Memory(shape=self.chip.row_bits, depth=16, init=[])
        m.d.comb += self.ready.eq(upkeep.ready)

        self._accept(m, banks, upkeep, order, rows)
        head, head_valid = self._head(m, order)
        self._choose(m, banks, upkeep, order, rows, head, head_valid)
        return m

    def _accept(self, m: Module, banks, upkeep, order, rows) -> None:
        """The next access: is its bank's row the right one, and may it enter the order?"""
        access, place = self.i.payload, self.i.payload.place
        compared, may, miss, accept = Signal(), Signal(), Signal(), Signal()
        row_of = rows.read_port(domain="comb")
        put = rows.write_port()
        used = Signal(len(banks))
        idle = Signal(len(banks))
        hit = used.bit_select(place.bank, 1) & (row_of.data == place.row)
        may_enter = hit | access.error | idle.bit_select(place.bank, 1)
        m.d.comb += [
            used.eq(Cat(bank.used for bank in banks)),
            idle.eq(Cat(bank.idle for bank in banks)),
            row_of.addr.eq(place.bank),
            accept.eq(compared & may),
            self.i.ready.eq(accept),
            put.en.eq(accept & miss),
            put.addr.eq(place.bank),
            put.data.eq(place.row),
            order.i.valid.eq(accept),
            order.i.payload.column.eq(place.column),
            order.i.payload.bank.eq(place.bank),
            order.i.payload.error.eq(access.error),
            order.i.payload.write.eq(access.write),
        ]
        m.d.sync += [
            compared.eq(self.i.valid & ~accept),
            miss.eq(~hit & ~access.error),
            may.eq(may_enter & order.i.ready & ~upkeep.due),
        ]
        for k, bank in enumerate(banks):
            m.d.comb += [
                bank.accept.eq(accept & (place.bank == k) & ~access.error),
                bank.miss.eq(miss),
            ]

    def _head(self, m: Module, order) -> tuple[Any, Signal]:
        """The oldest access, out of the order's RAM. It stands a cycle longer than it is valid."""
        head = Signal.like(order.o.payload)
        head_valid = Signal()
        m.d.comb += order.o.ready.eq(~head_valid)
        with m.If(~head_valid):
            m.d.sync += [head_valid.eq(order.o.valid), head.eq(order.o.payload)]
        return head, head_valid

    def _choose(self, m: Module, banks, upkeep, order, rows, head, head_valid) -> None:
        timings = self.timings
        column = Signal()
        activates = Signal(len(banks))
        precharges = Signal(len(banks))

        # One command a cycle.
        any_activate = any_of(activates)
        activating = [a & ~column for a in first_of(activates)]
        precharging = [p & ~column & ~any_activate for p in first_of(precharges)]
        m.d.comb += [
            upkeep.quiet.eq(0),
        ]
        with m.If(column):
            m.d.sync += head_valid.eq(0)
        for k, bank in enumerate(banks):
            m.d.comb += [
                bank.column.eq(column & (head.bank == k) & ~head.error),
                bank.write.eq(head.write),
                bank.activate.eq(activating[k]),
                bank.precharge.eq(precharging[k]),
                bank.close.eq(upkeep.close),
            ]

        # What may be chosen in the next cycle. Waits are counted as in `Bank`.
        next_column = Signal(range(BURST - LEAD + 1))
        next_write = Signal(range(timings.read_to_write - LEAD + 1))
        with m.If(column):
            m.d.sync += next_column.eq(BURST - LEAD)
        with m.Elif(next_column != 0):
            m.d.sync += next_column.eq(next_column - 1)
        with m.If(column & ~head.write):
            m.d.sync += next_write.eq(timings.read_to_write - LEAD)
        with m.Elif(next_write != 0):
            m.d.sync += next_write.eq(next_write - 1)
        is_open = Signal(len(banks))
        m.d.comb += is_open.eq(Cat(bank.is_open for bank in banks))
        an_activate = any_activate & ~column
        crowded = an_activate
        for cycles in range(1, timings.rrd - LEAD + 1):
            crowded = crowded | later(m, an_activate, cycles)
        m.d.sync += [
            column.eq(
                head_valid
                & ~column
                & (head.error | is_open.bit_select(head.bank, 1))
                & (next_column == 0)
                & (~head.write | (next_write == 0))
            ),
            activates.eq(Cat(bank.may_activate & ~crowded & ~upkeep.hold for bank in banks)),
            precharges.eq(
                Cat(
                    bank.may_precharge & ~chosen
                    for bank, chosen in zip(banks, precharging, strict=True)
                )
            ),
        ]

        # A refresh that is due waits until nothing else does.
        draining, quiet = Signal(), Signal()
        m.d.sync += [
            draining.eq(upkeep.due),
            quiet.eq(
                upkeep.due
                & draining
                & ~order.o.valid
                & ~head_valid
                & ~column
                & Cat(bank.rested for bank in banks).all()
            ),
        ]
        m.d.comb += upkeep.quiet.eq(quiet)
        self._send(m, upkeep, rows, head, column, activating, precharging)

    def _send(self, m: Module, upkeep, rows, head, column, activating, precharging) -> None:
        """What was chosen, in a register; then its address beside it, in the registers that go out.

        `read` and `write` are that first register, of accesses in error too.
        """
        to_send = rows.read_port(domain="comb")
        activate, precharge, close = Signal(), Signal(), Signal()
        refresh, mode, access = Signal(), Signal(), Signal()
        bank = Signal(2)
        banks = [a | p for a, p in zip(activating, precharging, strict=True)]
        m.d.sync += [
            self.read.eq(column & ~head.write),
            self.write.eq(column & head.write),
            access.eq(column & ~head.error),
            activate.eq(any_of(activating)),
            precharge.eq(any_of(precharging)),
            close.eq(upkeep.close),
            refresh.eq(upkeep.refresh),
            mode.eq(upkeep.mode),
            bank.eq(Mux(column, head.bank, Cat(banks[1] | banks[3], banks[2] | banks[3]))),
        ]
        read, write = access & self.read, access & self.write
        burst_code = (BURST - 1).bit_length()
        mode_value = Const(burst_code | self.timings.cl << 4, self.chip.row_bits)
        column_address = Cat(Const(0, burst_code), head.column)
        m.d.comb += to_send.addr.eq(bank)
        m.d.sync += [
            self.cs.eq(access | activate | precharge | close | refresh | mode),
            self.ras.eq(activate | precharge | close | refresh | mode),
            self.cas.eq(read | write | refresh | mode),
            self.we.eq(write | precharge | close | mode),
            self.ba.eq(Mux(mode, 0, bank)),
            self.a.eq(
                Mux(activate, to_send.data, 0)
                | Mux(access, column_address, 0)
                | Mux(close, 1 << PRECHARGE_ALL, 0)
                | Mux(mode, mode_value, 0)
            ),
        ]
