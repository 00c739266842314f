# SPDX-FileCopyrightText: castbag contributors
# SPDX-License-Identifier: BSD-2-Clause

"""A whole training step, and its parts."""

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
    with pytest.raises(ValueError, match="^optimizer is 'newton'; it must be 'sgd'$"):
        step(TABLE, GRAD, BATCH, optimizer="newton", lr=0.5)
