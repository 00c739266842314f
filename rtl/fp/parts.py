# SPDX-FileCopyrightText: castbag contributors
# SPDX-License-Identifier: BSD-2-Clause
"""What the binary32 units share: the format, their registers, counting, shifting, rounding.

A number on its way through a unit is a *base* and a *significand* with its leading bit written
out. The magnitude's encoding is `(base << 23) + significand`: the leading bit, where there is one,
carries into the exponent field and makes it `base + 1`; where there is none, `base` is 0 and so
stays the field, which is how IEEE-754 encodes a subnormal (section 3.4). So subnormals need no
case of their own at the output, and neither does a rounding that carries from the largest
subnormal to the smallest normal, from one binade to the next, or to infinity.
"""

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import data

__all__ = [
    "BINARY32",
    "FRACTION_BITS",
    "OUTCOME",
    "SIGNIFICAND_BITS",
    "empty_fours",
    "leading_zeros",
    "move_up",
    "move_up_by_fours",
    "round_and_encode",
    "shift_right",
    "stage",
]

FRACTION_BITS = 23
SIGNIFICAND_BITS = FRACTION_BITS + 1


BINARY32 = data.StructLayout(
    {
        "fraction": FRACTION_BITS,
        "exponent": 8,
        "sign": 1,
    }
)
"""The interchange format."""

OUTCOME = data.StructLayout(
    {
        "sign": 1,
        "infinite": 1,  # infinity or NaN: the digits do not count
        "nan": 1,  # only where `infinite` is set as well
    }
)
"""What is known of a result beside its digits."""


def stage(**fields) -> data.View:
    """The register at the end of a pipeline stage, named as the variable it is assigned to."""
    return Signal(data.StructLayout(fields), reset_less=True, src_loc_at=1)


def leading_zeros(value: Value) -> Value:
    """How many zeros stand above the highest set bit: 0 to `len(value) - 1`.

    The width of `value` must be a power of two, and at least 2. No set bit counts as one at the
    lowest place.
    """
    half = len(value) // 2
    lower, upper = value[:half], value[half:]
    empty = ~upper.any()
    if half == 1:
        return empty
    return Cat(Mux(empty, leading_zeros(lower), leading_zeros(upper)), empty)


def empty_fours(significand: Value) -> Value:
    """How many fours of bits, from the top, hold no set bit."""
    fours = Cat(significand.word_select(n, 4).any() for n in range(len(significand) // 4))
    return leading_zeros(Cat(Const(0, 8 - len(fours)), fours))


def move_up_by_fours(significand: Value, fours: Value) -> Value:
    """`significand` moved up by so many fours."""
    return (significand << Cat(Const(0, 2), fours))[: len(significand)]


def move_up(significand: Value) -> tuple[Value, Value]:
    """`significand`, its leading bit among the top four, moved up to have it on top; the places."""
    zeros = leading_zeros(significand[-4:])
    return (significand << zeros)[: len(significand)], zeros


def shift_right(value: Value, amount: Value) -> tuple[Value, Value]:
    """`value >> amount`, and whether any set bit fell off its end."""
    lost = Const(0, 1)
    for place in reversed(range(len(amount))):
        step = amount[place]
        lost |= step & value[: 1 << place].any()
        value = Mux(step, value[1 << place :], value)
    return value, lost


def round_and_encode(
    m: Module, *, outcome: data.View, base: Value, digits: Value, sticky: Value
) -> data.View:
    """The register of the encoded number, rounded to nearest, ties to even.

    `digits` is the significand and, as its lowest bit, the first bit below it; `sticky` tells
    whether any bit below that is set.
    """
    rounded = Signal(BINARY32, reset_less=True)
    guard, significand = digits[0], digits[1:]
    round_up = guard & (sticky | significand[0])
    # One addition on one carry chain: the pair of ones below the lowest place is the carry in.
    fraction, leading = significand[:FRACTION_BITS], significand[FRACTION_BITS]
    total = Cat(Const(1, 1), fraction, base[:8]) + Cat(round_up, Const(0, FRACTION_BITS), leading)
    m.d.sync += rounded.as_value().eq(Cat(total[1:32], outcome.sign))
    # Written as an override, so that it becomes the flip-flops' set and reset and takes no LUT.
    with m.If(outcome.infinite):
        m.d.sync += [
            rounded.fraction.eq(outcome.nan << (FRACTION_BITS - 1)),
            rounded.exponent.eq(255),
            rounded.sign.eq(outcome.sign & ~outcome.nan),
        ]
    return rounded
