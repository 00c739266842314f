# SPDX-FileCopyrightText: castbag contributors
# SPDX-License-Identifier: BSD-2-Clause

"""Properties that hold bit for bit, for any batch in any mode and any bit patterns.

The reference is written twice over: its loops are plain Python (`exact_step`), and so is its
arithmetic (`exact`), which computes with exact fractions and rounds once.
"""

from functools import reduce

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from castbag.golden.batch import Batch
from castbag.golden.casting import cast, casted_gather_reduce
from castbag.golden.embedding import backward, coalesce, expand
from castbag.golden.fp32 import bits
from castbag.golden.pooling import BagGradient
from castbag.golden.step import step
from tests.exact import add
from tests.exact_step import exact_step
from tests.golden_problems import OPTIMIZERS, RATES, batches, problems, states


def number(pattern):
    return float(np.uint32(pattern).view(np.float32))


def patterns(array):
    return None if array is None else bits(array).tolist()


def bag_gradient(problem):
    return BagGradient.of(
        problem.grad,
        problem.batch,
        mode=problem.mode,
        weights=problem.weights,
        table=problem.table,
    )


# --- the step ------------------------------------------------------------------------------------


@pytest.mark.parametrize("optimizer", OPTIMIZERS)
@given(data=st.data(), problem=problems(), rates=st.tuples(RATES, RATES, RATES))
@settings(deadline=None)
def test_step_equals_the_reference(optimizer, data, problem, rates):
    state = data.draw(states(optimizer, problem))
    lr, eps, decay = map(number, rates)
    result = step(
        problem.table,
        problem.grad,
        problem.batch,
        mode=problem.mode,
        per_sample_weights=problem.weights,
        optimizer=optimizer,
        lr=lr,
        eps=eps,
        weight_decay=decay,
        state=state,
    )
    pooled, coalesced, table, new_state, weights_grad = exact_step(
        patterns(problem.table),
        patterns(problem.grad),
        problem.batch,
        problem.mode,
        patterns(problem.weights),
        optimizer,
        rates,
        patterns(state),
    )
    assert patterns(result.pooled) == pooled
    assert dict(zip(result.unique_rows.tolist(), patterns(result.coalesced), strict=True)) == (
        coalesced
    )
    assert patterns(result.table) == table
    assert patterns(result.state) == new_state
    assert patterns(result.per_sample_weights_grad) == weights_grad


@pytest.mark.parametrize("optimizer", OPTIMIZERS)
@given(data=st.data(), problem=problems())
@settings(deadline=None, max_examples=30)
def test_untouched_rows_and_their_state_keep_their_bits(optimizer, data, problem):
    batch, table, state = problem.batch, problem.table, data.draw(states(optimizer, problem))
    before = table.copy(), None if state is None else state.copy()
    result = step(
        table,
        problem.grad,
        batch,
        mode=problem.mode,
        optimizer=optimizer,
        lr=0.1,
        weight_decay=0.01,
        state=state,
    )
    touched = batch.indices[batch.valid] if optimizer != "none" else []
    untouched = np.setdiff1d(np.arange(batch.rows), touched)
    assert patterns(result.table[untouched]) == patterns(table[untouched])
    if state is not None:
        assert patterns(result.state[untouched]) == patterns(state[untouched])
    assert (patterns(table), patterns(state)) == (patterns(before[0]), patterns(before[1]))


@given(problem=problems(modes=["sum"]))
@settings(deadline=None)
def test_duplicates_are_coalesced_once_a_row(problem):
    """With whole numbers every order gives one sum: a row's lookups in each bag, times its grad."""
    batch = problem.batch
    grad = (bits(problem.grad) % 64).astype(np.float32)
    table = np.zeros_like(problem.table)
    times = np.zeros((batch.rows, batch.bags), np.int64)
    np.add.at(times, (batch.indices[batch.valid], batch.bag_of[batch.valid]), 1)
    result = step(table, grad, batch, op="backward", lr=1.0)
    assert result.unique_rows.tolist() == np.flatnonzero(times.any(axis=1)).tolist()
    assert result.table.tolist() == (-(times @ grad.astype(np.int64))).tolist()


