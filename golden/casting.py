# SPDX-FileCopyrightText: castbag contributors
# SPDX-License-Identifier: BSD-2-Clause

"""Tensor Casting: the coalesced gradient as a gather-reduce over the gradient table.

The usual backward pass writes one gradient copy a lookup, sorts the copies by row and sums the
equal ones. Kwon, Lee and Rhu ("Tensor Casting: Co-Designing Algorithm-Architecture for Personalized
Recommendation Training", HPCA 2021, arXiv 2010.13100) sort the (row, bag) pairs instead, which are
a few bytes each. The sorted pairs are the indices of a gather-reduce, just like the forward pass:

    pairs, in lookup order      row  2 5 2 0    bag  0 0 1 1
    sorted by row, stably       row  0 2 2 5    bag  1 0 1 0
    row boundaries                   1 1 0 1
    casted source               src  1 0 1 0    the sorted pairs' bags
    casted destination          dst  0 1 1 2    the running count of boundaries, less one
    unique rows                      0 2   5    the rows at the boundaries

Gather `grad` by `src`, reduce by `dst`: `[grad[1], grad[0] + grad[1], grad[0]]`, for rows 0, 2, 5.

Where a lookup's share of its bag's gradient is not all of it (weights, max), the pair also carries
its position in the batch through the sort, here 3 0 2 1: it names the weight, or is compared with
the winner of each column.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .batch import Batch
from .fp32 import sum_segments
from .pooling import BagGradient


@dataclass(frozen=True, eq=False)
class Cast:
    """The cast of a batch: v valid pairs, sorted by row, those of a row in lookup order."""

    src: NDArray[np.int64]
    """[v], the casted source: which bag's gradient to gather."""
    dst: NDArray[np.int64]
    """[v], the casted destination: which coalesced gradient to add it to. Never falls."""
    unique_rows: NDArray[np.int64]
    """[U], the row of each coalesced gradient. Strictly ascending."""
    position: NDArray[np.int64]
    """[v], the lookup that each sorted pair comes from. Ascending inside a row."""


def cast(batch: Batch) -> Cast:
    """The cast of `batch`: one sentence for each step of the hardware."""
    position = np.flatnonzero(batch.valid)  # the valid pairs
    row, bag = batch.indices[position], batch.bag_of[position]
    order = np.argsort(row, kind="stable")  # sort them by row
    row, bag, position = row[order], bag[order], position[order]
    boundary = row != np.append(-1, row)[:-1]  # mark each that differs from the one before
    dst = np.cumsum(boundary) - 1  # count the marks
    return Cast(src=bag, dst=dst, unique_rows=row[boundary], position=position)


def casted_gather_reduce(gradient: BagGradient, cast: Cast) -> NDArray[np.float32]:
    """The coalesced gradient f32[U, D]: gather `gradient` by `src`, reduce by `dst`."""
    gathered = gradient.gather(cast.src, cast.position)
    return sum_segments(gathered, cast.dst, cast.unique_rows.size)
