# SPDX-FileCopyrightText: castbag contributors
# SPDX-License-Identifier: BSD-2-Clause

"""Sums of binary32 numbers: their order, their zeros, their NaNs. Bits are written out by hand."""

import numpy as np
import pytest

from castbag.golden.fp32 import bits, canonical, sum_segments


def f32(*patterns):
    """The numbers with these bit patterns, as a column."""
    return np.array(patterns, np.uint32).view(np.float32).reshape(-1, 1)


def total(*patterns):
    """The bits of the sum of one segment."""
    sums = sum_segments(f32(*patterns), np.zeros(len(patterns), np.int64), 1)
    assert sums.shape == (1, 1)
    assert sums.dtype == np.float32
    return int(bits(sums)[0, 0])


ONE, TWO_24, TWO_24_PLUS_2 = 0x3F800000, 0x4B800000, 0x4B800001
INFINITY, NEGATIVE, LARGEST, NAN = 0x7F800000, 0x80000000, 0x7F7FFFFF, 0x7FC00000


@pytest.mark.parametrize(
    "nan", [0x7F800001, 0x7FBFFFFF, 0x7FC00000, 0x7FFFFFFF, 0xFF800001, 0xFFC00000]
)
def test_every_nan_becomes_the_canonical_one(nan):
    assert bits(canonical(f32(nan))).tolist() == [[NAN]]


@pytest.mark.parametrize("number", [0, NEGATIVE, 1, 0x807FFFFF, LARGEST, INFINITY, 0xFF800000])
def test_every_number_keeps_its_bits(number):
    assert bits(canonical(f32(number))).tolist() == [[number]]


def test_order_decides_the_bits():
    assert total(TWO_24, ONE, ONE) == TWO_24  # each 1 is half a unit: a tie, to even
    assert total(ONE, ONE, TWO_24) == TWO_24_PLUS_2
    assert total(ONE, TWO_24, ONE) == TWO_24


def test_a_sum_starts_at_positive_zero():
    assert total() == 0
    assert total(NEGATIVE) == 0
    assert total(NEGATIVE, NEGATIVE) == 0
    assert total(ONE, ONE | NEGATIVE) == 0


def test_subnormals_are_kept():
    assert total(1) == 1
    assert total(0x007FFFFF, 1) == 0x00800000  # the largest subnormal and the smallest
    assert total(0x00800000, 0x80000001) == 0x007FFFFF


def test_infinities_and_overflow():
    assert total(LARGEST, LARGEST) == INFINITY
    assert total(LARGEST, 0x73000000) == INFINITY  # half a unit in the last place: away, to even
    assert total(LARGEST, 0x72FFFFFF) == LARGEST
    assert total(INFINITY, LARGEST | NEGATIVE) == INFINITY
    assert total(INFINITY | NEGATIVE, ONE) == INFINITY | NEGATIVE


def test_nan_sums_are_canonical():
    assert total(INFINITY, INFINITY | NEGATIVE) == NAN
    assert total(0x7F800001) == NAN  # signalling, alone
    assert total(ONE, 0xFFC12345, ONE) == NAN


def test_segments_interleave_without_disturbing_their_order():
    vectors = f32(TWO_24, ONE, ONE, ONE, ONE, TWO_24)
    segment = np.array([2, 0, 2, 0, 2, 0])
    assert bits(sum_segments(vectors, segment, 4)).ravel().tolist() == [
        TWO_24_PLUS_2,
        0,
        TWO_24,
        0,
    ]


def test_columns_are_independent():
    vectors = np.array([[1, 2, -0.0], [4, 8, -0.0]], np.float32)
    sums = sum_segments(vectors, np.array([0, 0]), 1)
    assert bits(sums).tolist() == [[0x40A00000, 0x41200000, 0]]


def test_there_may_be_no_segments():
    assert sum_segments(np.zeros((0, 3), np.float32), np.zeros(0, np.int64), 0).shape == (0, 3)