@given(problem=problems())
@settings(deadline=None)
def test_dropping_a_lookup_equals_leaving_it_out(problem):
    batch, mode, weights = problem.batch, problem.mode, problem.weights
    kept = Batch.of(
        batch.indices[batch.valid],
        np.searchsorted(batch.bag_of[batch.valid], np.arange(batch.bags)),
        rows=batch.rows,
    )
    kept_weights = None if weights is None else weights[batch.valid]
    assert kept.dropped == 0
    whole = step(
        problem.table,
        problem.grad,
        batch,
        mode=mode,
        per_sample_weights=weights,
        optimizer="none",
    )
    part = step(
        problem.table,
        problem.grad,
        kept,
        mode=mode,
        per_sample_weights=kept_weights,
        optimizer="none",
    )
    assert patterns(whole.pooled) == patterns(part.pooled)
    assert patterns(whole.coalesced) == patterns(part.coalesced)
    if weights is not None:
        gradient = np.zeros_like(weights)
        gradient[batch.valid] = part.per_sample_weights_grad
        assert patterns(whole.per_sample_weights_grad) == patterns(gradient)


# --- the two ways to the coalesced gradient ------------------------------------------------------


@given(problem=problems())
@settings(deadline=None, max_examples=400)
def test_casting_equals_expand_and_coalesce(problem):
    gradient, casted = bag_gradient(problem), cast(problem.batch)
    unique_rows, coalesced = backward(gradient, problem.batch)
    assert casted.unique_rows.tolist() == unique_rows.tolist()
    assert patterns(casted_gather_reduce(gradient, casted)) == patterns(coalesced)


@pytest.mark.parametrize("mode", ["sum", "weighted", "mean", "max"])
def test_casting_equals_expand_and_coalesce_at_length(mode):
    rng = np.random.default_rng(2010_13100)
    lookups, bags, rows, dim = 20_000, 500, 1000, 17
    batch = Batch.of(
        rng.zipf(1.2, lookups) % (rows + 50),
        np.sort(rng.integers(0, lookups, bags)) * (np.arange(bags) > 0),
        rows=rows,
        padding_idx=2,
        bounds="ignore",
    )
    gradient = BagGradient.of(
        rng.standard_normal((bags, dim), dtype=np.float32),
        batch,
        mode="sum" if mode == "weighted" else mode,
        weights=rng.standard_normal(lookups, dtype=np.float32) if mode == "weighted" else None,
        table=rng.integers(-9, 9, (rows, dim)).astype(np.float32),  # few values, so that they tie
    )
    casted = cast(batch)
    unique_rows, coalesced = backward(gradient, batch)
    assert batch.dropped > 0
    assert casted.unique_rows.tolist() == unique_rows.tolist()
    assert np.array_equal(bits(casted_gather_reduce(gradient, casted)), bits(coalesced))


@given(batch=batches())
@settings(deadline=None)
def test_a_cast_is_sorted_and_complete(batch):
    casted = cast(batch)
    triples = zip(
        casted.unique_rows[casted.dst].tolist(),
        casted.src.tolist(),
        casted.position.tolist(),
        strict=True,
    )
    bag_of = batch.bag_of.tolist()
    valid = [
        (row, bag_of[position], position)
        for position, row in enumerate(batch.indices.tolist())
        if 0 <= row < batch.rows and row != batch.padding_idx
    ]
    assert list(triples) == sorted(valid)  # bags rise with position, so this is the stable order


@given(problem=problems(modes=["max"]))
@settings(deadline=None, max_examples=300)
def test_a_lookup_that_wins_no_column_may_as_well_add_nothing(problem):
    gradient, batch = bag_gradient(problem), problem.batch
    rows, shares = expand(gradient, batch)
    unique_rows, coalesced = coalesce(rows, shares)
    won = gradient.winners[batch.bag_of[batch.valid]] == np.flatnonzero(batch.valid)[:, None]
    for row, sums in zip(unique_rows, patterns(coalesced), strict=True):
        for column, total in enumerate(sums):
            winning = shares[(rows == row) & won[:, column], column]
            assert total == reduce(add, patterns(winning), 0)
