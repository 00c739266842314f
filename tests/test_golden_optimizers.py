# SPDX-FileCopyrightText: castbag contributors
# SPDX-License-Identifier: BSD-2-Clause

"""Optimizers, on cases worked by hand."""

import re

import numpy as np
import pytest

from castbag.golden.batch import BatchError
from castbag.golden.fp32 import bits
from castbag.golden.optimizers import Rates, check_state, sgd, state_shape, update


def column(*patterns):
    return np.array(patterns, np.uint32).view(np.float32).reshape(-1, 1)


def rates(lr, eps=0.0, weight_decay=0.0):
    return Rates.of(lr=lr, eps=eps, weight_decay=weight_decay)


def one_row(optimizer, weights, gradient, state, chosen):
    """The row and its state after the update of a table that has no other."""
    weights, gradient = np.array([weights], np.float32), np.array([gradient], np.float32)
    state = None if state is None else np.array([state], np.float32)
    table, state = update(optimizer, weights, state, np.array([0]), gradient, chosen)
    return table[0].tolist(), None if state is None else state[0].tolist()


# --- SGD -----------------------------------------------------------------------------------------


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


# --- row-wise Adagrad ----------------------------------------------------------------------------


def test_rowwise_adagrad_has_one_multiplier_a_row():
    # s = 4 + (9 + 25 + 25 + 25) / 4 = 25, m = 2 / (5 + 3) = 1/4.
    row, state = one_row("rowwise-adagrad", [1, 1, 1, 1], [3, 5, -5, 5], 4, rates(2, eps=3))
    assert (row, state) == ([0.25, -0.25, 2.25, -0.25], 25)


def test_rowwise_adagrad_divides_by_the_columns_not_by_the_padded_ones():
    # s = 6 + (1 + 4 + 4) / 3 = 9, m = 3 / 3.
    row, state = one_row("rowwise-adagrad", [0, 0, 0], [1, 2, -2], 6, rates(3))
    assert (row, state) == ([-1, -2, 2], 9)


def test_rowwise_adagrad_adds_the_squares_of_neighbours_first():
    # One after the other, each 1 would be half a unit of 2^24, and be lost; (1 + 1) is not.
    _, state = one_row("rowwise-adagrad", [0] * 4, [2**12, 0, 1, 1], 0, rates(1))
    assert state == (2**24 + 2) / 4


def test_rowwise_adagrad_divides_before_it_multiplies():
    # m = fl(1/3) = 11184811 / 2^25, and five times that, 13981013.75 / 2^23, rounds up.
    assert one_row("rowwise-adagrad", [0], [5], -16, rates(1)) == ([-13981014 / 2**23], 9)


def test_the_root_of_a_negative_state_is_nan():
    table, state = update(
        "rowwise-adagrad", column(0), -np.ones(1, np.float32), np.array([0]), column(0), rates(1)
    )
    assert bits(table).tolist() == [[0x7FC00000]]
    assert state.tolist() == [-1]


# --- Adagrad -------------------------------------------------------------------------------------


def test_adagrad_has_a_state_an_element():
    # s = [16 + 9, 0 + 16], denominators 5 + 1 and 4 + 1, steps 2 * 3 / 6 and 2 * -4 / 5.
    row, state = one_row("adagrad", [1, 1], [3, -4], [16, 0], rates(2, eps=1))
    assert state == [25, 16]
    assert row == [0, float(np.float32(2.6))]


@pytest.mark.parametrize(("lr", "g", "before"), [(1, 5, -16), (5, 1, 8)])
def test_adagrad_multiplies_before_it_divides(lr, g, before):
    # 5/3 is 13981013.33 / 2^23, so rounds down; fl(1/3) times 5, as above, rounds up.
    assert one_row("adagrad", [0], [g], [before], rates(lr)) == ([-13981013 / 2**23], [9])


# --- all of them ---------------------------------------------------------------------------------


def test_eps_is_outside_the_root():
    assert one_row("adagrad", [0], [0.5], [0], rates(1, eps=0.5)) == ([-0.5], [0.25])
    assert one_row("rowwise-adagrad", [0], [0.5], 0, rates(1, eps=0.5)) == ([-0.5], 0.25)


