# SPDX-FileCopyrightText: castbag contributors
# SPDX-License-Identifier: BSD-2-Clause

"""The plain meaning of an embedding bag in sum mode: forward, and backward by expand and coalesce.

    forward   pooled[b]    = sum of table[row] over the valid lookups of bag b
    backward  coalesced[u] = sum of grad[bag]  over the valid lookups of row unique_rows[u]

Both sums start at +0.0 and add in lookup order (see `fp32.sum_segments`). This is the definition;
`casting` reaches the same bits on the paper's way.
"""

import numpy as np
from numpy.typing import NDArray

from .batch import Batch, check_matrix
from .fp32 import sum_segments


def forward(table: NDArray[np.float32], batch: Batch) -> NDArray[np.float32]:
    """The pooled vectors f32[B, D] of `table` f32[N, D]; a bag without valid lookups is +0.0."""
    check_matrix("table", table, rows=batch.rows)
    valid = batch.valid
    return sum_segments(table[batch.indices[valid]], batch.bag_of[valid], batch.bags)


def expand(
    grad: NDArray[np.float32], batch: Batch
) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
    """A copy of its bag's gradient for each of the v valid lookups, in lookup order.

    Takes the gradient of the pooled vectors, `grad` f32[B, D]. Returns the lookups' rows int64[v]
    and the copies f32[v, D].
    """
    check_matrix("grad", grad, rows=batch.bags)
    valid = batch.valid
    return batch.indices[valid], grad[batch.bag_of[valid]]


def coalesce(
    rows: NDArray[np.int64], expanded: NDArray[np.float32]
) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
    """The sum of the copies of equal rows, in the order in which they are given.

    Takes the output of `expand`. Returns the distinct rows int64[U], ascending, and their gradients
    f32[U, D].
    """
    unique_rows, segment = np.unique(rows, return_inverse=True)
    return unique_rows, sum_segments(expanded, segment, unique_rows.size)


def backward(
    grad: NDArray[np.float32], batch: Batch
) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
    """The coalesced gradient of the table: its rows int64[U], ascending, and values f32[U, D]."""
    return coalesce(*expand(grad, batch))
