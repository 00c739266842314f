# SPDX-FileCopyrightText: castbag contributors
# SPDX-License-Identifier: BSD-2-Clause

"""A whole training step, and its parts."""

import re

import numpy as np
import pytest

from castbag.golden.batch import Batch, BatchError
from castbag.golden.step import step

BATCH = Batch.of([2, 5, 2, 0], [0, 2], rows=6)
TABLE = np.array([[1, 10], [2, 20], [4, 40], [8, 80], [16, 160], [32, 320]], np.float32)
GRAD = np.array([[1, -1], [2, 0.5]], np.float32)

POOLED = [[36, 360], [5, 50]]
COALESCED = [[2, 0.5], [3, -0.5], [1, -1]]
UPDATED = [[0, 9.75], [2, 20], [2.5, 40.25], [8, 80], [16, 160], [31.5, 320.5]]


def values(result):
    parts = result.pooled, result.unique_rows, result.coalesced, result.table, result.state
    return [None if part is None else part.tolist() for part in parts]


def test_step_does_all():
    result = step(TABLE, GRAD, BATCH, lr=0.5)
    assert values(result) == [POOLED, [0, 2, 5], COALESCED, UPDATED, None]
    assert TABLE[0].tolist() == [1, 10]


def test_forward_needs_no_gradient():
    result = step(TABLE, None, BATCH, op="forward", lr=0.5)
    assert values(result) == [POOLED, None, None, None, None]


def test_backward_is_all_but_forward():
    result = step(TABLE, GRAD, BATCH, op="backward", lr=0.5)
    assert values(result) == [None, [0, 2, 5], COALESCED, UPDATED, None]


def test_weighted_step():
    weights = np.array([0.5, 2, -1, 8], np.float32)
    result = step(TABLE, GRAD, BATCH, per_sample_weights=weights, lr=0.5)
    assert values(result) == [
        [[66, 660], [4, 40]],
        [0, 2, 5],
        [[16, 4], [-1.5, -1], [2, -2]],
        [[-7, 8], [2, 20], [4.75, 40.5], [8, 80], [16, 160], [31, 321]],
        None,
    ]
    # With the rows as they were before the update: [1, -1] . [4, 40] and so on.
    assert result.per_sample_weights_grad.tolist() == [-36, -288, 28, 7]


def test_mean_step():
    result = step(TABLE, GRAD, BATCH, mode="mean", optimizer="none")
    coalesced = [[1, 0.25], [1.5, -0.25], [0.5, -0.5]]
    assert values(result) == [
        [[18, 180], [2.5, 25]],
        [0, 2, 5],
        coalesced,
        TABLE.tolist(),
        None,
    ]
    assert result.per_sample_weights_grad is None


def test_maximum_step_with_rowwise_adagrad():
    state = np.array([9, 1, 1, 1, 1, 15], np.float32)
    result = step(
        TABLE, GRAD, BATCH, mode="max", optimizer="rowwise-adagrad", lr=2.0, eps=0.0, state=state
    )
    # Row 5 wins all of bag 0, row 2 all of bag 1; row 0 is touched, and moves nowhere. The means of
    # squares are 0, (4 + 0.25) / 2 and (1 + 1) / 2; the root of row 5's state is 4.
    multiplier = np.float32(2) / np.sqrt(np.float32(3.125))
    assert result.pooled.tolist() == [[32, 320], [4, 40]]
    assert result.unique_rows.tolist() == [0, 2, 5]
    assert result.coalesced.tolist() == [[0, 0], [2, 0.5], [1, -1]]
    assert result.state.tolist() == [9, 1, 3.125, 1, 1, 16]
    assert result.table[5].tolist() == [31.5, 320.5]
    moved = np.array([4, 40], np.float32) - multiplier * np.array([2, 0.5], np.float32)
    assert result.table[2].tolist() == moved.tolist()
    assert result.table[[0, 1, 3, 4]].tolist() == TABLE[[0, 1, 3, 4]].tolist()
    assert state.tolist() == [9, 1, 1, 1, 1, 15]


def test_adagrad_step():
    state = np.array([[12, 15.75]] + [[0, 0]] * 5, np.float32)
    result = step(TABLE, GRAD, BATCH, optimizer="adagrad", lr=1.0, eps=0.0, state=state)
    # Row 0 has the gradient [2, 0.5], and the roots are 4.
    assert result.state[0].tolist() == [16, 16]
    assert result.table[0].tolist() == [0.5, 9.875]
    # The first step of a state of zeros is lr in the gradient's direction.
    assert result.table[5].tolist() == [31, 321]


def test_forward_needs_nothing_of_the_optimizer():
    result = step(TABLE, None, BATCH, op="forward", mode="max", optimizer="adagrad")
    assert values(result) == [[[32, 320], [4, 40]], None, None, None, None]


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"lr": None}, "lr is missing; optimizer 'sgd' needs it"),
        ({"lr": -1.0}, "lr is -1.0; it must be 0 or more, and finite in binary32"),
        ({"eps": np.nan}, "eps is nan; it must be 0 or more, and finite in binary32"),
        ({"weight_decay": np.inf}, "weight_decay is inf; it must be 0 or more, and finite"),
        ({"optimizer": "adagrad"}, "state is missing; optimizer 'adagrad' has float32[6, 2]"),
        ({"state": np.zeros(6, np.float32)}, "state is given, but optimizer 'sgd' has none"),
        (
            {"per_sample_weights": np.zeros(4)},
            "per_sample_weights is float64[4]; it must be float32[4]",
        ),
        (
            {"mode": "max", "per_sample_weights": np.zeros(4, np.float32)},
            "per_sample_weights are given in mode 'max'; they go with 'sum' alone",
        ),
    ],
)
def test_what_does_not_fit_is_refused(wrong, message):
    with pytest.raises(BatchError, match=f"^{re.escape(message)}"):
        step(TABLE, GRAD, BATCH, **({"lr": 0.5} | wrong))


@pytest.mark.parametrize("op", ["step", "backward"])
def test_a_missing_gradient_is_refused(op):
    with pytest.raises(BatchError, match=f"^grad is missing; op '{op}' needs it$"):
        step(TABLE, None, BATCH, op=op, lr=0.5)


def test_a_gradient_of_another_dim_is_refused():
    with pytest.raises(BatchError, match=r"^grad is float32\[2, 1\]; it must be float32\[2, 2\]$"):
        step(TABLE, GRAD[:, :1], BATCH, lr=0.5)


def test_a_table_of_other_rows_is_refused():
    message = r"^table is float32\[5, 2\]; it must be float32\[6, D >= 1\]$"
    with pytest.raises(BatchError, match=message):
        step(TABLE[:5], GRAD, BATCH, lr=0.5)


def test_an_unknown_op_is_refused():
    with pytest.raises(
        ValueError, match="^op is 'sideways'; it must be 'step', 'forward' or 'backward'$"
    ):
        step(TABLE, GRAD, BATCH, op="sideways", lr=0.5)


def test_an_unknown_optimizer_is_refused():
    message = "^optimizer is 'newton'; it must be 'sgd', 'rowwise-adagrad', 'adagrad' or 'none'$"
    with pytest.raises(ValueError, match=message):
        step(TABLE, GRAD, BATCH, optimizer="newton", lr=0.5)
