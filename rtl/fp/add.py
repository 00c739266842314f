# SPDX-FileCopyrightText: castbag contributors
# SPDX-License-Identifier: BSD-2-Clause
"""The binary32 adder."""

from amaranth.hdl import Cat, Const, EnableInserter, Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from .parts import (
    BINARY32,
    FRACTION_BITS,
    OUTCOME,
    SIGNIFICAND_BITS,
    leading_zeros,
    round_and_encode,
    shift_right,
    stage,
)

__all__ = ["Adder"]

# An aligned operand keeps two exact bits below the significand (a difference may move up by one
# place and needs a guard bit still), and one that stands for all below those.
_ALIGNED_BITS = SIGNIFICAND_BITS + 3
_SUM_BITS = _ALIGNED_BITS + 1
_FOURS = _SUM_BITS // 4


class Adder(wiring.Component):
    """`o` is the sum of `a` and `b`, rounded once.

    In NumPy, on `float32`: `o = a + b`, any NaN replaced by 0x7FC00000. An exact difference of zero
    is +0.0, and so is (+0.0) + (-0.0); (-0.0) + (-0.0) is -0.0.

    Operands are taken at every edge with `en` high, and their sum stands at `o` after `LATENCY`
    such edges, the taking one included. With `en` low nothing moves. Nothing is reset either: what
    comes out before the first sum has no meaning.

    Six stages, each ending in the register it is named for::

        swapped     the larger magnitude first, so that no difference is negative
        aligned     the smaller one moved down to the larger one's exponent
        summed      their sum or difference
        counted     moved up by fours until the leading bit is among the top four
        normalised  moved up by the 0 to 3 places left
        rounded     to nearest, ties to even, and encoded

    A sum must not move up beyond the place that exponent 1, the least, gives it: there it stays, a
    subnormal. To compare the count of zeros with the exponent and take the lesser would be the
    longest path of all. Instead that place is marked, and the count takes the mark for a set bit.

    On an ECP5 of speed grade 6 (LFE5U-85F, alone, the worst of three seeds): 564 LUT sites, 297
    flip-flops, 146 MHz.

    Members:
        a, b: Operands, 32 bits each.
        en: Clock enable of the whole pipeline.
        o: Sum, 32 bits.
    """

    LATENCY = 6

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
        swap = Signal()
        # The exponents are subtracted both ways beside the comparison, not once after it.
        a_above, b_above = Signal(8), Signal(8)
        m.d.comb += [
            swap.eq(self.a[:31] < self.b[:31]),
            a_above.eq(a_exponent - b_exponent),
            b_above.eq(b_exponent - a_exponent),
        ]

        swapped = stage(
            sign=1,
            differs=1,  # the signs do: subtract
            exponent=8,
            normal=1,
            fraction=FRACTION_BITS,
            small_normal=1,
            small_fraction=FRACTION_BITS,
            distance=5,  # between the exponents
            far=1,  # the distance is 32 or more
            both_top=1,  # neither is finite
        )
        m.d.sync += [
            swapped.sign.eq(Mux(swap, b.sign, a.sign)),
            swapped.differs.eq(a.sign ^ b.sign),
            swapped.exponent.eq(Mux(swap, b.exponent, a.exponent)),
            swapped.normal.eq(a_normal | b_normal),
            swapped.fraction.eq(Mux(swap, b.fraction, a.fraction)),
            swapped.small_normal.eq(a_normal & b_normal),
            swapped.small_fraction.eq(Mux(swap, a.fraction, b.fraction)),
            swapped.distance.eq(Mux(swap, b_above[:5], a_above[:5])),
            swapped.far.eq(Mux(swap, b_above[5:].any(), a_above[5:].any())),
            swapped.both_top.eq(a.exponent.all() & b.exponent.all()),
        ]

        aligned = stage(
            outcome=OUTCOME,
            differs=1,
            exponent=8,
            significand=SIGNIFICAND_BITS,
            addend=_ALIGNED_BITS,  # inverted if it is to be subtracted
        )
        small = Cat(swapped.small_fraction, swapped.small_normal)
        # From 26 places on, what is added is too little to change the rounded sum.
        near = Mux(swapped.far, 0, small)
        moved, lost = shift_right(Cat(Const(0, 2), near), swapped.distance)
        addend = Cat(lost, moved)
        top = swapped.exponent.all()
        m.d.sync += [
            aligned.outcome.sign.eq(swapped.sign),
            aligned.outcome.infinite.eq(top),
            aligned.outcome.nan.eq(
                top & (swapped.fraction.any() | swapped.both_top & swapped.differs)
            ),
            aligned.differs.eq(swapped.differs),
            aligned.exponent.eq(swapped.exponent | ~swapped.normal),
            aligned.significand.eq(Cat(swapped.fraction, swapped.normal)),
            aligned.addend.eq(addend ^ swapped.differs.replicate(_ALIGNED_BITS)),
        ]

        summed = stage(
            outcome=OUTCOME,
            differs=1,
            exponent=8,
            sum=_SUM_BITS,
            set=_FOURS,  # which fours of the sum hold a set bit
            fours=_FOURS,  # which hold a set bit or the mark
        )
        total = Signal(_SUM_BITS)
        # A difference adds the inverse and one: the lowest bits of both sides make that carry.
        m.d.comb += total.eq(
            (
                Cat(Const(0b0001, 4), aligned.significand)
                + Cat(aligned.differs, aligned.addend, aligned.differs)
            )[1:]
        )
        set_fours = Cat(total.word_select(n, 4).any() for n in range(_FOURS))
        mark_fours = Cat(aligned.exponent[2:] == _FOURS - 1 - n for n in range(_FOURS))
        m.d.sync += [
            summed.outcome.eq(aligned.outcome),
            summed.differs.eq(aligned.differs),
            summed.exponent.eq(aligned.exponent),
            summed.sum.eq(total),
            summed.set.eq(set_fours),
            summed.fours.eq(set_fours | mark_fours),
        ]

        counted = stage(
            outcome=OUTCOME,
            zero=1,
            exponent=8,
            sum=_SUM_BITS,
            fours=3,  # how many fours it was moved up
            marked=1,  # the mark is among the top four places
        )
        zero = ~summed.set.any()
        empty_fours = Signal(3)
        m.d.comb += empty_fours.eq(leading_zeros(Cat(Const(0, 1), summed.fours)))
        m.d.sync += [
            counted.outcome.eq(summed.outcome),
            counted.zero.eq(zero),
            counted.exponent.eq(summed.exponent),
            counted.sum.eq(summed.sum << Cat(Const(0, 2), empty_fours)),
            counted.fours.eq(empty_fours),
            counted.marked.eq(summed.exponent[2:] == empty_fours),
        ]
        with m.If(zero & summed.differs):
            m.d.sync += counted.outcome.sign.eq(0)
        with m.If((summed.exponent == 254) & summed.sum[-1]):
            m.d.sync += counted.outcome.infinite.eq(1)

        normalised = stage(outcome=OUTCOME, base=8, sum=_SUM_BITS)
        mark = Cat(counted.marked & (counted.exponent[:2] == 3 - n) for n in range(4))
        zeros = Signal(2)
        m.d.comb += zeros.eq(leading_zeros(counted.sum[-4:] | mark))
        m.d.sync += [
            normalised.outcome.eq(counted.outcome),
            normalised.base.eq(counted.exponent - Cat(zeros, counted.fours)),
            normalised.sum.eq(counted.sum << zeros),
        ]
        with m.If(counted.zero):
            m.d.sync += normalised.base.eq(0)

        rounded = round_and_encode(
            m,
            outcome=normalised.outcome,
            base=normalised.base,
            digits=normalised.sum[3:],
            sticky=normalised.sum[:3].any(),
        )
        m.d.comb += self.o.eq(rounded)

        return EnableInserter(self.en)(m)
