# SPDX-FileCopyrightText: castbag contributors
# SPDX-License-Identifier: BSD-2-Clause

"""A training step of an embedding bag: forward, backward and update, or a part of these."""

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from .batch import Batch, BatchError, check_matrix
from .embedding import backward, forward
from .optimizers import sgd

Op = Literal["step", "forward", "backward"]
Optimizer = Literal["sgd"]


@dataclass(frozen=True, eq=False, kw_only=True)
class StepResult:
    """What a step leaves behind. A part that the operation does not compute is None."""

    pooled: NDArray[np.float32] | None = None
    """[B, D], the forward pass; not of `backward`."""
    unique_rows: NDArray[np.int64] | None = None
    """[U], the rows touched, ascending; not of `forward`."""
    coalesced: NDArray[np.float32] | None = None
    """[U, D], their gradients; not of `forward`."""
    table: NDArray[np.float32] | None = None
    """[N, D], the table after the update; not of `forward`."""
    state: NDArray[np.float32] | None = None
    """The optimizer's state after the update; SGD has none."""


def step(
    table: NDArray[np.float32],
    grad: NDArray[np.float32] | None,
    batch: Batch,
    *,
    op: Op = "step",
    optimizer: Optimizer = "sgd",
    lr: float,
) -> StepResult:
    """Train `table` f32[N, D] on one batch, given the gradient f32[B, D] of its pooled vectors.

    `op` is the whole `step`, the `forward` pass alone (which needs no `grad`), or `backward`: all
    but the forward pass, the update included. The forward pass reads the table as it was before
    the update. The inputs are not changed.

    Raises `BatchError` for a table or gradient of the wrong shape or type, and `ValueError` for an
    operation or optimizer that does not exist.
    """
    if op not in ("step", "forward", "backward"):
        raise ValueError(f"op is {op!r}; it must be 'step', 'forward' or 'backward'")
    if optimizer != "sgd":
        raise ValueError(f"optimizer is {optimizer!r}; it must be 'sgd'")
    check_matrix("table", table, rows=batch.rows)
    if op == "forward":
        return StepResult(pooled=forward(table, batch))

    if grad is None:
        raise BatchError(f"grad is missing; op {op!r} needs it")
    check_matrix("grad", grad, rows=batch.bags, dim=table.shape[1])
    unique_rows, coalesced = backward(grad, batch)
    return StepResult(
        pooled=forward(table, batch) if op == "step" else None,
        unique_rows=unique_rows,
        coalesced=coalesced,
        table=sgd(table, unique_rows, coalesced, lr=lr),
    )
