# SPDX-FileCopyrightText: castbag contributors
# SPDX-License-Identifier: BSD-2-Clause

"""Optimizers: the coalesced gradient applied to the rows that it touches.

Every operation is one binary32 operation, rounded, in the order written here. A touched row is
updated once, however many lookups it had; an untouched row keeps its bits, odd NaNs included.
"""

import numpy as np
from numpy.typing import NDArray

from .fp32 import canonical


def sgd(
    table: NDArray[np.float32],
    unique_rows: NDArray[np.int64],
    coalesced: NDArray[np.float32],
    *,
    lr: float,
) -> NDArray[np.float32]:
    """Plain gradient descent, `w - fl(lr * g)`: the table f32[N, D] after the update.

    `coalesced` f32[U, D] holds the gradients of the distinct rows `unique_rows` int64[U]. The
    learning rate is rounded to binary32 once. NaN results are canonical.
    """
    weights = table[unique_rows]
    with np.errstate(all="ignore"):
        weights -= np.float32(lr) * coalesced
    updated = table.copy()
    updated[unique_rows] = canonical(weights)
    return updated
