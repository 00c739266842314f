# SPDX-FileCopyrightText: castbag contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Counters: cycles and beats of each phase of the last command."""

from amaranth.hdl import Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from .map import Phase

COUNTER_BITS = 40
"""Three hours at 100 MHz."""


class Counters(wiring.Component):
    """For each phase, cycles while it is active and the beats that belong to it.

    Members:
        clear: All counts become 0.
        running: A command runs: counts `total`.
        active: Bit p: phase p runs.
        read_beat, write_beat: A beat of the main path, counted for its active phase.
        cast_read_beat, cast_write_beats: Beats of the cast, of several clients in a cycle;
            counted whenever they come.
        feed_read_beat: A beat of the merge that feeds the backward pass of `fused` as it runs;
            counted for that phase, whenever it comes. One port brings all read beats: there is
            none of these in a cycle with `read_beat`.
        total: Cycles of the command.
        cycles, read_beats, write_beats: By phase.
    """

    clear: Signal
    running: Signal
    active: Signal
    read_beat: Signal
    write_beat: Signal
    cast_read_beat: Signal
    cast_write_beats: Signal
    feed_read_beat: Signal
    total: Signal
    cycles: list[Signal]
    read_beats: list[Signal]
    write_beats: list[Signal]

    def __init__(self):
        by_phase = Out(COUNTER_BITS).array(len(Phase))
        super().__init__(
            {
                "clear": In(1),
                "running": In(1),
                "active": In(len(Phase)),
                "read_beat": In(1),
                "write_beat": In(1),
                "cast_read_beat": In(1),
                "cast_write_beats": In(2),
                "feed_read_beat": In(1),
                "total": Out(COUNTER_BITS),
                "cycles": by_phase,
                "read_beats": by_phase,
                "write_beats": by_phase,
            }
        )

    def elaborate(self, platform):
        m = Module()

        def count(counter: Signal, amount) -> None:
            with m.If(self.clear):
                m.d.sync += counter.eq(0)
            with m.Else():
                m.d.sync += counter.eq(counter + amount)

        reads = [active & self.read_beat for active in self.active]
        writes = [active & self.write_beat for active in self.active]
        reads[Phase.CAST], writes[Phase.CAST] = self.cast_read_beat, self.cast_write_beats
        reads[Phase.BACKWARD] |= self.feed_read_beat
        count(self.total, self.running)
        for phase in Phase:
            count(self.cycles[phase], self.active[phase])
            count(self.read_beats[phase], reads[phase])
            count(self.write_beats[phase], writes[phase])
        return m
