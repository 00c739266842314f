# SPDX-FileCopyrightText: castbag contributors
# SPDX-License-Identifier: BSD-2-Clause

"""Sums and maxima of binary32 numbers: their order, their zeros, their NaNs.

Bits are written out by hand, or come from exact fractions (`exact`).
"""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from castbag.golden.fp32 import bits, canonical, max_segments, scale, sum_columns, sum_segments
from tests.exact import (
    SIGN,
    add,
    divide,
    greater,
    multiply,
    square_root,
    tree,
)
from tests.golden_problems import DIMS, PATTERNS, arrays


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


# --- maxima --------------------------------------------------------------------------------------


def largest(*patterns):
    """The bits of the maximum of one segment, and which one has it."""
    maxima, winners = max_segments(f32(*patterns), np.zeros(len(patterns), np.int64), 1)
    assert maxima.dtype == np.float32
    return int(bits(maxima)[0, 0]), int(winners[0, 0])


def test_a_maximum_may_be_negative_or_infinite():
    assert largest(TWO_24 | NEGATIVE, ONE | NEGATIVE) == (ONE | NEGATIVE, 1)
    assert largest(ONE, INFINITY, LARGEST) == (INFINITY, 1)
    assert largest(INFINITY | NEGATIVE) == (INFINITY | NEGATIVE, 0)
    assert largest(0, 1) == (1, 1)


def test_the_first_of_equals_stays():
    assert largest(ONE, TWO_24, TWO_24, ONE) == (TWO_24, 1)
    assert largest(0, NEGATIVE) == (0, 0)
    assert largest(NEGATIVE, 0) == (NEGATIVE, 0)


def test_a_nan_never_replaces_and_one_that_came_first_stays():
    assert largest(ONE, NAN, TWO_24) == (TWO_24, 2)
    assert largest(0xFFC12345, INFINITY) == (NAN, 0)
    assert largest(0x7F800001, 0xFFC12345) == (NAN, 0)


def test_maxima_of_segments_that_interleave_and_of_an_empty_one():
    vectors = np.array([[1, 5], [2, 2], [3, 4], [2, 7]], np.float32)
    maxima, winners = max_segments(vectors, np.array([2, 0, 2, 0]), 3)
    assert maxima.tolist() == [[2, 7], [0, 0], [3, 5]]
    assert bits(maxima[1]).tolist() == [0, 0]
    assert winners.tolist() == [[1, 3], [-1, -1], [2, 0]]


# --- columns -------------------------------------------------------------------------------------


def test_neighbouring_columns_are_added_first():
    def across(*patterns):
        return int(bits(sum_columns(f32(*patterns).T))[0])

    assert across(TWO_24, ONE, ONE) == TWO_24  # (2^24 + 1) + (1 + 0): each 1 is half a unit
    assert across(ONE, ONE, TWO_24) == TWO_24_PLUS_2  # (1 + 1) + (2^24 + 0)
    assert across(TWO_24, ONE, ONE, ONE) == TWO_24_PLUS_2  # (2^24 + 1) + (1 + 1)
    assert across(NEGATIVE) == across(NEGATIVE, NEGATIVE) == NEGATIVE
    assert across(NEGATIVE, NEGATIVE, NEGATIVE) == 0  # of three, one is padded with +0.0
    assert across(INFINITY, INFINITY | NEGATIVE, ONE) == across(0xFFC12345) == NAN


def test_every_vector_has_its_own_factor():
    vectors = np.array([[1, -2], [3, np.inf]], np.float32)
    scaled = scale(vectors, np.array([0.5, 0], np.float32))
    assert bits(scaled).tolist() == [[0x3F000000, 0xBF800000], [0, NAN]]


# --- against exact fractions ---------------------------------------------------------------------


def bits_of(array):
    return bits(array).tolist()


