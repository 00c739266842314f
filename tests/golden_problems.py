# SPDX-FileCopyrightText: castbag contributors
# SPDX-License-Identifier: BSD-2-Clause

"""Hypothesis strategies: any batch in any mode, any bit patterns, any optimizer."""

from dataclasses import dataclass
from typing import Any

import hypothesis.extra.numpy as hnp
import numpy as np
from hypothesis import strategies as st

from castbag.golden.batch import Batch
from tests.exact import INFINITY, NAN, SIGN

SPECIAL = [0, 1, 0x7FFFFF, 0x800000, 0x3F800000, 0x4B800000, 0x7F7FFFFF, INFINITY, NAN, 0x7F800001]
PATTERNS = st.one_of(
    st.sampled_from([pattern | sign for pattern in SPECIAL for sign in (0, SIGN)]),
    st.integers(0x3F000000, 0x41FFFFFF),  # of like exponents, so that sums round
    st.integers(SIGN | 0x3F000000, SIGN | 0x41FFFFFF),
    st.integers(0, 0x01FFFFFF),  # subnormal, and not quite
    st.integers(SIGN, SIGN | 0x01FFFFFF),
    st.integers(0, 2**32 - 1),
)
RATES = st.one_of(
    st.just(0),
    st.integers(0x33000000, 0x40000000),  # about 3e-8 to 2
    st.integers(0, INFINITY - 1),
)
DIMS = st.sampled_from([1, 2, 3, 4, 17])
OPTIMIZERS = ["sgd", "rowwise-adagrad", "adagrad", "none"]


@dataclass(frozen=True, eq=False)
class Problem:
    """What a step takes, but for the optimizer."""

    batch: Batch
    table: Any
    grad: Any
    mode: Any
    weights: Any

    @property
    def dim(self):
        return self.table.shape[1]


def arrays(shape):
    return hnp.arrays(np.uint32, shape, elements=PATTERNS).map(lambda a: a.view(np.float32))


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
def problems(draw, modes=("sum", "weighted", "mean", "max")):
    """A batch, a table and a gradient, in any of these modes."""
    batch, dim, mode = draw(batches()), draw(DIMS), draw(st.sampled_from(modes))
    return Problem(
        batch=batch,
        table=draw(arrays((batch.rows, dim))),
        grad=draw(arrays((batch.bags, dim))),
        mode="sum" if mode == "weighted" else mode,
        weights=draw(arrays(batch.lookups)) if mode == "weighted" else None,
    )


def states(optimizer, problem):
    """Any state of that optimizer, or None if it has none."""
    rows, dim = problem.table.shape
    shapes = {"rowwise-adagrad": (rows,), "adagrad": (rows, dim)}
    return arrays(shapes[optimizer]) if optimizer in shapes else st.none()
