# SPDX-FileCopyrightText: castbag contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Binary32 operands that sit where a divider or a square root goes wrong.

As in `fp_vectors`: the special values first, then equal shares of the families below, without any
floating-point arithmetic. Each of these aims at one place: a quotient or a root that ends with its
significand, or is next to one that does, or to a tie; the edge of the subnormals or of infinity.
"""

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from tests.fp_vectors import (
    SPECIAL,
    Families,
    Pair,
    any_bits,
    any_exponents,
    draw,
    fractions,
    operand_pairs,
    pack,
    subnormal_factor,
    with_special,
)


def _quotient(rng: Generator, count: int, low: int, high: int) -> Pair:
    """Quotients whose encoded exponent is about `low` to `high`, below zero for subnormals."""
    exponent = rng.integers(1, 255, count)
    target = rng.integers(low, high + 1, count)
    return (
        pack(rng, target - 127 + exponent, fractions(rng, count)),
        pack(rng, exponent, fractions(rng, count)),
    )


def _small_quotient(rng: Generator, count: int) -> Pair:
    """Quotients about the edges of the subnormals: to the smallest normal, and to zero."""
    return _quotient(rng, count, -27, 3)


def _large_quotient(rng: Generator, count: int) -> Pair:
    """Quotients about the edge of infinity."""
    return _quotient(rng, count, 251, 258)


def _edge_quotient(rng: Generator, count: int) -> Pair:
    """Quotients next to the largest number, the least normal, or the largest subnormal."""
    divisor = fractions(rng, count).astype(np.int64) | 1 << 23
    small = rng.integers(0, 1 << rng.integers(1, 8, count))
    quotient = np.where(rng.random(count) < 0.5, (1 << 24) - 1 - small, (1 << 23) + small)
    product = divisor * quotient
    up = product >> 47
    dividend = (product >> 23 >> up) + rng.integers(-1, 2, count)
    fraction = np.clip(dividend, 1 << 23, (1 << 24) - 1) & 0x7FFFFF
    target = rng.choice([0, 1, 254, 255], count)
    exponent = rng.integers(1, 255, count)
    return (
        pack(rng, target - 127 + exponent + up, fraction.astype(np.uint32)),
        pack(rng, exponent, (divisor & 0x7FFFFF).astype(np.uint32)),
    )


def _subnormals(rng: Generator, count: int) -> Pair:
    """A subnormal of any size by a number, or the other way round, or by another subnormal."""
    a, b = subnormal_factor(rng, count)
    other = fractions(rng, count) >> rng.integers(0, 23, count, np.uint32)
    both = rng.random(count) < 0.5
    a = np.where(both & (a & 0x7F800000 > 0), other, a)
    b = np.where(both & (b & 0x7F800000 > 0), other, b)
    return a, b


def _almost_powers(rng: Generator, count: int) -> Pair:
    """Dividends and divisors within 7 places of a power of two, or of each other."""
    near = rng.integers(-7, 8, (2, count))
    shared = fractions(rng, count) * (rng.random(count) < 0.5)
    exponents = rng.integers(0, 256, (2, count))
    exponents[1] = np.where(rng.random(count) < 0.5, rng.integers(115, 140, count), exponents[1])
    a, b = ((shared + n) & 0x7FFFFF for n in near)
    return (
        pack(rng, exponents[0], a.astype(np.uint32)),
        pack(rng, exponents[1], b.astype(np.uint32)),
    )


def _factors(rng: Generator, count: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Odd numbers of 24 bits together, so that their product has 24 at most."""
    bits = rng.integers(1, 24, count)
    return tuple(rng.integers(0, 1 << n) | 1 for n in (bits, 24 - bits))


def _normalised(number: NDArray[np.int64]) -> tuple[NDArray[np.uint32], NDArray[np.int64]]:
    """Fractions of positive numbers below 2^24, and how many places each moved up."""
    places = np.zeros_like(number)
    for n in (16, 8, 4, 2, 1):
        low = number << places < 1 << (24 - n)
        places += n * low
    return ((number << places) & 0x7FFFFF).astype(np.uint32), places


