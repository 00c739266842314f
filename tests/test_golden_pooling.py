# SPDX-FileCopyrightText: castbag contributors
# SPDX-License-Identifier: BSD-2-Clause

"""Weights, mean and maximum, forward and backward, on cases worked by hand."""

import re

import numpy as np
import pytest

from castbag.golden.batch import Batch, BatchError
from castbag.golden.embedding import backward, expand, forward, weights_gradient
from castbag.golden.fp32 import bits
from castbag.golden.pooling import BagGradient, inverse_counts, winners

BATCH = Batch.of([2, 5, 2, 0], [0, 2], rows=6)
TABLE = np.array([[1, 10], [2, 20], [4, 40], [8, 80], [16, 160], [32, 320]], np.float32)
GRAD = np.array([[1, -1], [2, 0.5]], np.float32)
WEIGHTS = np.array([0.5, 2, -1, 8], np.float32)


def column(*numbers):
    return np.array(numbers, np.float32).reshape(-1, 1)


def coalesced(grad, batch, **pooling):
    rows, values = backward(BagGradient.of(grad, batch, **pooling), batch)
    return dict(zip(rows.tolist(), values.tolist(), strict=True))


# --- weights -------------------------------------------------------------------------------------


def test_weighted_sum():
    pooled = forward(TABLE, BATCH, weights=WEIGHTS)
    assert pooled.tolist() == [[0.5 * 4 + 2 * 32, 0.5 * 40 + 2 * 320], [-4 + 8, -40 + 80]]
    rows, shares = expand(BagGradient.of(GRAD, BATCH, weights=WEIGHTS), BATCH)
    assert rows.tolist() == [2, 5, 2, 0]
    assert shares.tolist() == [[0.5, -0.5], [2, -2], [-2, -0.5], [16, 4]]
    assert coalesced(GRAD, BATCH, weights=WEIGHTS) == {0: [16, 4], 2: [-1.5, -1], 5: [2, -2]}


def test_a_product_is_rounded_before_it_is_added():
    # (1 + 2^-12)^2 = 1 + 2^-11 + 2^-24 rounds to 1 + 2^-11 (a tie, to even). A fused multiply-add
    # would leave 2^-24 where two operations leave 0.
    factor = 1 + 2**-12
    batch = Batch.of([1, 0], [0], rows=2)
    table, weights = column(factor, 1 + 2**-11), np.array([-1, factor], np.float32)
    assert forward(table, batch, weights=weights).tolist() == [[0]]

    batch = Batch.of([0, 0], [0, 1], rows=1)
    grad, weights = column(1 + 2**-11, factor), np.array([-1, factor], np.float32)
    assert coalesced(grad, batch, weights=weights) == {0: [0]}


def test_gradient_of_weights():
    # grad[bag] . table[row]: [1, -1] . [4, 40], [1, -1] . [32, 320], [2, 0.5] . [4, 40] and so on.
    assert weights_gradient(TABLE, GRAD, BATCH).tolist() == [-36, -288, 28, 7]


def test_gradient_of_weights_adds_neighbouring_columns_first():
    batch = Batch.of([0], [0], rows=1)
    table = np.array([[2**24, 1, 1, 1, 1]], np.float32)
    ones = np.ones_like(table)
    # (2^24 + 1) + (1 + 1) is 2^24 + 2, the odd 1 having been half a unit; one more 1 is so again,
    # and a tie goes to even: up, since 2^24 + 2 is odd in units of 2.
    assert weights_gradient(table, ones, batch).tolist() == [2**24 + 4]
    assert weights_gradient(table[:, ::-1].copy(), ones, batch).tolist() == [2**24 + 4]
    assert weights_gradient(table[:, :3].copy(), ones[:, :3], batch).tolist() == [2**24]


def test_a_weight_of_a_dropped_lookup_is_not_read_and_has_no_gradient():
    batch = Batch.of([1, 0, -1, 1], [0, 3], rows=2, padding_idx=0, bounds="ignore")
    table = np.array([[np.nan], [3]], np.float32)
    weights = np.array([2, np.nan, np.inf, -1], np.float32)
    grad = column(1, 0)
    assert forward(table, batch, weights=weights).tolist() == [[6], [-3]]
    assert coalesced(grad, batch, weights=weights) == {1: [2]}
    assert bits(weights_gradient(table, grad, batch)).tolist() == [0x40400000, 0, 0, 0]


# --- mean ----------------------------------------------------------------------------------------


def test_mean():
    assert forward(TABLE, BATCH, mode="mean").tolist() == [[18, 180], [2.5, 25]]
    assert coalesced(GRAD, BATCH, mode="mean") == {0: [1, 0.25], 2: [1.5, -0.25], 5: [0.5, -0.5]}


def test_mean_multiplies_by_the_rounded_reciprocal():
    # fl(1/3) = 11184811 / 2^25. Five times that is 13981013.75 / 2^23, so rounds to 13981014; a
    # division would give 13981013, since 5/3 is 13981013.3 / 2^23.
    batch = Batch.of([0, 1, 1], [0], rows=2)
    table, grad = column(1, 2), column(5)
    assert forward(table, batch, mode="mean").tolist() == [[13981014 / 2**23]]
    # Row 1 has two shares of that: each is rounded before they are added.
    assert coalesced(grad, batch, mode="mean") == {0: [13981014 / 2**23], 1: [13981014 / 2**22]}


def test_the_mean_of_a_sum_that_overflows_is_infinite():
    batch = Batch.of([0, 0], [0], rows=1)
    assert forward(column(2.0**127), batch, mode="mean").tolist() == [[np.inf]]


