# SPDX-FileCopyrightText: castbag contributors
# SPDX-License-Identifier: BSD-2-Clause
"""The binary32 divider."""

from amaranth.hdl import Cat, Const, EnableInserter, Module, Mux, Signal, signed
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from .parts import (
    BINARY32,
    OUTCOME,
    SIGNIFICAND_BITS,
    empty_fours,
    move_up,
    move_up_by_fours,
    round_and_encode,
    shift_right,
    stage,
)
from .recurrence import Turns, digit, settle

__all__ = ["Divider"]

# A quotient of two significands is above one half: either of its first two digits leads. From the
# second on, a significand and its guard bit.
_DIGITS = SIGNIFICAND_BITS + 2
_BESIDE = 6  # stages beside those of the recurrence


class Divider(wiring.Component):
    """`o` is the quotient of `a` and `b`, rounded once.

    In NumPy, on `float32`: `o = a / b`, any NaN replaced by 0x7FC00000. A number by zero is an
    infinity, by infinity a zero, both signed as any other quotient; zero by zero and infinity by
    infinity are NaN.

    Operands are taken at every edge with `en` and `take` high, which `take` is at every
    `interval`-th enabled edge, by itself: whoever has operands holds them until then, and at other
    edges `a` and `b` may be anything. The quotient stands at `o` after `latency` enabled edges, the
    taking one included, until the next one is due, `interval` enabled edges later. With `en` low
    nothing moves. Nothing is reset either: what comes out before the first quotient has no meaning.

    Stages, each ending in the register it is named for, `divided` ceil(25 / interval) times::

        counted     how many fours of bits are empty above the leading one, for subnormals
        moved       up by them
        normalised  moved up by the 0 to 3 places left
        divided     the remainder after as many digits more as there are edges in a stage
        finished    all digits; how far they move down, one place or those of a subnormal
        placed      moved down; what was lost, or remains, kept as one bit
        rounded     to nearest, ties to even, and encoded

    The exponents' difference is biased last of all, as it has to be added to anyway. That of a zero
    is made so low that all digits move out.

    Latency: 6 + n * ceil(25 / n) with n = ceil(25 / interval); so 31 at an interval of 1, and of 25
    or more, and at most 34 up to 8. Rate: a quotient every `interval` enabled edges.

    On an ECP5 of speed grade 6 (LFE5U-85F, alone, the worst of three seeds)::

        interval  LUT sites  flip-flops  MHz
               1       1898        2226  145
               4        989         904  133
              25        672         445  140

    A digit takes 51 LUT sites, half of them a carry chain, and the rest of the unit 630.

    Args:
        interval: Enabled edges from operands to operands, at least 1; more than 25 save nothing.

    Members:
        a, b: Operands, 32 bits each.
        en: Clock enable of the whole pipeline.
        take: Operands are taken at this edge, if it is enabled. Always high if `interval` is 1.
        o: Quotient, 32 bits.
    """

    def __init__(self, *, interval: int = 1):
        self._turns = Turns(digits=_DIGITS - 1, interval=interval)  # the first is found on the way
        self.interval = interval
        self.latency = _BESIDE + self._turns.latency
        super().__init__({"a": In(32), "b": In(32), "en": In(1), "take": Out(1), "o": Out(32)})

    a: Signal
    b: Signal
    en: Signal
    take: Signal
    o: Signal

    def elaborate(self, platform):
        m = Module()
        turns = self._turns
        turns.count(m)
        m.d.comb += self.take.eq(turns.due(m, 0, name="taking"))

        a, b = BINARY32(self.a), BINARY32(self.b)
        a_normal, b_normal = a.exponent.any(), b.exponent.any()
        # A subnormal has the exponent of the least normal, not one less.
        a_exponent, b_exponent = a.exponent | ~a_normal, b.exponent | ~b_normal
        a_top, b_top = a.exponent.all(), b.exponent.all()
        a_zero, b_zero = ~self.a[:31].any(), ~self.b[:31].any()
        b_nan = b_top & b.fraction.any()

        counted = stage(
            outcome=OUTCOME,
            zero=1,
            exponent=signed(9),  # a's less b's
            a=SIGNIFICAND_BITS,
            b=SIGNIFICAND_BITS,
            a_fours=3,  # how many fours stand above the four with the leading bit
            b_fours=3,
        )
        significand_a, significand_b = Cat(a.fraction, a_normal), Cat(b.fraction, b_normal)
        m.d.sync += [
            counted.outcome.sign.eq(a.sign ^ b.sign),
            counted.outcome.infinite.eq(a_top | b_zero | b_nan),
            counted.outcome.nan.eq(a_top & (a.fraction.any() | b_top) | b_nan | a_zero & b_zero),
            counted.zero.eq(a_zero | b_top),
            counted.exponent.eq(a_exponent - b_exponent),
            counted.a.eq(significand_a),
            counted.b.eq(significand_b),
            counted.a_fours.eq(empty_fours(significand_a)),
            counted.b_fours.eq(empty_fours(significand_b)),
        ]

        moved = stage(
            outcome=OUTCOME,
            exponent=signed(10),
            a=SIGNIFICAND_BITS,
            b=SIGNIFICAND_BITS,
            zero=1,
        )
        m.d.sync += [
            moved.outcome.eq(counted.outcome),
            moved.zero.eq(counted.zero),
            moved.exponent.eq(counted.exponent - (counted.a_fours - counted.b_fours) * 4),
            moved.a.eq(move_up_by_fours(counted.a, counted.a_fours)),
            moved.b.eq(move_up_by_fours(counted.b, counted.b_fours)),
        ]

        normalised = stage(
            outcome=OUTCOME,
            exponent=signed(10),
            dividend=SIGNIFICAND_BITS,
            divisor=SIGNIFICAND_BITS,
        )
        dividend, a_zeros = move_up(moved.a)
        divisor, b_zeros = move_up(moved.b)
        m.d.sync += [
            normalised.outcome.eq(moved.outcome),
            normalised.exponent.eq(moved.exponent - (a_zeros - b_zeros)),
            normalised.dividend.eq(dividend),
            normalised.divisor.eq(divisor),
        ]
        with m.If(moved.zero):  # far below the least subnormal
            m.d.sync += normalised.exponent.eq(-512)

        # What enters a stage: the difference of the last step before it, and what that was made of.
        before, negative, digits = normalised, Const(0, 1), Const(0, 0)
        difference = Signal(SIGNIFICAND_BITS + 1)
        m.d.comb += difference.eq(normalised.dividend - normalised.divisor)
        for n in range(turns.stages):
            divided = stage(
                outcome=OUTCOME,
                exponent=signed(10),
                divisor=SIGNIFICAND_BITS,
                remainder=SIGNIFICAND_BITS,
                negative=1,
                quotient=1 + n * turns.edges,  # digits found before it entered this stage
                digits=turns.edges - 1,  # and since
            )
            load = turns.due(m, 3 + n * turns.edges, name=f"load_{n}")
            # Below a remainder the next place is 0, and so 1 below its complement.
            again = Signal(SIGNIFICAND_BITS + 1, name=f"again_{n}")
            m.d.comb += again.eq(Cat(divided.negative, divided.remainder) - divided.divisor)
            remainder, still_negative = settle(
                Mux(load, difference, again), Mux(load, negative, divided.negative)
            )
            m.d.sync += [
                divided.remainder.eq(remainder),
                divided.negative.eq(still_negative),
                divided.digits.eq(Cat(digit(again, divided.negative), divided.digits)),
            ]
            with m.If(load):
                m.d.sync += [
                    divided.outcome.eq(before.outcome),
                    divided.exponent.eq(before.exponent),
                    divided.divisor.eq(before.divisor),
                    divided.quotient.eq(Cat(digit(difference, negative), digits)),
                ]
            before, difference, negative = divided, again, divided.negative
            digits = Cat(divided.digits, divided.quotient)

        finished = stage(
            outcome=OUTCOME,
            down=5,  # places to move down
            subnormal=1,
            exponent=8,
            divisor=SIGNIFICAND_BITS,
            difference=SIGNIFICAND_BITS + 1,
            quotient=1 + turns.latency,
        )
        # At -126, the least normal's, the first digit stays the leading one even if it is 0.
        subnormal = before.exponent < -125
        below = Signal(signed(11))  # places from the leading digit's to the least normal's, and one
        m.d.comb += below.eq(-125 - before.exponent)
        far = below[5:10].any()  # 31 places do to be rid of all digits
        with m.If(turns.due(m, 3 + turns.latency, name="finish")):
            m.d.sync += [
                finished.outcome.eq(before.outcome),
                finished.subnormal.eq(subnormal),
                finished.down.eq(Mux(subnormal, below[:5] | far.replicate(5), digits[-1])),
                finished.exponent.eq(before.exponent),
                finished.divisor.eq(before.divisor),
                finished.difference.eq(difference),
                finished.quotient.eq(Cat(digit(difference, negative), digits)),
            ]
            with m.If(before.exponent > 128):
                m.d.sync += finished.outcome.infinite.eq(1)

        placed = stage(outcome=OUTCOME, base=8, digits=SIGNIFICAND_BITS + 1, sticky=1)
        further, quotient = finished.quotient[:-_DIGITS], finished.quotient[-_DIGITS:]
        digits, lost = shift_right(quotient, finished.down)
        # An exact quotient ends before its last digit. From its end on digits are 0, and what each
        # leaves is minus the divisor, kept as the divisor less one: where two such numbers differ
        # is where subtracting the one borrows. A remainder above zero is never that: the last digit
        # would be 1, and the dividend, which is moved up by all digits, odd.
        borrows = Signal(SIGNIFICAND_BITS + 1)
        m.d.comb += borrows.eq(finished.difference ^ finished.divisor)
        exact = borrows == Cat(Const(1, 1), (borrows & ~finished.divisor)[:-1])
        base = Signal(8)
        # 125, and one if the first digit leads: a carry from below, which comes for nothing.
        m.d.comb += base.eq(
            (Cat(Const(1, 1), finished.exponent) + Cat(quotient[-1], Const(125, 8)))[1:]
        )
        m.d.sync += [
            placed.outcome.eq(finished.outcome),
            placed.base.eq(base),
            placed.digits.eq(digits),
            placed.sticky.eq(lost | further.any() | ~exact),
        ]
        with m.If(finished.subnormal):
            m.d.sync += placed.base.eq(0)
        with m.If(~finished.subnormal & base[1:].all()):  # 254 and more
            m.d.sync += placed.outcome.infinite.eq(1)

        rounded = round_and_encode(
            m,
            outcome=placed.outcome,
            base=placed.base,
            digits=placed.digits,
            sticky=placed.sticky,
        )
        m.d.comb += self.o.eq(rounded)

        return EnableInserter(self.en)(m)
