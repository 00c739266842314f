# SPDX-FileCopyrightText: castbag contributors
# SPDX-License-Identifier: BSD-2-Clause

"""Forward and backward in mode sum, on cases worked by hand. Other modes: test_golden_pooling."""

import numpy as np
import pytest

from castbag.golden.batch import Batch, BatchError
from castbag.golden.embedding import backward, coalesce, expand, forward
from castbag.golden.fp32 import bits
from castbag.golden.pooling import BagGradient

TABLE = np.array([[1, 10], [2, 20], [4, 40], [8, 80], [16, 160], [32, 320]], np.float32)
GRAD = np.array([[1, -1], [2, 0.5]], np.float32)


def test_worked_example():
    batch = Batch.of([2, 5, 2, 0], [0, 2], rows=6)
    assert forward(TABLE, batch).tolist() == [[36, 360], [5, 50]]
    rows, expanded = expand(BagGradient(GRAD), batch)
    assert rows.tolist() == [2, 5, 2, 0]
    assert expanded.tolist() == [[1, -1], [1, -1], [2, 0.5], [2, 0.5]]
    unique_rows, coalesced = coalesce(rows, expanded)
    assert unique_rows.tolist() == [0, 2, 5]
    assert coalesced.tolist() == [[2, 0.5], [3, -0.5], [1, -1]]


def test_dropped_lookups_leave_no_trace():
    table, grad = TABLE.copy(), np.vstack([GRAD, [[np.nan, np.nan]]]).astype(np.float32)
    table[3] = np.nan  # the padding row is not even read
    batch = Batch.of([2, 3, -7, 0, 6, 3], [0, 3, 4], rows=6, padding_idx=3, bounds="ignore")
    assert (
        bits(forward(table, batch)).tolist()
        == bits(np.array([[4, 40], [1, 10], [0, 0]], np.float32)).tolist()
    )
    unique_rows, coalesced = backward(
        BagGradient(grad), batch
    )  # nor is the gradient of a bag without lookups
    assert unique_rows.tolist() == [0, 2]
    assert coalesced.tolist() == [[2, 0.5], [1, -1]]


def test_a_bag_may_look_a_row_up_twice():
    batch = Batch.of([1, 1, 1], [0, 2], rows=2)
    assert forward(TABLE[:2], batch).tolist() == [[4, 40], [2, 20]]
    unique_rows, coalesced = backward(BagGradient(GRAD), batch)
    assert unique_rows.tolist() == [1]
    assert coalesced.tolist() == [[4, -1.5]]


def test_backward_adds_in_lookup_order():
    batch = Batch.of([0, 1, 0, 1, 0], [0, 1, 2, 3, 4], rows=2)
    grad = np.array([[2**24], [1], [1], [2**24], [1]], np.float32)
    _, coalesced = backward(BagGradient(grad), batch)
    assert coalesced.tolist() == [[2**24], [2**24]]
    _, coalesced = backward(BagGradient(grad[::-1].copy()), batch)
    assert coalesced.tolist() == [[2**24 + 2], [2**24]]


def test_a_lone_negative_zero_becomes_positive():
    batch = Batch.of([0], [0], rows=1)
    zero = np.array([[-0.0]], np.float32)
    assert bits(forward(zero, batch)).tolist() == [[0]]
    assert bits(backward(BagGradient(zero), batch)[1]).tolist() == [[0]]


def test_nothing_to_do():
    batch = Batch.of([], [], rows=6)
    assert forward(TABLE, batch).shape == (0, 2)
    unique_rows, coalesced = backward(BagGradient(np.zeros((0, 2), np.float32)), batch)
    assert unique_rows.shape == (0,)
    assert coalesced.shape == (0, 2)


def test_shapes_are_checked():
    batch = Batch.of([0], [0], rows=6)
    with pytest.raises(BatchError, match="^table is float32"):
        forward(TABLE[:5], batch)
    with pytest.raises(BatchError, match="^grad is float32"):
        BagGradient.of(GRAD, batch)