def _exact_quotient(rng: Generator, count: int) -> Pair:
    """Multiples of the divisor."""
    quotient, divisor = _factors(rng, count)
    exponents = rng.integers(0, 256, (2, count))
    return (
        pack(rng, exponents[0], _normalised(quotient * divisor)[0]),
        pack(rng, exponents[1], _normalised(divisor)[0]),
    )


def _tied_quotient(rng: Generator, count: int) -> Pair:
    """Odd multiples of half the least subnormal: the only ties that a quotient can have."""
    quotient, divisor = _factors(rng, count)
    a, a_places = _normalised(quotient * divisor)
    b, b_places = _normalised(divisor)
    exponent = rng.integers(1, 255 - 150 - 23, count)
    return pack(rng, exponent, a), pack(rng, exponent + 150 + a_places - b_places, b)


def _small_remainder(rng: Generator, count: int) -> Pair:
    """Quotients that 20 to 27 digits give but for the least of remainders, or miss by as little."""
    divisor = fractions(rng, count).astype(np.int64) | 1 << 23 | 1
    dividend = (rng.integers(1, 4, count) * rng.choice([-1, 1], count)) % divisor
    digits = rng.integers(20, 28, count)
    for n in range(27):  # halved, modulo the divisor
        halved = dividend + divisor * (dividend & 1) >> 1
        dividend = np.where(n < digits, halved, dividend)
    exponent = rng.integers(0, 256, count)
    distance = np.where(rng.random(count) < 0.5, rng.integers(-154, -120, count), 0)
    return (
        pack(rng, exponent + distance, _normalised(dividend)[0]),
        pack(rng, exponent, _normalised(divisor)[0]),
    )


def _roots(rng: Generator, count: int) -> NDArray[np.uint32]:
    """Squares of 25 bits, so of a number or of what lies between two, but for 2 places at most."""
    root = rng.integers(1 << 24, 1 << 25, count)
    short = rng.integers(0, 24, count)  # the root's trailing zeros: from 13 on, squares are exact
    root = root >> short << short
    square = root * root
    odd = square >> 49
    significand = (square >> 25 >> odd) + rng.integers(-2, 3, count)
    exponent = 2 * rng.integers(0, 127, count) + 1 + odd
    magnitude = (exponent << 23) + (significand - (1 << 23))
    return np.clip(magnitude, 0, 0x7F7FFFFF).astype(np.uint32)


def _radicands(rng: Generator, count: int) -> NDArray[np.uint32]:
    """Structured fractions at all exponents, positive."""
    return pack(rng, rng.integers(0, 256, count), fractions(rng, count)) & np.uint32(0x7FFFFFFF)


def _small_radicands(rng: Generator, count: int) -> NDArray[np.uint32]:
    """Subnormals of any size."""
    return fractions(rng, count) >> rng.integers(0, 23, count, np.uint32)


def _any_radicands(rng: Generator, count: int) -> NDArray[np.uint32]:
    """Uniform bit patterns."""
    return rng.integers(0, 1 << 32, count, np.uint32)


QUOTIENTS: Families = (
    any_bits,
    any_exponents,
    _small_quotient,
    _large_quotient,
    _edge_quotient,
    _subnormals,
    _almost_powers,
    _exact_quotient,
    _tied_quotient,
    _small_remainder,
    with_special,
)

RADICANDS = (_roots, _radicands, _small_radicands, _any_radicands)


def quotient_pairs(count: int, *, seed: int) -> Pair:
    """`operand_pairs` for a divider: dividends and divisors."""
    return operand_pairs(count, seed=seed, families=QUOTIENTS)


def radicands(count: int, *, seed: int) -> NDArray[np.uint32]:
    """`count` operands of a root: all special values first, then every family in turn."""
    return np.concatenate([SPECIAL, *draw(RADICANDS, count - len(SPECIAL), seed=seed)])
