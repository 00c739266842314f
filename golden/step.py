# SPDX-FileCopyrightText: castbag contributors
# SPDX-License-Identifier: BSD-2-Clause

"""A training step of an embedding bag: forward, backward and update, or a part of these."""

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from .batch import Batch, BatchError, check_matrix
from .embedding import backward, forward, weights_gradient
from .optimizers import Optimizer, Rates, check_state, update
from .pooling import BagGradient, Mode, check_pooling

Op = Literal["step", "forward", "backward"]


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
    """The optimizer's state after the update, [N] or [N, D]; None if it has none."""
    per_sample_weights_grad: NDArray[np.float32] | None = None
    """[n], the gradient of the weights, where they are given; not of `forward`."""


def step(
    table: NDArray[np.float32],
    grad: NDArray[np.float32] | None,
    batch: Batch,
    *,
    op: Op = "step",
    mode: Mode = "sum",
    per_sample_weights: NDArray[np.float32] | None = None,
    optimizer: Optimizer = "sgd",
    lr: float | None = None,
    eps: float = 1e-8,
    weight_decay: float = 0.0,
    state: NDArray[np.float32] | None = None,
) -> StepResult:
    """Train `table` f32[N, D] on one batch, given the gradient f32[B, D] of its pooled vectors.

    `op` is the whole `step`, the `forward` pass alone (which needs neither `grad` nor what the
    optimizer takes), or `backward`: all but the forward pass, the update included. The forward pass
    and the gradients read the table as it was before the update. The inputs are not changed.

    `per_sample_weights` f32[n] go with mode `sum`. `lr`, `eps` and `weight_decay` are rounded to
    binary32 once. The Adagrads need a `state` (see `optimizers.state_shape`), zeros at first;
    optimizer `none` leaves the table as it is, and needs no `lr`.

    Raises `BatchError` for an array of the wrong shape or type, or that is missing or not wanted,
    and for a number that is not finite or negative; `ValueError` for an operation, mode or
    optimizer that does not exist.
    """
    if op not in ("step", "forward", "backward"):
        raise ValueError(f"op is {op!r}; it must be 'step', 'forward' or 'backward'")
    if optimizer not in ("sgd", "rowwise-adagrad", "adagrad", "none"):
        raise ValueError(
            f"optimizer is {optimizer!r}; it must be 'sgd', 'rowwise-adagrad', 'adagrad' or 'none'"
        )
    check_matrix("table", table, rows=batch.rows)
    check_pooling(batch, mode, per_sample_weights)
    if op == "forward":
        return StepResult(pooled=forward(table, batch, mode=mode, weights=per_sample_weights))

    dim = table.shape[1]
    if grad is None:
        raise BatchError(f"grad is missing; op {op!r} needs it")
    check_matrix("grad", grad, rows=batch.bags, dim=dim)
    if lr is None and optimizer != "none":
        raise BatchError(f"lr is missing; optimizer {optimizer!r} needs it")
    rates = Rates.of(lr=lr or 0.0, eps=eps, weight_decay=weight_decay)
    check_state(optimizer, state, rows=batch.rows, dim=dim)

    weights = per_sample_weights
    pooled = forward(table, batch, mode=mode, weights=weights) if op == "step" else None
    gradient = BagGradient.of(grad, batch, mode=mode, weights=weights, table=table)
    unique_rows, coalesced = backward(gradient, batch)
    updated, new_state = update(optimizer, table, state, unique_rows, coalesced, rates)
    return StepResult(
        pooled=pooled,
        unique_rows=unique_rows,
        coalesced=coalesced,
        table=updated,
        state=new_state,
        per_sample_weights_grad=None if weights is None else weights_gradient(table, grad, batch),
    )
