# SPDX-FileCopyrightText: castbag contributors
# SPDX-License-Identifier: BSD-2-Clause

"""The cast, on cases worked by hand. That it equals expand and coalesce: test_golden_exact."""

import numpy as np

from castbag.golden.batch import Batch
from castbag.golden.casting import cast, casted_gather_reduce
from castbag.golden.pooling import BagGradient


def columns(batch):
    casted = cast(batch)
    return casted.src.tolist(), casted.dst.tolist(), casted.unique_rows.tolist()


def test_worked_example():
    batch = Batch.of([2, 5, 2, 0], [0, 2], rows=6)
    assert columns(batch) == ([1, 0, 1, 0], [0, 1, 1, 2], [0, 2, 5])
    grad = np.array([[1, -1], [2, 0.5]], np.float32)
    casted = cast(batch)
    assert casted.position.tolist() == [3, 0, 2, 1]
    reduced = casted_gather_reduce(BagGradient(grad), casted)
    assert reduced.tolist() == [[2, 0.5], [3, -0.5], [1, -1]]


def test_worked_example_with_weights():
    batch = Batch.of([2, 5, 2, 0], [0, 2], rows=6)
    grad = np.array([[1, -1], [2, 0.5]], np.float32)
    gradient = BagGradient(grad, weights=np.array([10, 20, 30, 40], np.float32))
    # Row 2: lookup 0 in bag 0 and lookup 2 in bag 1, so 10 * [1, -1] + 30 * [2, 0.5].
    assert casted_gather_reduce(gradient, cast(batch)).tolist() == [[80, 20], [70, 5], [20, -20]]


def test_worked_example_of_the_maximum():
    batch = Batch.of([2, 5, 2, 0], [0, 2], rows=6)
    grad = np.array([[1, -1], [2, 0.5]], np.float32)
    # Bag 0 takes lookup 1 and lookup 0, bag 1 lookup 2 and lookup 3.
    gradient = BagGradient(grad, winners=np.array([[1, 0], [2, 3]]))
    assert casted_gather_reduce(gradient, cast(batch)).tolist() == [[0, 0.5], [2, -1], [1, 0]]


def test_ties_keep_lookup_order():
    batch = Batch.of([1, 0, 1, 0, 1, 0], [0, 1, 2, 3, 4, 5], rows=2)
    assert columns(batch) == ([1, 3, 5, 0, 2, 4], [0, 0, 0, 1, 1, 1], [0, 1])


def test_ties_keep_lookup_order_in_long_runs():
    n = 1000  # beyond the size at which an unstable sort still happens to be stable
    batch = Batch.of(np.arange(n) % 2, np.arange(n), rows=2)
    src = list(range(0, n, 2)) + list(range(1, n, 2))
    assert columns(batch) == (src, [0] * (n // 2) + [1] * (n // 2), [0, 1])


def test_row_zero_opens_a_segment():
    assert columns(Batch.of([0, 0], [0], rows=1)) == ([0, 0], [0, 0], [0])


def test_dropped_pairs_are_not_cast():
    batch = Batch.of([4, -1, 3, 9, 4], [0, 2, 4], rows=5, padding_idx=3, bounds="ignore")
    assert columns(batch) == ([0, 2], [0, 0], [4])
    assert cast(batch).position.tolist() == [0, 4]


def test_nothing_to_cast():
    assert columns(Batch.of([], [0, 0], rows=5)) == ([], [], [])
    assert columns(Batch.of([1, 1], [0], rows=5, padding_idx=1)) == ([], [], [])


def test_outputs_are_64_bit():
    casted = cast(Batch.of([2, 5, 2, 0], [0, 2], rows=6))
    assert casted.src.dtype == casted.dst.dtype == casted.unique_rows.dtype == np.int64
    assert casted.position.dtype == np.int64
