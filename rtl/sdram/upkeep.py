# SPDX-FileCopyrightText: castbag contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Upkeep: the commands that no access asks for, at power-up and for refresh."""

from amaranth.hdl import Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from .bank import LEAD
from .chips import SdramChip, Timings


class Upkeep(wiring.Component):
    """Brings the chip up, then refreshes it each `timings.refresh` clocks.

    Power-up: quiet for as long as the sheet says, all banks precharged, refreshes, and the mode
    register. After a later reset the same, but quiet for one interval between refreshes: what was
    under way has ended then, and the chip keeps its contents.

    A refresh that is due stops the accesses; once those accepted have had their column commands and
    the banks have rested, all are precharged, and the refresh follows. Intervals are counted
    without regard to when the refresh came about, so their mean is kept, and one is late by no more
    than the accesses that were accepted take.

    Members:
        quiet: No access waits, all banks have rested, and neither will change while `due`.
        due: Accept no access. Falls once all banks are precharged.
        hold: Activate nothing.
        close, refresh, mode: Pulses: precharge all banks, refresh, set the mode register.
        ready: The chip is up.
    """

    quiet: Signal
    due: Signal
    hold: Signal
    close: Signal
    refresh: Signal
    mode: Signal
    ready: Signal

    def __init__(self, *, chip: SdramChip, timings: Timings):
        self.chip = chip
        self.timings = timings
        super().__init__(
            {
                "quiet": In(1),
                "due": Out(1, init=1),  # pyright: ignore[reportCallIssue]  (stubs lack it)
                "hold": Out(1, init=1),  # pyright: ignore[reportCallIssue]  (stubs lack it)
                "close": Out(1),
                "refresh": Out(1),
                "mode": Out(1),
                "ready": Out(1),
            }
        )

    def elaborate(self, platform):
        m = Module()
        timings = self.timings
        interval = Signal(range(timings.refresh), init=timings.refresh - 1)
        elapsed = Signal()
        # Whole intervals serve as the clock of the power-up's wait too.
        quiet_intervals = -(-timings.power_up // timings.refresh) + 1
        left = Signal(range(quiet_intervals + 1), init=quiet_intervals)
        powered = Signal(reset_less=True)  # the chip has been up
        with m.If(self.ready):
            m.d.sync += powered.eq(1)
        refreshes = Signal(range(self.chip.refreshes + 1), init=self.chip.refreshes)
        wait = Signal(range(max(timings.rp, timings.rfc, timings.mrd) + 1))
        m.d.sync += [interval.eq(interval - 1), elapsed.eq(interval == 1)]
        with m.If(elapsed):
            m.d.sync += interval.eq(timings.refresh - 1)
            with m.If(self.ready):
                m.d.sync += self.due.eq(1)
        with m.If(wait != 0):
            m.d.sync += wait.eq(wait - 1)

        with m.FSM():
            with m.State("power up"):
                with m.If(elapsed):
                    m.d.sync += left.eq(left - 1)
                with m.If((left == 0) | (powered & elapsed)):
                    m.next = "precharge"
            with m.State("precharge"):
                m.d.comb += self.close.eq(1)
                m.d.sync += [wait.eq(timings.rp - 1), self.due.eq(~self.ready)]
                m.next = "refresh"
            with m.State("refresh"):
                with m.If(wait == 0):
                    m.d.comb += self.refresh.eq(1)
                    m.d.sync += wait.eq(timings.rfc - 1 - LEAD)
                    with m.If(refreshes != 0):
                        m.d.sync += refreshes.eq(refreshes - 1)
                    m.next = "refreshing"
            with m.State("refreshing"):
                with m.If(wait == 0):
                    with m.If(self.ready):
                        m.d.sync += self.hold.eq(0)
                        m.next = "accesses"
                    with m.Else():
                        m.next = "next"
            with m.State("next"):  # in which the last of tRFC's clocks passes
                with m.If(refreshes == 0):
                    m.next = "mode"
                with m.Else():
                    m.next = "refresh"
            with m.State("mode"):
                m.d.comb += self.mode.eq(1)
                m.d.sync += wait.eq(timings.mrd)
                m.next = "setting"
            with m.State("setting"):
                with m.If(wait == 0):
                    m.d.sync += [self.ready.eq(1), self.due.eq(0), self.hold.eq(0)]
                    m.next = "accesses"
            with m.State("accesses"):
                with m.If(self.due & self.quiet):
                    m.d.sync += self.hold.eq(1)
                    m.next = "precharge"
        return m
