# SPDX-FileCopyrightText: castbag contributors
# SPDX-License-Identifier: BSD-2-Clause
"""The binary32 comparison."""

from amaranth.hdl import Cat, Const, Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from .parts import BINARY32

__all__ = ["Comparer"]


class Comparer(wiring.Component):
    """`o` is whether `a` is greater than `b`, as IEEE-754 orders them.

    In NumPy, on `float32`: `o = a > b`. Nothing is greater than a NaN, nor a NaN than anything; the
    two zeros are equal.

    No register: `o` follows within the cycle, after one carry chain of 32 bits, at most one LUT
    before it, and two after; beside the chain, trees of three tell NaNs and zeros. So a running
    maximum, fed back in one cycle, takes a word a cycle.

    On an ECP5 of speed grade 6 (LFE5U-85F, alone, registers about it, the worst of three seeds):
    115 LUT sites, 134 MHz.

    Members:
        a, b: Operands, 32 bits each.
        o: Whether `a > b`.
    """

    def __init__(self):
        super().__init__({"a": In(32), "b": In(32), "o": Out(1)})

    a: Signal
    b: Signal
    o: Signal

    def elaborate(self, platform):
        m = Module()
        a, b = BINARY32(self.a), BINARY32(self.b)
        a_fraction, b_fraction = a.fraction.any(), b.fraction.any()
        nan = a.exponent.all() & a_fraction | b.exponent.all() & b_fraction
        zeros = ~(a.exponent.any() | a_fraction | b.exponent.any() | b_fraction)
        # Of two negative numbers the lesser magnitude is the greater number, and neither if they
        # are equal: `a > b` is `not |a| >= |b|`. The bit below the lowest makes > that >=.
        above = Cat(a.sign, self.a[:31]) > Cat(Const(0, 1), self.b[:31])
        ordered = Mux(a.sign == b.sign, above ^ a.sign, b.sign & ~zeros)
        m.d.comb += self.o.eq(ordered & ~nan)
        return m
