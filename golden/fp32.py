# SPDX-FileCopyrightText: castbag contributors
# SPDX-License-Identifier: BSD-2-Clause

"""Binary32 arithmetic as the hardware does it (IEEE 754-2019): helpers for exact results.

Each NumPy operation on float32 is one IEEE operation: rounded to nearest, ties to even, subnormals
kept, infinities and NaN honoured. Two things are left to settle, and are settled here: every NaN
that an operation gives is the canonical one, and a sum adds in one stated order. There are two
kinds of sums: along a segment, one vector after the other (`sum_segments`), and across the columns
of a vector, as a tree (`sum_columns`).
"""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

CANONICAL_NAN = np.uint32(0x7FC00000)
"""The bits of the one NaN that arithmetic gives: quiet, positive, no payload."""
INFINITY = np.uint32(0x7F800000)
"""The bits of +infinity; a magnitude above them is a NaN."""
MAGNITUDE = np.uint32(0x7FFFFFFF)
"""All bits but the sign."""


def bits(x: NDArray[np.float32]) -> NDArray[np.uint32]:
    """The bit patterns of `x`: a view of the same shape, in which -0.0 and NaNs are told apart."""
    return np.asarray(x, dtype=np.float32).view(np.uint32)


def canonical(x: NDArray[np.float32]) -> NDArray[np.float32]:
    """A copy of `x` with every NaN, whatever its sign and payload, made 0x7FC00000."""
    pattern = bits(x)
    return np.where(pattern & MAGNITUDE > INFINITY, CANONICAL_NAN, pattern).view(np.float32)


def scale(vectors: NDArray[np.float32], factors: NDArray[np.float32]) -> NDArray[np.float32]:
    """Each of the vectors f32[k, D] times its factor f32[k], each product rounded."""
    with np.errstate(all="ignore"):  # overflow and invalid operations have results like any other
        return canonical(vectors * factors[:, None])


def sum_segments(
    vectors: NDArray[np.float32], segment: NDArray[np.int64], count: int
) -> NDArray[np.float32]:
    """For every segment, the sum of its vectors, in order of appearance: f32[count, D].

    `vectors` f32[k, D] are the addends and `segment` int64[k], in [0, count), says where each one
    belongs; a segment's addends need not be neighbours. Each sum starts at +0.0, so that -0.0
    alone sums to +0.0, and a segment without addends is exact +0.0. NaN sums are canonical.

    Addition does not associate, so the order is part of the result.
    """
    sums = np.zeros((count, vectors.shape[1]), dtype=np.float32)
    with np.errstate(all="ignore"):
        for addends in _rounds(segment, count):
            sums[segment[addends]] += vectors[addends]
    return canonical(sums)


def max_segments(
    vectors: NDArray[np.float32], segment: NDArray[np.int64], count: int
) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
    """For every segment and column, the first of the largest: its value and which vector has it.

    Takes what `sum_segments` takes. Returns the maxima f32[count, D] and the winners int64[count,
    D], which are places in `vectors`; a segment without vectors has +0.0 and -1.

    The first vector is taken as it is; a later one replaces what is kept where it is greater (`>`).
    So the first of equals stays, zeros of either sign are equal, a NaN never replaces, and one that
    came first stays. NaN maxima are canonical.
    """
    maxima = np.zeros((count, vectors.shape[1]), dtype=np.float32)
    winners = np.full(maxima.shape, -1)
    with np.errstate(all="ignore"):
        for candidates in _rounds(segment, count):
            place, vector = segment[candidates], vectors[candidates]
            wins = (winners[place] < 0) | (vector > maxima[place])
            maxima[place] = np.where(wins, vector, maxima[place])
            winners[place] = np.where(wins, candidates[:, None], winners[place])
    return canonical(maxima), winners


def sum_columns(vectors: NDArray[np.float32]) -> NDArray[np.float32]:
    """The sum of each vector's columns, f32[k] from f32[k, D]: a balanced tree over neighbours.

        D = 3    (x0 + x1) + (x2 + 0.0)

    Columns are padded with +0.0 to a power of two, and neighbours are added until one is left; a
    single column is its own sum. NaN sums are canonical.

    The order depends on D alone. More lanes than padded columns change no bit if those beyond have
    -0.0, which any number takes as it is: +0.0 would turn a sum of -0.0 into +0.0.
    """
    count, dim = vectors.shape
    sums = np.zeros((count, 1 << (dim - 1).bit_length()), dtype=np.float32)
    sums[:, :dim] = vectors
    with np.errstate(all="ignore"):
        while sums.shape[1] > 1:
            sums = sums[:, 0::2] + sums[:, 1::2]
    return canonical(sums[:, 0])


def _rounds(segment: NDArray[np.int64], count: int) -> Iterator[NDArray[np.int64]]:
    """The places of the first member of every segment, then those of the second ones, and so on.

    Segments are independent, so what goes through each in order may do so for all of them at once.
    """
    length = np.bincount(segment, minlength=count)
    start = np.cumsum(length) - length
    rank = np.empty_like(segment)  # of a member: how many of its segment come before it
    rank[np.argsort(segment, kind="stable")] = np.arange(segment.size) - np.repeat(start, length)
    ends = np.cumsum(np.bincount(rank))[:-1]
    yield from np.split(np.argsort(rank, kind="stable"), ends)
