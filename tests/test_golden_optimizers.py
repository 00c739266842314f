# SPDX-FileCopyrightText: castbag contributors
# SPDX-License-Identifier: BSD-2-Clause

"""Optimizers, on cases worked by hand."""

import numpy as np

from castbag.golden.fp32 import bits
from castbag.golden.optimizers import sgd


def column(*patterns):
    return np.array(patterns, np.uint32).view(np.float32).reshape(-1, 1)


def test_sgd_touches_its_rows_alone():
    table = np.array([[1, 2], [3, 4], [5, 6]], np.float32)
    gradient = np.array([[2, -4]], np.float32)
    assert sgd(table, np.array([1]), gradient, lr=0.5).tolist() == [[1, 2], [2, 6], [5, 6]]
    assert table.tolist() == [[1, 2], [3, 4], [5, 6]]


def test_sgd_rounds_the_product_before_it_subtracts():
    # (1 + 2^-12)^2 = 1 + 2^-11 + 2^-24 rounds to 1 + 2^-11 (a tie, to even). A fused
    # multiply-subtract would leave -2^-24 where two operations leave 0.
    weight, factor = column(0x3F801000), column(0x3F800800)
    updated = sgd(weight, np.array([0]), factor, lr=float(factor[0, 0]))
    assert bits(updated).tolist() == [[0]]


def test_sgd_rounds_its_learning_rate():
    # In binary32, 0.1 is 13421773 / 2^27. Nine times that is 15099494.625 / 2^24, so rounds to
    # 15099495 / 2^24; nine times the decimal 0.1 would be 15099494.4 / 2^24, and round down.
    updated = sgd(column(0), np.array([0]), np.array([[-9]], np.float32), lr=0.1)
    assert updated.tolist() == [[15099495 / 2**24]]


def test_sgd_of_a_zero_step_keeps_negative_zero():
    updated = sgd(column(0x80000000, 0x80000000), np.array([0, 1]), column(0, 0x80000000), lr=1.0)
    assert bits(updated).ravel().tolist() == [0x80000000, 0]


def test_sgd_makes_nans_canonical_where_it_computes_and_nowhere_else():
    odd_nans = column(0xFFC12345, 0x7F800001, 0x7F800001)
    updated = sgd(odd_nans, np.array([1]), column(0x3F800000), lr=1.0)
    assert bits(updated).ravel().tolist() == [0xFFC12345, 0x7FC00000, 0x7F800001]


def test_sgd_overflows_to_infinity():
    updated = sgd(column(0xFF7FFFFF), np.array([0]), column(0x7F7FFFFF), lr=2.0)
    assert bits(updated).tolist() == [[0xFF800000]]


def test_sgd_without_rows_changes_nothing():
    odd_nan = column(0x7F800001)
    updated = sgd(odd_nan, np.zeros(0, np.int64), np.zeros((0, 1), np.float32), lr=1.0)
    assert bits(updated).tolist() == [[0x7F800001]]