def test_mean_divides_by_the_valid_lookups_alone():
    batch = Batch.of([0, 1, 7, 0, 1], [0, 4], rows=2, padding_idx=1, bounds="ignore")
    assert batch.counts.tolist() == [2, 0]
    assert inverse_counts(batch).tolist() == [0.5, 1]
    table = column(6, np.nan)
    assert bits(forward(table, batch, mode="mean")).tolist() == [[0x40C00000], [0]]
    assert coalesced(column(4, np.nan), batch, mode="mean") == {0: [4]}


# --- maximum -------------------------------------------------------------------------------------


def test_maximum_is_taken_and_answered_column_by_column():
    table = np.array([[1, 8, -3], [5, 2, -4], [3, 4, -2]], np.float32)
    batch = Batch.of([0, 1, 2, 1, 0], [0, 3], rows=3)
    assert forward(table, batch, mode="max").tolist() == [[5, 8, -2], [5, 8, -3]]
    assert winners(table, batch).tolist() == [[1, 0, 2], [3, 4, 4]]
    grad = np.array([[10, 20, 30], [1, 2, 3]], np.float32)
    _, shares = expand(BagGradient.of(grad, batch, mode="max", table=table), batch)
    assert shares.tolist() == [[0, 20, 0], [10, 0, 0], [0, 0, 30], [1, 0, 0], [0, 2, 3]]
    assert not np.signbit(shares).any()
    assert coalesced(grad, batch, mode="max", table=table) == {
        0: [0, 22, 3],
        1: [11, 0, 0],
        2: [0, 0, 30],
    }


def test_the_first_of_equals_has_the_whole_gradient():
    batch = Batch.of([1, 0, 2, 0, 0], [0, 3], rows=3)
    table = column(-0.0, 0.0, 0.0)
    assert bits(forward(table, batch, mode="max")).tolist() == [[0], [0x80000000]]
    assert winners(table, batch).tolist() == [[0], [3]]
    # Rows that win nothing are touched all the same: their gradient is exact +0.0.
    gradient = coalesced(column(5, 7), batch, mode="max", table=table)
    assert gradient == {0: [7], 1: [5], 2: [0]}
    assert bits(column(gradient[2][0])).tolist() == [[0]]


def test_a_nan_wins_only_where_it_comes_first():
    batch = Batch.of([0, 1, 1, 0], [0, 2], rows=2)
    table = np.array([[np.nan], [4]], np.float32)
    assert bits(forward(table, batch, mode="max")).tolist() == [[0x7FC00000], [0x40800000]]
    assert coalesced(column(1, 2), batch, mode="max", table=table) == {0: [1], 1: [2]}


def test_a_gradient_that_goes_elsewhere_is_not_read():
    # Were it multiplied by 0 where a lookup does not win, NaN and infinity would spread.
    batch = Batch.of([0, 1], [0], rows=2)
    grad = np.array([[np.nan, np.inf]], np.float32)
    table = np.array([[1, 1], [0, 0]], np.float32)
    assert coalesced(grad, batch, mode="max", table=table)[1] == [0, 0]


def test_maximum_of_valid_lookups_alone():
    batch = Batch.of([0, 1, 9, 0], [0, 3, 3], rows=2, padding_idx=0, bounds="ignore")
    table = column(99, -1)
    assert bits(forward(table, batch, mode="max")).tolist() == [[0xBF800000], [0], [0]]
    assert winners(table, batch).tolist() == [[1], [-1], [-1]]
    assert coalesced(column(1, 2, 3), batch, mode="max", table=table) == {1: [1]}


# --- every mode ----------------------------------------------------------------------------------


@pytest.mark.parametrize("mode", ["sum", "mean", "max"])
def test_empty_bags_are_positive_zero_and_touch_nothing(mode):
    batch = Batch.of([], [0, 0], rows=6)
    assert bits(forward(TABLE, batch, mode=mode)).tolist() == [[0, 0], [0, 0]]
    assert coalesced(GRAD, batch, mode=mode, table=TABLE) == {}
    assert forward(TABLE, Batch.of([], [], rows=6), mode=mode).shape == (0, 2)


@pytest.mark.parametrize(
    ("mode", "weights", "message"),
    [
        ("mean", WEIGHTS, "per_sample_weights are given in mode 'mean'; they go with 'sum' alone"),
        ("max", WEIGHTS, "per_sample_weights are given in mode 'max'; they go with 'sum' alone"),
        ("sum", WEIGHTS[:3], "per_sample_weights is float32[3]; it must be float32[4]"),
        ("sum", WEIGHTS[None], "per_sample_weights is float32[1, 4]; it must be float32[4]"),
        ("sum", np.ones(4), "per_sample_weights is float64[4]; it must be float32[4]"),
    ],
)
def test_weights_of_another_mode_or_kind_are_refused(mode, weights, message):
    with pytest.raises(BatchError, match=f"^{re.escape(message)}$"):
        forward(TABLE, BATCH, mode=mode, weights=weights)
    with pytest.raises(BatchError, match=f"^{re.escape(message)}$"):
        BagGradient.of(GRAD, BATCH, mode=mode, weights=weights, table=TABLE)


def test_an_unknown_mode_is_refused():
    with pytest.raises(ValueError, match="^mode is 'median'; it must be 'sum', 'mean' or 'max'$"):
        forward(TABLE, BATCH, mode="median")


def test_the_gradient_of_a_maximum_needs_the_table():
    message = "^table is missing; in mode 'max' the gradient depends on it$"
    with pytest.raises(BatchError, match=message):
        BagGradient.of(GRAD, BATCH, mode="max")
    with pytest.raises(BatchError, match=r"^table is float32\[6, 1\]; it must be float32\[6, 2\]$"):
        BagGradient.of(GRAD, BATCH, mode="max", table=TABLE[:, :1])
