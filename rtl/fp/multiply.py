# SPDX-FileCopyrightText: castbag contributors
# SPDX-License-Identifier: BSD-2-Clause
"""The binary32 multiplier."""

from typing import Any

from amaranth.hdl import Cat, Const, EnableInserter, Module, Mux, Signal, signed
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from .parts import (
    BINARY32,
    OUTCOME,
    SIGNIFICAND_BITS,
    leading_zeros,
    round_and_encode,
    shift_right,
    stage,
)

__all__ = ["Multiplier"]

_PRODUCT_BITS = 2 * SIGNIFICAND_BITS
_LOW_BITS = 18  # what a multiplier block of the ECP5 takes on a side
_HIGH_BITS = SIGNIFICAND_BITS - _LOW_BITS
_DIGITS = SIGNIFICAND_BITS + 1  # the significand and its guard bit


class Multiplier(wiring.Component):
    """`o` is the product of `a` and `b`, rounded once.

    In NumPy, on `float32`: `o = a * b`, any NaN replaced by 0x7FC00000. The sign of a zero is that
    of any other product; zero times infinity is NaN.

    Operands are taken at every edge with `en` high, and their product stands at `o` after `LATENCY`
    such edges, the taking one included. With `en` low nothing moves. Nothing is reset either: what
    comes out before the first product has no meaning.

    Seven stages, each ending in the register it is named for::

        unpacked    leading bits written out, zeros, infinities and NaNs told apart
        entered     the same, at the multiplier blocks, which lie at few places of a device
        multiplied  four partial products, each in one multiplier block
        summed      the product, all 48 bits of it
        counted     moved by fours until the leading bit is among the top four
        normalised  moved up by the 0 to 3 places left
        rounded     to nearest, ties to even, and encoded

    The `limit` is the number of places that a product may move up before it has exponent 1, the
    least, and must stay, a subnormal. From 0 on, that place is marked, and the count of zeros takes
    the mark for a set bit. Below 0 the product moves down: it is placed 32 lower at once, which
    leaves `limit mod 32` places to move up again, and the mark alone is counted. So one shifter
    serves both ways. Below -32 nothing is left that could round up to the least subnormal.

    On an ECP5 of speed grade 6 (LFE5U-85F, alone, the worst of three seeds): 459 LUT sites, 417
    flip-flops, 4 MULT18X18D, 134 MHz.

    Members:
        a, b: Operands, 32 bits each.
        en: Clock enable of the whole pipeline.
        o: Product, 32 bits.
    """

    LATENCY = 7

    def __init__(self):
        super().__init__({"a": In(32), "b": In(32), "en": In(1), "o": Out(32)})

    a: Signal
    b: Signal
    en: Signal
    o: Signal

    def elaborate(self, platform):
        m = Module()

        a, b = BINARY32(self.a), BINARY32(self.b)
        a_normal, b_normal = a.exponent.any(), b.exponent.any()
        # A subnormal has the exponent of the least normal, not one less.
        a_exponent, b_exponent = a.exponent | ~a_normal, b.exponent | ~b_normal
        a_top, b_top = a.exponent.all(), b.exponent.all()
        a_zero, b_zero = ~self.a[:31].any(), ~self.b[:31].any()

        factors: dict[str, Any] = {
            "outcome": OUTCOME,
            "zero": 1,
            "exponents": 9,  # their sum and one
            "a": SIGNIFICAND_BITS,
            "b": SIGNIFICAND_BITS,
        }
        unpacked = stage(**factors)
        m.d.sync += [
            unpacked.outcome.sign.eq(a.sign ^ b.sign),
            unpacked.outcome.infinite.eq(a_top | b_top),
            unpacked.outcome.nan.eq(
                a_top & (a.fraction.any() | b_zero) | b_top & (b.fraction.any() | a_zero)
            ),
            unpacked.zero.eq(a_zero | b_zero),
            # One more comes for nothing, a carry from below, and 128 is less to subtract than 127.
            unpacked.exponents.eq(
                (Cat(Const(1, 1), a_exponent) + Cat(Const(1, 1), b_exponent))[1:]
            ),
            unpacked.a.eq(Cat(a.fraction, a_normal)),
            unpacked.b.eq(Cat(b.fraction, b_normal)),
        ]

        entered = stage(**factors)
        m.d.sync += entered.eq(unpacked)

        multiplied = stage(
            outcome=OUTCOME,
            zero=1,
            limit=signed(10),
            low=2 * _LOW_BITS,
            a_high=SIGNIFICAND_BITS,
            b_high=SIGNIFICAND_BITS,
            high=2 * _HIGH_BITS,
        )
        a_low, a_high = entered.a[:_LOW_BITS], entered.a[_LOW_BITS:]
        b_low, b_high = entered.b[:_LOW_BITS], entered.b[_LOW_BITS:]
        m.d.sync += [
            multiplied.outcome.eq(entered.outcome),
            multiplied.zero.eq(entered.zero),
            multiplied.limit.eq(entered.exponents - 128),
            multiplied.low.eq(a_low * b_low),
            multiplied.a_high.eq(a_high * b_low),
            multiplied.b_high.eq(a_low * b_high),
            multiplied.high.eq(a_high * b_high),
        ]

        summed = stage(
            outcome=OUTCOME,
            zero=1,
            limit=signed(10),
            product=_PRODUCT_BITS,
            fours=8,  # which of the top fours hold a set bit or the mark
        )
        cross, product = Signal(SIGNIFICAND_BITS + 1), Signal(_PRODUCT_BITS)
        m.d.comb += [
            cross.eq(multiplied.a_high + multiplied.b_high),
            product.eq(
                Cat(
                    multiplied.low[:_LOW_BITS],
                    Cat(multiplied.low[_LOW_BITS:], multiplied.high) + cross,
                )
            ),
        ]
        down = multiplied.limit[-1]
        marking = down | ~multiplied.limit[5:].any()
        m.d.sync += [
            summed.outcome.eq(multiplied.outcome),
            summed.zero.eq(multiplied.zero | down & ~multiplied.limit[5:].all()),  # below -32
            summed.limit.eq(multiplied.limit),
            summed.product.eq(product),
            summed.fours.eq(
                Cat(
                    ~down & product[-32:].word_select(n, 4).any()
                    | marking & (multiplied.limit[2:5] == 7 - n)
                    for n in range(8)
                )
            ),
        ]

        counted = stage(
            outcome=OUTCOME,
            zero=1,
            limit=signed(10),
            digits=_DIGITS + 3,
            sticky=1,
            fours=3,  # how many fours it was moved up
            marked=1,  # the mark is among the top four places
        )
        empty_fours = Signal(3)
        m.d.comb += empty_fours.eq(leading_zeros(summed.fours))
        down = summed.limit[-1]
        placed = Mux(down, summed.product[SIGNIFICAND_BITS:], Cat(Const(0, 8), summed.product))
        # What is kept are the highest digits: up by n fours means down by 7 - n.
        digits, lost = shift_right(placed, Cat(Const(0, 2), ~empty_fours))
        m.d.sync += [
            counted.outcome.eq(summed.outcome),
            counted.zero.eq(summed.zero),
            counted.limit.eq(summed.limit),
            counted.digits.eq(digits),
            counted.sticky.eq(lost | down & summed.product[:SIGNIFICAND_BITS].any()),
            counted.fours.eq(empty_fours),
            counted.marked.eq(down | (summed.limit[2:] == empty_fours)),
        ]

        normalised = stage(outcome=OUTCOME, base=8, digits=_DIGITS, sticky=1)
        mark = Cat(counted.marked & (counted.limit[:2] == 3 - n) for n in range(4))
        zeros = Signal(2)
        m.d.comb += zeros.eq(leading_zeros(counted.digits[-4:] | mark))
        base = Signal(9)
        m.d.comb += base.eq(counted.limit - Cat(zeros, counted.fours))
        digits, lost = shift_right(counted.digits, ~zeros)
        m.d.sync += [
            normalised.outcome.eq(counted.outcome),
            normalised.base.eq(base),
            normalised.digits.eq(digits),
            normalised.sticky.eq(counted.sticky | lost),
        ]
        down = counted.limit[-1]
        with m.If(~down & (base[8] | base[1:8].all())):  # 254 and more
            m.d.sync += normalised.outcome.infinite.eq(1)
        with m.If(down | counted.zero):
            m.d.sync += normalised.base.eq(0)
        with m.If(counted.zero):
            m.d.sync += normalised.digits.eq(0)

        rounded = round_and_encode(
            m,
            outcome=normalised.outcome,
            base=normalised.base,
            digits=normalised.digits,
            sticky=normalised.sticky,
        )
        m.d.comb += self.o.eq(rounded)

        return EnableInserter(self.en)(m)