def test_reference_arithmetic_knows_the_standard():
    one, ulp, half = ONE, 0x34000000, 0x33800000  # 1, 2^-23, 2^-24
    assert add(one, half) == one
    assert add(one | 1, half) == one | 2
    assert add(one, half | 1) == one | 1
    assert add(one, ulp) == one | 1
    assert add(0x7F7FFFFF, 0x73000000) == INFINITY
    assert add(0x7F7FFFFF, 0x72FFFFFF) == 0x7F7FFFFF
    assert add(0x007FFFFF, 1) == 0x00800000
    assert add(SIGN, SIGN) == SIGN
    assert add(SIGN, 0) == add(one, one | SIGN) == 0
    assert multiply(1, 0x3F000000) == 0  # half the smallest subnormal: a tie, to even
    assert multiply(3, 0x3F000000) == 2
    assert multiply(0x00800000, 0x3F000000) == 0x00400000
    assert multiply(one | SIGN, 0) == SIGN
    assert multiply(INFINITY, 0) == add(INFINITY, INFINITY | SIGN) == NAN
    assert divide(one, 0x40400000) == 0x3EAAAAAB  # a third
    assert divide(one | SIGN, 0) == INFINITY | SIGN
    assert divide(one, INFINITY | SIGN) == SIGN
    assert divide(0, SIGN) == divide(INFINITY, INFINITY) == NAN
    assert square_root(0x40000000) == 0x3FB504F3  # of 2
    assert square_root(0x41100000) == 0x40400000  # of 9
    assert square_root(1) == 0x1A3504F3  # 2^-74.5
    assert square_root(SIGN) == SIGN
    assert square_root(one | SIGN) == NAN
    assert greater(0, one | SIGN)
    assert not greater(0, SIGN)
    assert not greater(INFINITY, NAN)
    assert not greater(NAN, INFINITY)


@given(a=PATTERNS, b=PATTERNS)
@settings(deadline=None, max_examples=500)
def test_numpy_rounds_as_the_reference(a, b):
    x, y = np.array([[a], [b]], np.uint32).view(np.float32)
    with np.errstate(all="ignore"):
        assert bits(canonical(x + y)).tolist() == [add(a, b)]
        assert bits(canonical(x * y)).tolist() == [multiply(a, b)]
        assert bits(canonical(x / y)).tolist() == [divide(a, b)]
        assert bits(canonical(np.sqrt(x))).tolist() == [square_root(a)]
        assert (x > y).tolist() == [greater(a, b)]


@given(data=st.data(), dim=DIMS, segment=st.lists(st.integers(0, 4), max_size=12))
@settings(deadline=None)
def test_segments_sum_in_order_of_appearance(data, dim, segment):
    vectors = data.draw(arrays((len(segment), dim)))
    sums = [[0] * dim for _ in range(5)]
    for vector, index in zip(bits_of(vectors), segment, strict=True):
        sums[index] = list(map(add, sums[index], vector))
    assert bits_of(sum_segments(vectors, np.array(segment, np.int64), 5)) == sums


@given(data=st.data(), dim=st.integers(1, 20))
@settings(deadline=None)
def test_columns_sum_as_a_tree(data, dim):
    vectors = data.draw(arrays((2, dim)))
    assert bits_of(sum_columns(vectors)) == [tree(row) for row in bits_of(vectors)]


@given(data=st.data(), dim=st.integers(1, 20), lanes=st.sampled_from([1, 2, 4, 8, 16, 64]))
@settings(deadline=None)
def test_a_tree_of_any_number_of_lanes_has_the_same_sum(data, dim, lanes):
    """Words of `lanes` columns are summed each, then their sums: with -0.0 beyond the padding."""
    vectors = data.draw(arrays((1, dim)))
    padded = bits_of(vectors)[0] + [0] * ((1 << (dim - 1).bit_length()) - dim)
    padded += [SIGN] * (-len(padded) % lanes)
    words = [tree(padded[start : start + lanes]) for start in range(0, len(padded), lanes)]
    assert tree(words) == bits_of(sum_columns(vectors))[0]
