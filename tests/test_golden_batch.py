# SPDX-FileCopyrightText: castbag contributors
# SPDX-License-Identifier: BSD-2-Clause

"""What a batch is, and each reason to refuse one."""

import re

import numpy as np
import pytest

from castbag.golden.batch import Batch, BatchError, check_matrix


def test_lookups_belong_to_bags():
    batch = Batch.of([2, 5, 2, 0], [0, 2], rows=6)
    assert (batch.lookups, batch.bags, batch.dropped) == (4, 2, 0)
    assert batch.offsets.tolist() == [0, 2, 4]
    assert batch.bag_of.tolist() == [0, 0, 1, 1]
    assert batch.valid.all()


def test_empty_bags_may_be_first_last_and_between():
    batch = Batch.of([3, 1, 3], [0, 0, 2, 2, 3], rows=4)
    assert batch.bags == 5
    assert batch.bag_of.tolist() == [1, 1, 3]


def test_last_offset_may_be_included():
    batch = Batch.of([3, 1, 3], [0, 1, 3], rows=4, include_last_offset=True)
    assert batch.bags == 2
    assert batch.bag_of.tolist() == [0, 1, 1]


@pytest.mark.parametrize(
    ("offsets", "include_last_offset", "bags"),
    [([], False, 0), ([0], True, 0), ([0, 0], False, 2), ([0, 0], True, 1)],
)
def test_a_batch_may_have_no_lookups(offsets, include_last_offset, bags):
    batch = Batch.of([], offsets, rows=4, include_last_offset=include_last_offset)
    assert (batch.lookups, batch.bags, batch.dropped) == (0, bags, 0)
    assert batch.bag_of.size == batch.valid.size == 0


@pytest.mark.parametrize("dtype", [np.int32, np.int64])
def test_either_integer_is_widened_with_its_sign(dtype):
    batch = Batch.of(np.array([-1, 3], dtype), np.array([0], dtype), rows=4, bounds="ignore")
    assert batch.indices.dtype == batch.offsets.dtype == np.int64
    assert batch.indices.tolist() == [-1, 3]
    assert batch.valid.tolist() == [False, True]


def test_ignore_and_padding_drop_lookups():
    indices = [0, -1, 3, 4, 2, 2**40]
    batch = Batch.of(indices, [0, 3], rows=4, padding_idx=3, bounds="ignore")
    assert batch.valid.tolist() == [True, False, False, False, True, False]
    assert batch.dropped == 4


def test_padding_is_not_out_of_bounds():
    assert Batch.of([1, 0, 1], [0], rows=2, padding_idx=0).dropped == 1


def test_a_batch_keeps_its_own_copy():
    indices, offsets = np.array([0, 1]), np.array([0, 1])
    batch = Batch.of(indices, offsets, rows=2)
    indices[0] = offsets[1] = 9
    assert batch.indices.tolist() == [0, 1]
    assert batch.offsets.tolist() == [0, 1, 2]


@pytest.mark.parametrize("field", ["indices", "offsets"])
def test_a_batch_does_not_change(field):
    batch = Batch.of([0, 1], [0, 1], rows=2)
    with pytest.raises(ValueError, match="read-only"):
        getattr(batch, field)[0] = 9


@pytest.mark.parametrize(
    ("offsets", "include_last_offset", "message"),
    [
        ([1, 2], False, "bag 0 has offsets 1 to 2; the first bag must start at 0"),
        ([-1, 2], False, "bag 0 has offsets -1 to 2; the first bag must start at 0"),
        ([0, 3, 2, 4], False, "bag 1 has offsets 3 to 2; offsets must never fall"),
        ([0, 2, 5], False, "bag 2 has offsets 5 to 4; offsets must never fall"),
        (
            [0, 2**63 - 1, -(2**63)],
            False,
            "bag 1 has offsets 9223372036854775807 to "
            "-9223372036854775808; offsets must never fall",
        ),
        ([0, 2, 3], True, "bag 1 has offsets 2 to 3; the last bag must end at n = 4"),
        ([0, 2, 5], True, "bag 1 has offsets 2 to 5; the last bag must end at n = 4"),
        ([], True, "offsets are empty; with include_last_offset there are B + 1 of them"),
        ([], False, "offsets make 0 bags and end at 4, for 4 lookups; without bags both must be 0"),
        ([0], True, "offsets make 0 bags and end at 0, for 4 lookups; without bags both must be 0"),
    ],
)
def test_bad_offsets_are_refused(offsets, include_last_offset, message):
    with pytest.raises(BatchError, match=f"^{re.escape(message)}$"):
        Batch.of([0, 1, 0, 1], offsets, rows=2, include_last_offset=include_last_offset)


@pytest.mark.parametrize("row", [-1, 4, 2**40])
def test_a_row_out_of_bounds_is_refused(row):
    message = f"indices[2] is {row}; a row must lie in [0, 4)"
    with pytest.raises(BatchError, match=f"^{re.escape(message)}$"):
        Batch.of([0, 3, row, 9], [0], rows=4)


@pytest.mark.parametrize("padding_idx", [-1, 4])
def test_a_padding_row_out_of_bounds_is_refused(padding_idx):
    message = f"padding_idx is {padding_idx}; a row must lie in [0, 4)"
    with pytest.raises(BatchError, match=f"^{re.escape(message)}$"):
        Batch.of([0], [0], rows=4, padding_idx=padding_idx, bounds="ignore")


def test_unknown_bounds_are_refused():
    with pytest.raises(BatchError, match="^bounds is 'wrap'; it must be 'error' or 'ignore'$"):
        Batch.of([0], [0], rows=4, bounds="wrap")


def test_negative_rows_are_refused():
    with pytest.raises(BatchError, match="^rows is -1; a table has 0 rows or more$"):
        Batch.of([], [], rows=-1)


@pytest.mark.parametrize("dtype", [np.float32, np.uint32, np.int16, np.bool_])
def test_other_types_are_refused(dtype):
    message = f"^indices are {np.dtype(dtype)}; they must be int32 or int64$"
    with pytest.raises(BatchError, match=message):
        Batch.of(np.zeros(2, dtype), [0], rows=4)


def test_other_shapes_are_refused():
    with pytest.raises(BatchError, match="^offsets have 2 dimensions; they must have 1$"):
        Batch.of([0], [[0]], rows=4)


@pytest.mark.parametrize(
    ("matrix", "dim", "message"),
    [
        (np.zeros((4, 2)), None, "table is float64[4, 2]; it must be float32[4, D >= 1]"),
        (np.zeros(4, np.float32), None, "table is float32[4]; it must be float32[4, D >= 1]"),
        (
            np.zeros((4, 0), np.float32),
            None,
            "table is float32[4, 0]; it must be float32[4, D >= 1]",
        ),
        (np.zeros((3, 2), np.float32), 2, "table is float32[3, 2]; it must be float32[4, 2]"),
        (np.zeros((4, 1), np.float32), 2, "table is float32[4, 1]; it must be float32[4, 2]"),
    ],
)
def test_a_matrix_of_another_kind_is_refused(matrix, dim, message):
    with pytest.raises(BatchError, match=f"^{re.escape(message)}$"):
        check_matrix("table", matrix, rows=4, dim=dim)
