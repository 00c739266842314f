# SPDX-FileCopyrightText: castbag contributors
# SPDX-License-Identifier: BSD-2-Clause
"""The binary32 square root."""

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
    stage,
)
from .recurrence import Turns, digit, settle

__all__ = ["Root"]

_DIGITS = SIGNIFICAND_BITS + 1  # the significand and its guard bit
_BESIDE = 4  # stages beside those of the recurrence


class Root(wiring.Component):
    """`o` is the square root of `a`, rounded once.

    In NumPy, on `float32`: `o = sqrt(a)`, any NaN replaced by 0x7FC00000. The root of -0.0 is -0.0,
    that of any other negative number NaN.

    Operands are taken at every edge with `en` and `take` high, which `take` is at every
    `interval`-th enabled edge, by itself: whoever has an operand holds it until then, and at other
    edges `a` may be anything. The root stands at `o` after `latency` enabled edges, the taking one
    included, until the next one is due, `interval` enabled edges later. With `en` low nothing
    moves. Nothing is reset either: what comes out before the first root has no meaning.

    Stages, each ending in the register it is named for, `rooted` ceil(24 / interval) times::

        moved       up by fours until the leading bit is among the top four, for subnormals
        normalised  moved up by the 0 to 3 places left, and by one to make the exponent even
        rooted      the remainder after as many digits more as there are edges in a stage
        finished    all digits
        rounded     to nearest, and encoded

    A root is never subnormal, and never half-way between two numbers: its square would have more
    digits than the radicand. So the guard bit alone decides, and the last remainder is not looked
    at. The first digit is 1 but for a zero, which is told by a base of 0, as no root else has it.

    Latency: 4 + n * ceil(24 / n) with n = ceil(24 / interval); so 28 at intervals of 1, 2, 4, 8 and
    24 or more. Rate: a root every `interval` enabled edges.

    On an ECP5 of speed grade 6 (LFE5U-85F, alone, the worst of three seeds)::

        interval  LUT sites  flip-flops  MHz
               1       1018        1199  139
               4        599         438  145
              24        368         234  149

    Args:
        interval: Enabled edges from operand to operand, at least 1; more than 24 save nothing.

    Members:
        a: Operand, 32 bits.
        en: Clock enable of the whole pipeline.
        take: The operand is taken at this edge, if it is enabled. Always high if `interval` is 1.
        o: Square root, 32 bits.
    """

    def __init__(self, *, interval: int = 1):
        self._turns = Turns(digits=_DIGITS - 1, interval=interval)  # the first is found on the way
        self.interval = interval
        self.latency = _BESIDE + self._turns.latency
        super().__init__({"a": In(32), "en": In(1), "take": Out(1), "o": Out(32)})

    a: Signal
    en: Signal
    take: Signal
    o: Signal

    def elaborate(self, platform):
        m = Module()
        turns = self._turns
        turns.count(m)
        m.d.comb += self.take.eq(turns.due(m, 0, name="taking"))

        a = BINARY32(self.a)
        normal, top = a.exponent.any(), a.exponent.all()
        zero = ~self.a[:31].any()

        moved = stage(
            outcome=OUTCOME,
            zero=1,
            exponent=8,
            significand=SIGNIFICAND_BITS,
            fours=3,  # how many fours it was moved up
        )
        significand = Cat(a.fraction, normal)
        fours = empty_fours(significand)
        m.d.sync += [
            moved.outcome.sign.eq(a.sign),
            moved.outcome.infinite.eq(top | a.sign & ~zero),
            moved.outcome.nan.eq(top & a.fraction.any() | a.sign & ~zero),
            moved.zero.eq(zero),
            moved.exponent.eq(a.exponent | ~normal),
            moved.significand.eq(move_up_by_fours(significand, fours)),
            moved.fours.eq(fours),
        ]

        normalised = stage(outcome=OUTCOME, base=8, radicand=_DIGITS)
        significand, zeros = move_up(moved.significand)
        # Twice the root's exponent, and one if the radicand is to be doubled to make that even.
        doubled = Signal(9)
        m.d.comb += doubled.eq(moved.exponent + 125 - Cat(zeros, moved.fours))
        m.d.sync += [
            normalised.outcome.eq(moved.outcome),
            normalised.base.eq(doubled[1:]),
            normalised.radicand.eq(Mux(doubled[0], significand << 1, significand)),
        ]
        with m.If(moved.zero):
            m.d.sync += normalised.base.eq(0)

        # What enters a stage: the difference of the last step before it, and what that was made of.
        before, negative, digits = normalised, Const(0, 1), Const(0, 0)
        difference = normalised.radicand[-2:] - Const(1)
        rest = normalised.radicand[:-2]  # places of the radicand not yet used: two a digit
        for n in range(turns.stages):
            found = (n + 1) * turns.edges  # digits, as a number leaves this stage
            rooted = stage(
                outcome=OUTCOME,
                base=8,
                rest=len(rest),
                remainder=found + 1,
                negative=1,
                digits=found,
            )
            load = turns.due(m, 2 + n * turns.edges, name=f"load_{n}")
            pair = Cat(Const(0, 2), rooted.rest)[-2:]  # zeros below its last place
            next_rest = (rooted.rest << 2)[: len(rest)]
            # Two places more, less 4 q + 1, which a further 1 adds to the square of the root q so
            # far. Where the last step took too much, which was 2 q + 1, they are to grow instead,
            # by 4 (2 q + 1) - (4 q + 1) = 4 q + 3; so the complement is to shrink by that.
            again = Signal(signed(found + 3), name=f"again_{n}")
            m.d.comb += again.eq(
                Cat(pair ^ rooted.negative.replicate(2), rooted.remainder)
                - Cat(Const(1, 1), rooted.negative, rooted.digits)
            )
            remainder, still_negative = settle(
                Mux(load, difference, again), Mux(load, negative, rooted.negative)
            )
            m.d.sync += [
                rooted.rest.eq(Mux(load, rest, next_rest)),
                rooted.remainder.eq(remainder),
                rooted.negative.eq(still_negative),
                rooted.digits.eq(Cat(~still_negative, Mux(load, digits, rooted.digits))),
            ]
            with m.If(load):
                m.d.sync += [
                    rooted.outcome.eq(before.outcome),
                    rooted.base.eq(before.base),
                ]
            before, difference, negative = rooted, again, rooted.negative
            digits, rest = rooted.digits, next_rest[2 * turns.edges :]

        finished = stage(outcome=OUTCOME, base=8, digits=_DIGITS)
        with m.If(turns.due(m, 2 + turns.latency, name="finish")):
            m.d.sync += [
                finished.outcome.eq(before.outcome),
                finished.base.eq(before.base),
                finished.digits.eq(Cat(digit(difference, negative), digits)[-_DIGITS:]),
            ]
            with m.If(before.base == 0):
                m.d.sync += finished.digits.eq(0)

        rounded = round_and_encode(
            m,
            outcome=finished.outcome,
            base=finished.base,
            digits=finished.digits,
            sticky=Const(1, 1),  # a guard bit is never a tie
        )
        m.d.comb += self.o.eq(rounded)

        return EnableInserter(self.en)(m)
