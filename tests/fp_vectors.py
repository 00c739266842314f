# SPDX-FileCopyrightText: castbag contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Pairs of binary32 operands that sit where an adder or a multiplier goes wrong.

Every list starts with all pairs of the special values; the rest is drawn in equal shares from the
families below, each of which aims at one place: a tie, a cancellation, the edge of the subnormals,
the edge of infinity. Bit patterns throughout: this file does no floating-point arithmetic.
"""

from collections.abc import Callable, Sequence

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

Pair = tuple[NDArray[np.uint32], NDArray[np.uint32]]
Families = tuple[Callable[[Generator, int], Pair], ...]

_MAGNITUDES = [
    *(0x00000000, 0x00000001, 0x00000002, 0x00000003, 0x00400000, 0x007FFFFE, 0x007FFFFF),
    *(0x00800000, 0x00800001, 0x00FFFFFF, 0x01000000, 0x01000001, 0x01800000),  # near the least
    *(0x0C000000, 0x0C800000, 0x1F800000, 0x20000000, 0x33800000, 0x34000000),  # 2^-103 ... 2^-23
    *(0x3E800000, 0x3F000000, 0x3F7FFFFE, 0x3F7FFFFF, 0x3F800000, 0x3F800001),  # about one
    *(0x3FC00000, 0x3FFFFFFF, 0x40000000, 0x40400000, 0x4B000000, 0x4B7FFFFF),
    *(0x4B800000, 0x4B800001, 0x4C000000, 0x5F000000, 0x5F800000),  # 2^24, 2^25, 2^63, 2^64
    *(0x72FFFFFF, 0x73000000, 0x73000001, 0x73800000),  # about half a unit of the largest
    *(0x7E800000, 0x7EFFFFFF, 0x7F000000, 0x7F000001, 0x7F7FFFFE, 0x7F7FFFFF),  # near the largest
    *(0x7F800000, 0x7F800001, 0x7FBFFFFF, 0x7FC00000, 0x7FFFFFFF),  # infinity, NaNs of both kinds
]

SPECIAL = np.array([m | s for s in (0, 0x80000000) for m in _MAGNITUDES], np.uint32)
"""Special values of both signs."""


def special_pairs() -> Pair:
    """All ordered pairs of special values."""
    a, b = np.meshgrid(SPECIAL, SPECIAL, indexing="ij")
    return a.ravel(), b.ravel()


def fractions(rng: Generator, count: int) -> NDArray[np.uint32]:
    """Fractions of 23 bits: uniform, or few bits set, or few clear, or one run of ones."""
    uniform = rng.integers(0, 1 << 23, count, np.uint32)
    few = np.uint32(1) << rng.integers(0, 23, count, np.uint32)
    few |= np.uint32(1) << rng.integers(0, 23, count, np.uint32)
    low_run = (np.uint32(1) << rng.integers(0, 24, count, np.uint32)) - np.uint32(1)
    run = (low_run << rng.integers(0, 23, count, np.uint32)) & np.uint32(0x7FFFFF)
    shapes = [uniform, few, few ^ np.uint32(0x7FFFFF), low_run, low_run ^ np.uint32(0x7FFFFF), run]
    return np.choose(rng.integers(0, len(shapes), count), shapes).astype(np.uint32)


def _signs(rng: Generator, count: int) -> NDArray[np.uint32]:
    return rng.integers(0, 2, count, np.uint32) << np.uint32(31)


def pack(rng: Generator, exponents: NDArray, fractions: NDArray) -> NDArray[np.uint32]:
    """Encodings of random sign; exponents that the format has not are clipped to its ends."""
    clipped = np.clip(exponents, 0, 255).astype(np.uint32)
    return _signs(rng, len(clipped)) | clipped << np.uint32(23) | fractions


def any_bits(rng: Generator, count: int) -> Pair:
    """Uniform bit patterns."""
    a, b = rng.integers(0, 1 << 32, (2, count), np.uint32)
    return a, b


def any_exponents(rng: Generator, count: int) -> Pair:
    """Structured fractions at all exponents."""
    exponents = rng.integers(0, 256, (2, count))
    return (
        pack(rng, exponents[0], fractions(rng, count)),
        pack(rng, exponents[1], fractions(rng, count)),
    )


def _apart(rng: Generator, count: int, low: int, high: int) -> Pair:
    """Exponents `low` to `high` apart, at every exponent, either operand the larger."""
    exponent = rng.integers(0, 256, count)
    distance = rng.integers(low, high + 1, count) * rng.choice([-1, 1], count)
    return (
        pack(rng, exponent, fractions(rng, count)),
        pack(rng, exponent + distance, fractions(rng, count)),
    )


def _cancelling(rng: Generator, count: int) -> Pair:
    """Exponents 0 to 2 apart: long cancellations, and sums that carry."""
    return _apart(rng, count, 0, 2)


def _far(rng: Generator, count: int) -> Pair:
    """Exponents 20 to 34 apart: guard and sticky bits alone decide."""
    return _apart(rng, count, 20, 34)


def _neighbours(rng: Generator, count: int) -> Pair:
    """Magnitudes 0 to 1023 encodings apart, mostly few: exact and near cancellations."""
    a = pack(rng, rng.integers(0, 255, count), fractions(rng, count))
    step = rng.integers(0, 1 << rng.integers(1, 11, count)).astype(np.uint32)
    magnitude = (a & np.uint32(0x7FFFFFFF)) + step
    return a, magnitude | _signs(rng, count)


def _subnormal(rng: Generator, count: int) -> Pair:
    """Sums at the edge of the subnormals."""
    exponents = rng.integers(0, 28, (2, count)) * rng.integers(0, 2, (2, count))
    return (
        pack(rng, exponents[0], fractions(rng, count)),
        pack(rng, exponents[1], fractions(rng, count)),
    )


def _product(rng: Generator, count: int, low: int, high: int) -> Pair:
    """Products whose encoded exponent is about `low` to `high`, below zero for subnormals."""
    exponent = rng.integers(1, 255, count)
    target = rng.integers(low, high + 1, count)
    return (
        pack(rng, exponent, fractions(rng, count)),
        pack(rng, target + 127 - exponent, fractions(rng, count)),
    )


def _small_product(rng: Generator, count: int) -> Pair:
    """Products about the edges of the subnormals: to the smallest normal, and to zero."""
    return _product(rng, count, -27, 3)


def _large_product(rng: Generator, count: int) -> Pair:
    """Products about the edge of infinity."""
    return _product(rng, count, 251, 257)


def subnormal_factor(rng: Generator, count: int) -> Pair:
    """A subnormal of any size times a number that makes it normal, or nearly so, or not."""
    subnormal = fractions(rng, count) >> rng.integers(0, 23, count, np.uint32) | _signs(rng, count)
    other = pack(rng, rng.integers(90, 256, count), fractions(rng, count))
    swap = rng.random(count) < 0.5
    return np.where(swap, other, subnormal), np.where(swap, subnormal, other)


def _tied_product(rng: Generator, count: int) -> Pair:
    """Factors with many trailing zeros, so that products end exactly at the guard bit."""
    bits = rng.integers(1, 24, count, np.uint32)  # significant bits of one factor, hidden one aside
    other = np.clip(np.uint32(24) - bits, 0, 23).astype(np.uint32)
    a = fractions(rng, count) >> (np.uint32(23) - bits) << (np.uint32(23) - bits)
    b = fractions(rng, count) >> (np.uint32(23) - other) << (np.uint32(23) - other)
    exponents = rng.integers(0, 256, (2, count))
    return pack(rng, exponents[0], a), pack(rng, exponents[1], b)


def with_special(rng: Generator, count: int) -> Pair:
    """A special value and any other number."""
    special = rng.choice(SPECIAL, count)
    other = pack(rng, rng.integers(0, 256, count), fractions(rng, count))
    swap = rng.random(count) < 0.5
    return np.where(swap, other, special), np.where(swap, special, other)


FAMILIES: Families = (
    any_bits,
    any_exponents,
    _cancelling,
    _far,
    _neighbours,
    _subnormal,
    _small_product,
    _large_product,
    subnormal_factor,
    _tied_product,
    with_special,
)


def draw(families: Sequence[Callable], count: int, *, seed: int) -> list:
    """What the families give, `count` in all: an equal share of each, the first ones' larger."""
    rng = np.random.default_rng(seed)
    share, over = divmod(count, len(families))
    return [family(rng, share + (n < over)) for n, family in enumerate(families)]


def operand_pairs(count: int, *, seed: int, families: Families = FAMILIES) -> Pair:
    """`count` pairs of operands: all pairs of special values first, then every family in turn.

    Args:
        count: Number of pairs; at least that of `special_pairs()`.
        seed: Of the random part: same count and seed, same pairs.
        families: What it is drawn from.

    Returns:
        Bit patterns of the two operands: uint32[count] each.
    """
    first = special_pairs()
    if count < len(first[0]):
        raise ValueError(f"count = {count}: the special pairs alone are {len(first[0])}")
    drawn = draw(families, count - len(first[0]), seed=seed)
    a = np.concatenate([first[0], *(pair[0] for pair in drawn)])
    b = np.concatenate([first[1], *(pair[1] for pair in drawn)])
    return a.astype(np.uint32), b.astype(np.uint32)
