# SPDX-FileCopyrightText: castbag contributors
# SPDX-License-Identifier: BSD-2-Clause

"""The modes of a bag: what it makes of its rows, and what a lookup gets of the bag's gradient.

For bag b, over its valid lookups i alone; count is how many there are:

    mode            pooled[b]                                share of lookup i in grad[b]
    sum             sum of table[row(i)]                     grad[b]
    sum, weighted   sum of fl(weight(i) * table[row(i)])     fl(weight(i) * grad[b])
    mean            fl(sum of table[row(i)] * fl(1/count))   fl(grad[b] * fl(1/count))
    max             the largest table[row(i)], by column     grad[b] where i wins, else +0.0

The gradient of a row is the sum of its lookups' shares (`embedding`, `casting`).

A lookup that wins no column adds +0.0. A sum that starts at +0.0 never becomes -0.0 when it rounds
to nearest, and +0.0 changes no other number: adding it is the same, bit for bit, as adding nothing.
"""

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from .batch import Batch, BatchError, check_array, check_matrix
from .fp32 import max_segments, scale

Mode = Literal["sum", "mean", "max"]


def check_pooling(batch: Batch, mode: Mode, weights: NDArray[np.float32] | None) -> None:
    """Refuse a mode that does not exist, and weights that are not f32[n] or not of mode `sum`."""
    if mode not in ("sum", "mean", "max"):
        raise ValueError(f"mode is {mode!r}; it must be 'sum', 'mean' or 'max'")
    if weights is None:
        return
    if mode != "sum":
        raise BatchError(f"per_sample_weights are given in mode {mode!r}; they go with 'sum' alone")
    check_array("per_sample_weights", weights, shape=(batch.lookups,))


def inverse_counts(batch: Batch) -> NDArray[np.float32]:
    """fl(1/count) for each bag, f32[B]; 1.0 for an empty one, which has nothing to divide.

    A count of more than 2^24 lookups is rounded to binary32 first.
    """
    return np.float32(1) / np.maximum(batch.counts, 1).astype(np.float32)


def winners(table: NDArray[np.float32], batch: Batch) -> NDArray[np.int64]:
    """For each bag and column, the position of the lookup that has the maximum: int64[B, D].

    -1 in an empty bag. See `fp32.max_segments` for ties and NaNs.
    """
    position = np.flatnonzero(batch.valid)
    _, winner = max_segments(table[batch.indices[position]], batch.bag_of[position], batch.bags)
    return np.append(position, -1)[winner]  # -1 picks the -1 at the end


@dataclass(frozen=True, eq=False)
class BagGradient:
    """What the backward pass gathers from: the share of a lookup in the gradient of its bag.

    `BagGradient(grad)` is that of the plain sum. Make it with `BagGradient.of` in other modes.
    """

    grad: NDArray[np.float32]
    """[B, D], the gradient of the pooled vectors; in mode `mean` times fl(1/count) already."""
    weights: NDArray[np.float32] | None = None
    """[n], the factor of each lookup, if the sum is weighted."""
    winners: NDArray[np.int64] | None = None
    """[B, D], the lookup that gets the gradient of each bag and column, in mode `max`."""

    @classmethod
    def of(
        cls,
        grad: NDArray[np.float32],
        batch: Batch,
        *,
        mode: Mode = "sum",
        weights: NDArray[np.float32] | None = None,
        table: NDArray[np.float32] | None = None,
    ) -> "BagGradient":
        """From the gradient f32[B, D] of the pooled vectors; mode `max` needs the table f32[N, D].

        The gradient of a mean is scaled once a bag, not once a lookup.
        """
        check_pooling(batch, mode, weights)
        check_matrix("grad", grad, rows=batch.bags)
        if mode == "mean":
            return cls(scale(grad, inverse_counts(batch)))
        if mode == "max":
            if table is None:
                raise BatchError("table is missing; in mode 'max' the gradient depends on it")
            check_matrix("table", table, rows=batch.rows, dim=grad.shape[1])
            return cls(grad, winners=winners(table, batch))
        return cls(grad, weights=weights)

    def gather(self, bag: NDArray[np.int64], position: NDArray[np.int64]) -> NDArray[np.float32]:
        """The shares f32[k, D] of k lookups, from their bags int64[k] and positions int64[k]."""
        vectors = self.grad[bag]
        if self.weights is not None:
            return scale(vectors, self.weights[position])
        if self.winners is not None:
            return np.where(self.winners[bag] == position[:, None], vectors, np.float32(0))
        return vectors