@pytest.mark.parametrize(
    ("optimizer", "state", "row", "new_state"),
    [
        ("sgd", None, [4 - 0.5 * 3, -2 - 0.5 * 1], None),
        ("rowwise-adagrad", 4.0, [3.5, -9087659 / 2**22], 9.0),
        ("adagrad", [0.0, 8.0], [3.5, -9087659 / 2**22], [9.0, 9.0]),
    ],
)
def test_weight_decay_is_part_of_the_gradient(optimizer, state, row, new_state):
    # g = [1, 2] + 0.5 * [4, -2] = [3, 1], whose mean of squares is 5. fl(0.5 / 3) is 11184811 /
    # 2^26: three times that rounds to 0.5, and -2 less that, -9087658.6875 / 2^22, away from zero.
    result = one_row(optimizer, [4, -2], [1, 2], state, rates(0.5, weight_decay=0.5))
    assert result[0] == row
    assert result[1] == new_state


def test_without_weight_decay_nothing_is_added():
    # 0 * w is NaN for an infinite w; and -0.0 + 0 * w would be +0.0.
    row, _ = one_row("sgd", [np.inf], [1], None, rates(1))
    assert row == [np.inf]
    table, _ = update("sgd", column(0x80000000), None, np.array([0]), column(0), rates(1))
    assert bits(table).tolist() == [[0x80000000]]


@pytest.mark.parametrize(
    ("optimizer", "state"),
    [("rowwise-adagrad", np.float32([1, 2, 0])), ("adagrad", column(0x3F800000, 0x40000000, 0))],
)
def test_adagrads_make_nans_canonical_where_they_compute_and_nowhere_else(optimizer, state):
    odd = np.array([0xFFC12345], np.uint32).view(np.float32)[0]
    state[0] = state[1] = odd
    weights = column(0xFFC12345, 0x3F800000, 0)
    table, moved = update(optimizer, weights, state, np.array([1, 2]), column(0, 0), rates(1))
    # Row 2 has neither a gradient nor eps: 0 / 0.
    assert bits(table).ravel().tolist() == [0xFFC12345, 0x7FC00000, 0x7FC00000]
    assert bits(moved).ravel().tolist() == [0xFFC12345, 0x7FC00000, 0]


def test_none_changes_nothing():
    odd_nan = column(0x7F800001)
    table, state = update("none", odd_nan, None, np.array([0]), column(0x3F800000), rates(1))
    assert bits(table).tolist() == [[0x7F800001]]
    assert state is None


@pytest.mark.parametrize("name", ["lr", "eps", "weight_decay"])
@pytest.mark.parametrize("value", [float("nan"), float("inf"), -1e-30, -1e-60, 3.5e38, 1e300])
def test_rates_that_are_negative_or_not_finite_are_refused(name, value):
    given = {"lr": 0.1, "eps": 0.1, "weight_decay": 0.1} | {name: value}
    message = f"{name} is {value}; it must be 0 or more, and finite in binary32"
    with pytest.raises(BatchError, match=f"^{re.escape(message)}$"):
        Rates.of(**given)


def test_rates_are_rounded_once():
    chosen = Rates.of(lr=0.1, eps=1e-60, weight_decay=3.4e38)
    assert chosen.lr == 13421773 / 2**27
    assert chosen.eps == 0
    assert chosen.weight_decay == np.float32(3.4e38)


def test_shapes_of_states():
    assert state_shape("adagrad", rows=6, dim=2) == (6, 2)
    assert state_shape("rowwise-adagrad", rows=6, dim=2) == (6,)
    assert state_shape("sgd", rows=6, dim=2) is state_shape("none", rows=6, dim=2) is None


@pytest.mark.parametrize(
    ("optimizer", "state", "message"),
    [
        ("adagrad", None, "state is missing; optimizer 'adagrad' has float32[6, 2]"),
        ("rowwise-adagrad", None, "state is missing; optimizer 'rowwise-adagrad' has float32[6]"),
        ("sgd", np.zeros(6, np.float32), "state is given, but optimizer 'sgd' has none"),
        ("none", np.zeros(6, np.float32), "state is given, but optimizer 'none' has none"),
        ("adagrad", np.zeros(6, np.float32), "state is float32[6]; it must be float32[6, 2]"),
        ("rowwise-adagrad", np.zeros(6), "state is float64[6]; it must be float32[6]"),
        (
            "rowwise-adagrad",
            np.zeros((6, 1), np.float32),
            "state is float32[6, 1]; it must be float32[6]",
        ),
    ],
)
def test_states_of_another_kind_are_refused(optimizer, state, message):
    with pytest.raises(BatchError, match=f"^{re.escape(message)}$"):
        check_state(optimizer, state, rows=6, dim=2)
