# SPDX-FileCopyrightText: castbag contributors
# SPDX-License-Identifier: BSD-2-Clause

"""Properties that hold bit for bit, for any batch and any bit patterns.

The reference is written twice over: its loops are plain Python, and so is its arithmetic, which
computes with exact fractions and rounds once. It shares nothing with the model, NumPy's float32
least of all.
"""

from fractions import Fraction

import hypothesis.extra.numpy as hnp
import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from castbag.golden.batch import Batch
from castbag.golden.casting import cast, casted_gather_reduce
from castbag.golden.embedding import backward, forward
from castbag.golden.fp32 import bits, canonical, sum_segments
from castbag.golden.step import step

# --- binary32 on bit patterns, in exact arithmetic -------------------------------------------

SIGN, INFINITY, NAN = 1 << 31, 0x7F800000, 0x7FC00000


def is_nan(pattern):
    return pattern & ~SIGN > INFINITY


def is_infinite(pattern):
    return pattern & ~SIGN == INFINITY


def exact(pattern):
    """The value of a finite pattern."""
    exponent, fraction = pattern >> 23 & 0xFF, pattern & 0x7FFFFF
    significand = fraction | (exponent > 0) << 23
    magnitude = significand * Fraction(2) ** (max(exponent, 1) - 150)
    return -magnitude if pattern & SIGN else magnitude


def rounded(value, zero):
    """The pattern nearest to `value`, ties to even; that of a zero is `zero`."""
    if value == 0:
        return zero
    sign, magnitude = (SIGN if value < 0 else 0), abs(value)
    exponent = magnitude.numerator.bit_length() - magnitude.denominator.bit_length()
    if magnitude < Fraction(2) ** exponent:
        exponent -= 1
    exponent = max(exponent, -126)
    # `round` takes ties to even. A carry out of the significand moves on into the exponent.
    pattern = (exponent + 126 << 23) + round(magnitude / Fraction(2) ** (exponent - 23))
    return sign | min(pattern, INFINITY)


def add(a, b):
    if is_nan(a) or is_nan(b) or (is_infinite(a) and is_infinite(b) and a != b):
        return NAN
    if is_infinite(a) or is_infinite(b):
        return a if is_infinite(a) else b
    return rounded(exact(a) + exact(b), zero=a & b & SIGN)


def multiply(a, b):
    sign = (a ^ b) & SIGN
    if is_nan(a) or is_nan(b):
        return NAN
    if is_infinite(a) or is_infinite(b):
        return NAN if 0 in (a & ~SIGN, b & ~SIGN) else sign | INFINITY
    return rounded(exact(a) * exact(b), zero=sign)


# --- the training step, one lookup at a time ---------------------------------------------------


def reference_step(table, grad, batch, rate):
    """Patterns of pooled, coalesced by row, and table, from lists of patterns."""
    dim = len(table[0])
    pooled = [[0] * dim for _ in grad]
    coalesced = {}
    for bag in range(len(grad)):
        for position in range(batch.offsets[bag], batch.offsets[bag + 1]):
            row = int(batch.indices[position])
            if not 0 <= row < batch.rows or row == batch.padding_idx:
                continue
            pooled[bag] = list(map(add, pooled[bag], table[row]))
            coalesced[row] = list(map(add, coalesced.get(row, [0] * dim), grad[bag]))
    updated = [
        [add(w, multiply(rate, g) ^ SIGN) for w, g in zip(weights, coalesced[row], strict=True)]
        if row in coalesced
        else weights
        for row, weights in enumerate(table)
    ]
    return pooled, coalesced, updated


# --- any batch, any patterns ---------------------------------------------------------------------

SPECIAL = [0, 1, 0x7FFFFF, 0x800000, 0x3F800000, 0x4B800000, 0x7F7FFFFF, INFINITY, NAN, 0x7F800001]
PATTERNS = st.one_of(
    st.sampled_from([pattern | sign for pattern in SPECIAL for sign in (0, SIGN)]),
    st.integers(0x3F000000, 0x41FFFFFF),  # of like exponents, so that sums round
    st.integers(SIGN | 0x3F000000, SIGN | 0x41FFFFFF),
    st.integers(0, 0x01FFFFFF),  # subnormal, and not quite
    st.integers(SIGN, SIGN | 0x01FFFFFF),
    st.integers(0, 2**32 - 1),
)
DIMS = st.sampled_from([1, 2, 3, 4, 17])


def matrices(rows, dim):
    return hnp.arrays(np.uint32, (rows, dim), elements=PATTERNS).map(lambda a: a.view(np.float32))


@st.composite
def batches(draw):
    """Few rows, so that they tie; empty bags, padding and rows out of bounds."""
    rows = draw(st.integers(1, 6))
    padding_idx = draw(st.none() | st.integers(0, rows - 1))
    bounds = draw(st.sampled_from(["error", "ignore"]))
    margin = 3 if bounds == "ignore" else 0
    bags = draw(st.lists(st.lists(st.integers(-margin, rows - 1 + margin), max_size=6), max_size=5))
    dtype = draw(st.sampled_from([np.int32, np.int64]))
    lengths = [len(bag) for bag in bags]
    return Batch.of(
        np.array(sum(bags, []), dtype),
        np.cumsum([0, *lengths]).astype(dtype),
        rows=rows,
        padding_idx=padding_idx,
        bounds=bounds,
        include_last_offset=True,
    )


