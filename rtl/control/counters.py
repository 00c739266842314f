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
        cast_read_beat, cast_write_beats: Beats of the cast.
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

        count(self.total, self.running)
        for phase in Phase:
            cast = phase is Phase.CAST
            active = self.active[phase]
            count(self.cycles[phase], active)
            count(
                self.read_beats[phase], active & (self.cast_read_beat if cast else self.read_beat)
            )
            if cast:
                count(self.write_beats[phase], active.replicate(2) & self.cast_write_beats)
            else:
                count(self.write_beats[phase], active & self.write_beat)
        return m
