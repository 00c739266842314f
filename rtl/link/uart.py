# SPDX-FileCopyrightText: castbag contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Receiver and Transmitter: bytes over a wire, 8N1, at any rate down to 4 cycles a bit.

A bit's length is a fraction of cycles: a phase gains `step` each cycle and each time it
overflows is one bit, so that no error builds up from bit to bit.
"""

from fractions import Fraction

from amaranth.hdl import Cat, Module, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.cdc import FFSynchronizer
from amaranth.lib.wiring import In, Out

LEAST_CYCLES = 4
"""A bit is sampled up to a cycle off its middle, and must stand that."""

MOST_CYCLES = 1 << 16

BITS = 10
"""Of a byte on the line: start, 8 data, stop."""

TOLERANCE = Fraction(1, 200)
"""Of a bit, that a byte's last bit is off by the rounding of `step` at most."""


def phase_step(cycles_a_bit: Fraction | float) -> tuple[int, int]:
    """Width of the phase, and what it gains a cycle: the narrowest that is within `TOLERANCE`."""
    if not LEAST_CYCLES <= cycles_a_bit <= MOST_CYCLES:
        raise ValueError(
            f"cycles_a_bit = {cycles_a_bit}: must be from {LEAST_CYCLES} to {MOST_CYCLES}"
        )
    cycles = Fraction(cycles_a_bit)
    width = 3
    while True:
        step = round((1 << width) / cycles)
        if step and abs(BITS * (Fraction(1 << width, step) / cycles - 1)) <= TOLERANCE:
            return width, step
        width += 1


class Receiver(wiring.Component):
    """Every byte whose stop bit is high, once and in order; a byte without one is dropped.

    A start bit must last to its middle. A byte is told in the middle of its stop bit, about 9.5
    bits and 3 cycles after its first edge, and the next one may begin at once: a peer may be
    about 4 % faster or slower.

    Args:
        cycles_a_bit: Of the clock, 4 to 65536; any fraction.

    Members:
        rx: The wire, of any phase to the clock.
        strobe, byte: A byte has come; nothing waits for anybody.
        busy: The wire is low, or a byte is coming.
    """

    rx: Signal
    strobe: Signal
    byte: Signal
    busy: Signal

    def __init__(self, *, cycles_a_bit: Fraction | float):
        self.width, self.step = phase_step(cycles_a_bit)
        super().__init__({"rx": In(1), "strobe": Out(1), "byte": Out(8), "busy": Out(1)})

    def elaborate(self, platform):
        m = Module()
        line = Signal(init=1)
        m.submodules.synchroniser = FFSynchronizer(self.rx, line, init=1)
        phase, tick = Signal(self.width), Signal()
        gained = Signal(self.width + 1)
        taken = Signal(range(BITS + 1))  # bits so far; BITS: the last one was no stop bit
        coming = Signal()
        m.d.comb += [
            gained.eq(phase + self.step),
            tick.eq(gained[-1]),
            self.busy.eq(coming | ~line),
        ]
        m.d.sync += self.strobe.eq(0)
        with m.If(~coming):
            # Half a bit on; the edge was half a cycle ago, and to see it took this one.
            m.d.sync += [
                phase.eq((1 << self.width - 1) + self.step),
                taken.eq(0),
                coming.eq(~line),
            ]
        with m.Elif(taken == BITS):
            m.d.sync += coming.eq(~line)  # a break lasts until the wire is high
        with m.Else():
            m.d.sync += phase.eq(gained)
            with m.If(tick):
                m.d.sync += taken.eq(taken + 1)
                with m.If(taken == BITS - 1):
                    m.d.sync += [self.strobe.eq(line), coming.eq(~line)]
                with m.Else():
                    m.d.sync += self.byte.eq(Cat(self.byte[1:], line))
                with m.If((taken == 0) & line):
                    m.d.sync += coming.eq(0)  # too short for a start bit
        return m


class Transmitter(wiring.Component):
    """Every byte that enters goes over the wire, in order; the next one at once, if it waits.

    A byte takes 10 bits, of which the sum is right to a cycle however many follow each other.

    Args:
        cycles_a_bit: Of the clock, 4 to 65536; any fraction.

    Members:
        i: Stream of bytes in.
        tx: The wire, from a flip-flop.
    """

    i: stream.Interface
    tx: Signal

    def __init__(self, *, cycles_a_bit: Fraction | float):
        self.width, self.step = phase_step(cycles_a_bit)
        super().__init__({"i": In(stream.Signature(8)), "tx": Out(1)})

    def elaborate(self, platform):
        m = Module()
        phase, tick = Signal(self.width), Signal()
        gained = Signal(self.width + 1)
        bits = Signal(BITS, init=(1 << BITS) - 1)
        left = Signal(range(BITS + 1))  # bits that have not ended
        m.d.comb += [
            self.tx.eq(bits[0]),
            gained.eq(phase + self.step),
            tick.eq(gained[-1]),
            self.i.ready.eq((left == 0) | ((left == 1) & tick)),
        ]
        with m.If(left == 0):
            m.d.sync += phase.eq(0)
        with m.Else():
            m.d.sync += phase.eq(gained)
        with m.If(self.i.ready):
            with m.If(self.i.valid):
                m.d.sync += [bits.eq(Cat(0, self.i.payload, 1)), left.eq(BITS)]
            with m.Else():
                m.d.sync += left.eq(0)
        with m.Elif(tick):
            m.d.sync += [bits.eq(Cat(bits[1:], 1)), left.eq(left - 1)]
        return m
