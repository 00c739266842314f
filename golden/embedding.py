# SPDX-FileCopyrightText: castbag contributors
# SPDX-License-Identifier: BSD-2-Clause

"""The plain meaning of an embedding bag: forward, and backward by expand and coalesce.

    forward   pooled[b]    = table[row] pooled over the valid lookups of bag b
    backward  coalesced[u] = sum of the shares of the valid lookups of row unique_rows[u]

What pooling is in each mode, and a lookup's share in its bag's gradient: see `pooling`. All sums
along lookups start at +0.0 and add in lookup order (see `fp32.sum_segments`). This is the
definition; `casting` reaches the same bits on the paper's way.
"""

import numpy as np
from numpy.typing import NDArray

from .batch import Batch, check_matrix
from .fp32 import max_segments, scale, sum_columns, sum_segments
from .pooling import BagGradient, Mode, check_pooling, inverse_counts


def forward(
    table: NDArray[np.float32],
    batch: Batch,
    *,
    mode: Mode = "sum",
    weights: NDArray[np.float32] | None = None,
) -> NDArray[np.float32]:
    """The pooled vectors f32[B, D] of `table` f32[N, D]; a bag without valid lookups is +0.0.

    In mode `sum` each lookup may have a weight, f32[n].
    """
    check_matrix("table", table, rows=batch.rows)
    check_pooling(batch, mode, weights)
    valid = batch.valid
    vectors, bags = table[batch.indices[valid]], batch.bag_of[valid]
    if mode == "max":
        maxima, _ = max_segments(vectors, bags, batch.bags)
        return maxima
    if weights is not None:
        vectors = scale(vectors, weights[valid])
    sums = sum_segments(vectors, bags, batch.bags)
    return scale(sums, inverse_counts(batch)) if mode == "mean" else sums


def expand(gradient: BagGradient, batch: Batch) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
    """The share of each of the v valid lookups in its bag's gradient, in lookup order.

    Returns the lookups' rows int64[v] and the shares f32[v, D]: in mode `sum` plain copies.
    """
    position = np.flatnonzero(batch.valid)
    return batch.indices[position], gradient.gather(batch.bag_of[position], position)


def coalesce(
    rows: NDArray[np.int64], expanded: NDArray[np.float32]
) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
    """The sum of the shares of equal rows, in the order in which they are given.

    Takes the output of `expand`. Returns the distinct rows int64[U], ascending, and their gradients
    f32[U, D].
    """
    unique_rows, segment = np.unique(rows, return_inverse=True)
    return unique_rows, sum_segments(expanded, segment, unique_rows.size)


def backward(gradient: BagGradient, batch: Batch) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
    """The coalesced gradient of the table: its rows int64[U], ascending, and values f32[U, D].

    The rows are those of all valid lookups, also of one that wins no column of its bag's maximum.
    """
    return coalesce(*expand(gradient, batch))


def weights_gradient(
    table: NDArray[np.float32], grad: NDArray[np.float32], batch: Batch
) -> NDArray[np.float32]:
    """The gradient f32[n] of the per-sample weights: grad[bag] times table[row], over the columns.

    Each product is rounded, then they are added as a tree (`fp32.sum_columns`). The gradient of a
    lookup that is not valid is +0.0.
    """
    check_matrix("grad", grad, rows=batch.bags)
    check_matrix("table", table, rows=batch.rows, dim=grad.shape[1])
    valid = batch.valid
    gradient = np.zeros(batch.lookups, dtype=np.float32)
    with np.errstate(all="ignore"):
        products = grad[batch.bag_of[valid]] * table[batch.indices[valid]]
    gradient[valid] = sum_columns(products)
    return gradient