@st.composite
def problems(draw):
    """A batch, a table and a gradient."""
    batch, dim = draw(batches()), draw(DIMS)
    return batch, draw(matrices(batch.rows, dim)), draw(matrices(batch.bags, dim))


# --- properties ----------------------------------------------------------------------------------


def test_reference_arithmetic_knows_the_standard():
    one, ulp, half = 0x3F800000, 0x34000000, 0x33800000  # 1, 2^-23, 2^-24
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


@given(a=PATTERNS, b=PATTERNS)
@settings(deadline=None, max_examples=500)
def test_numpy_rounds_as_the_reference(a, b):
    x, y = np.array([[a], [b]], np.uint32).view(np.float32)
    with np.errstate(all="ignore"):
        assert bits(canonical(x + y)).tolist() == [add(a, b)]
        assert bits(canonical(x * y)).tolist() == [multiply(a, b)]


@given(problem=problems(), rate=PATTERNS)
@settings(deadline=None)
def test_step_equals_the_reference(problem, rate):
    batch, table, grad = problem
    lr = float(np.uint32(rate).view(np.float32))
    result = step(table, grad, batch, lr=lr)
    pooled, coalesced, updated = reference_step(
        bits(table).tolist(), bits(grad).tolist(), batch, rate
    )
    assert bits(result.pooled).tolist() == pooled
    assert dict(zip(result.unique_rows.tolist(), bits(result.coalesced).tolist(), strict=True)) == (
        coalesced
    )
    assert bits(result.table).tolist() == updated


@given(problem=problems())
@settings(deadline=None, max_examples=300)
def test_casting_equals_expand_and_coalesce(problem):
    batch, _, grad = problem
    casted = cast(batch)
    unique_rows, coalesced = backward(grad, batch)
    assert casted.unique_rows.tolist() == unique_rows.tolist()
    assert bits(casted_gather_reduce(grad, casted)).tolist() == bits(coalesced).tolist()


def test_casting_equals_expand_and_coalesce_at_length():
    rng = np.random.default_rng(2010_13100)
    lookups, bags, rows, dim = 20_000, 500, 1000, 17
    batch = Batch.of(
        rng.zipf(1.2, lookups) % (rows + 50),
        np.sort(rng.integers(0, lookups, bags)) * (np.arange(bags) > 0),
        rows=rows,
        padding_idx=2,
        bounds="ignore",
    )
    grad = rng.standard_normal((bags, dim), dtype=np.float32)
    casted = cast(batch)
    unique_rows, coalesced = backward(grad, batch)
    assert batch.dropped > 0
    assert casted.unique_rows.tolist() == unique_rows.tolist()
    assert np.array_equal(bits(casted_gather_reduce(grad, casted)), bits(coalesced))


@given(batch=batches())
@settings(deadline=None)
def test_a_cast_is_sorted_and_complete(batch):
    casted = cast(batch)
    pairs = zip(casted.unique_rows[casted.dst].tolist(), casted.src.tolist(), strict=True)
    bag_of = batch.bag_of.tolist()
    valid = [
        (row, bag_of[position])
        for position, row in enumerate(batch.indices.tolist())
        if 0 <= row < batch.rows and row != batch.padding_idx
    ]
    assert list(pairs) == sorted(valid)  # bags rise with position, so this is the stable order


@given(problem=problems())
@settings(deadline=None)
def test_duplicates_are_coalesced_once_a_row(problem):
    """With whole numbers every order gives one sum: a row's lookups in each bag, times its grad."""
    batch, table, grad = problem
    grad = (bits(grad) % 64).astype(np.float32)
    table = np.zeros_like(table)
    times = np.zeros((batch.rows, batch.bags), np.int64)
    np.add.at(times, (batch.indices[batch.valid], batch.bag_of[batch.valid]), 1)
    result = step(table, grad, batch, op="backward", lr=1.0)
    assert result.unique_rows.tolist() == np.flatnonzero(times.any(axis=1)).tolist()
    assert result.table.tolist() == (-(times @ grad.astype(np.int64))).tolist()


@given(problem=problems())
@settings(deadline=None)
def test_untouched_rows_keep_their_bits(problem):
    batch, table, grad = problem
    result = step(table, grad, batch, lr=0.1)
    untouched = np.setdiff1d(np.arange(batch.rows), batch.indices[batch.valid])
    assert bits(result.table[untouched]).tolist() == bits(table[untouched]).tolist()


@given(problem=problems())
@settings(deadline=None)
def test_dropping_a_lookup_equals_leaving_it_out(problem):
    batch, table, grad = problem
    kept = Batch.of(
        batch.indices[batch.valid],
        np.searchsorted(batch.bag_of[batch.valid], np.arange(batch.bags)),
        rows=batch.rows,
    )
    assert kept.dropped == 0
    assert bits(forward(table, batch)).tolist() == bits(forward(table, kept)).tolist()
    assert bits(backward(grad, batch)[1]).tolist() == bits(backward(grad, kept)[1]).tolist()


@given(data=st.data(), dim=DIMS, segment=st.lists(st.integers(0, 4), max_size=12))
@settings(deadline=None)
def test_segments_sum_in_order_of_appearance(data, dim, segment):
    vectors = data.draw(matrices(len(segment), dim))
    sums = [[0] * dim for _ in range(5)]
    for vector, index in zip(bits(vectors).tolist(), segment, strict=True):
        sums[index] = list(map(add, sums[index], vector))
    assert bits(sum_segments(vectors, np.array(segment, np.int64), 5)).tolist() == sums
