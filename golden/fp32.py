# SPDX-FileCopyrightText: castbag contributors
# SPDX-License-Identifier: BSD-2-Clause

"""Binary32 arithmetic as the hardware does it (IEEE 754-2019): helpers for exact results.

Each NumPy operation on float32 is one IEEE operation: rounded to nearest, ties to even, subnormals
kept, infinities and NaN honoured. Two things are left to settle, and are settled here: every NaN
that an operation gives is the canonical one, and a sum adds in one stated order.
"""

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


def sum_segments(
    vectors: NDArray[np.float32], segment: NDArray[np.int64], count: int
) -> NDArray[np.float32]:
    """For every segment, the sum of its vectors, in order of appearance: f32[count, D].

    `vectors` f32[k, D] are the addends and `segment` int64[k], in [0, count), says where each one
    belongs; a segment's addends need not be neighbours. Each sum starts at +0.0, so that -0.0
    alone sums to +0.0, and a segment without addends is exact +0.0. NaN sums are canonical.

    Addition does not associate, so the order is part of the result. Segments are independent:
    the first addends of all of them are added at once, then the second ones, and so on.
    """
    length = np.bincount(segment, minlength=count)
    start = np.cumsum(length) - length
    rank = np.empty_like(segment)  # of an addend: how many of its segment come before it
    rank[np.argsort(segment, kind="stable")] = np.arange(segment.size) - np.repeat(start, length)

    rounds = np.cumsum(np.bincount(rank))[:-1]
    sums = np.zeros((count, vectors.shape[1]), dtype=np.float32)
    with np.errstate(all="ignore"):  # overflow and invalid operations have results like any other
        for addends in np.split(np.argsort(rank, kind="stable"), rounds):
            sums[segment[addends]] += vectors[addends]
    return canonical(sums)
