# SPDX-FileCopyrightText: castbag contributors
# SPDX-License-Identifier: BSD-2-Clause

"""Optimizers: the coalesced gradient applied to the rows that it touches.

Every operation is one binary32 operation, rounded, in the order written here. For a row w of the
table, its coalesced gradient g and its state s:

    weight decay       g = g + decay * w                     (skipped if decay is 0)

    sgd                w = w - lr * g
    rowwise-adagrad    s = s + mean(g * g)                   s one number a row
                       m = lr / (sqrt(s) + eps)
                       w = w - m * g
    adagrad            s = s + g * g                         s one number an element
                       w = w - (lr * g) / (sqrt(s) + eps)
    none               w and s as they were

The mean sums columns as a tree (`fp32.sum_columns`) and divides by D. Adagrad's order is that of
PyTorch (`torch.optim.Adagrad` on the CPU), and row-wise Adagrad is that of FBGEMM, but for weight
decay, which FBGEMM takes out of w with a product of its own.

A touched row is updated once, however many lookups it had; an untouched row and its state keep
their bits, odd NaNs included.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from .batch import BatchError, check_array
from .fp32 import canonical, sum_columns

Optimizer = Literal["sgd", "rowwise-adagrad", "adagrad", "none"]
Numbers: TypeAlias = NDArray[np.float32]


@dataclass(frozen=True, kw_only=True)
class Rates:
    """The numbers that the user chooses, in binary32. `Rates.of` rounds and checks them."""

    lr: np.float32
    """The learning rate."""
    eps: np.float32 = np.float32(0)
    """Added to the root of an Adagrad's state."""
    weight_decay: np.float32 = np.float32(0)
    """The factor of a row that is added to its gradient (L2)."""

    @classmethod
    def of(cls, *, lr: float, eps: float, weight_decay: float) -> "Rates":
        """Each rounded once; `BatchError` for one that is not finite, or negative."""
        given = {"lr": lr, "eps": eps, "weight_decay": weight_decay}
        with np.errstate(over="ignore"):
            rounded = {name: np.float32(value) for name, value in given.items()}
        for name, value in given.items():
            if not (np.isfinite(rounded[name]) and value >= 0):
                raise BatchError(f"{name} is {value}; it must be 0 or more, and finite in binary32")
        return cls(**rounded)


def state_shape(optimizer: Optimizer, *, rows: int, dim: int) -> tuple[int, ...] | None:
    """The shape of the optimizer's state for a table f32[rows, dim], or None if it has none."""
    return {"rowwise-adagrad": (rows,), "adagrad": (rows, dim)}.get(optimizer)


def check_state(optimizer: Optimizer, state: Numbers | None, *, rows: int, dim: int) -> None:
    """Refuse a state that is missing, is of another shape or type, or that nobody asked for."""
    shape = state_shape(optimizer, rows=rows, dim=dim)
    if state is None:
        if shape is not None:
            sizes = ", ".join(map(str, shape))
            raise BatchError(f"state is missing; optimizer {optimizer!r} has float32[{sizes}]")
    elif shape is None:
        raise BatchError(f"state is given, but optimizer {optimizer!r} has none")
    else:
        check_array("state", state, shape=shape)


# One rule a kind. It changes w f32[U, D] and s, copies of the touched rows and of their state; s is
# f32[U], f32[U, D], or f32[U, 0] where the kind has none.


def _sgd(w: Numbers, g: Numbers, s: Numbers, rates: Rates) -> None:
    w -= rates.lr * g


def _rowwise_adagrad(w: Numbers, g: Numbers, s: Numbers, rates: Rates) -> None:
    s += sum_columns(g * g) / np.float32(g.shape[1])
    m = rates.lr / (np.sqrt(s) + rates.eps)
    w -= m[:, None] * g


def _adagrad(w: Numbers, g: Numbers, s: Numbers, rates: Rates) -> None:
    s += g * g
    w -= (rates.lr * g) / (np.sqrt(s) + rates.eps)


RULES: dict[Optimizer, Callable[[Numbers, Numbers, Numbers, Rates], None]] = {
    "sgd": _sgd,
    "rowwise-adagrad": _rowwise_adagrad,
    "adagrad": _adagrad,
}


def update(
    optimizer: Optimizer,
    table: Numbers,
    state: Numbers | None,
    unique_rows: NDArray[np.int64],
    coalesced: Numbers,
    rates: Rates,
) -> tuple[Numbers, Numbers | None]:
    """The table f32[N, D] and the state after the update; the inputs are not changed.

    `coalesced` f32[U, D] holds the gradients of the distinct rows `unique_rows` int64[U]. The state
    has the shape `state_shape`; it is None where the optimizer has none. NaN results are canonical.
    """
    updated, moved = table.copy(), None if state is None else state.copy()
    if optimizer == "none":
        return updated, moved
    w, g = table[unique_rows], coalesced.copy()
    s = np.empty((unique_rows.size, 0), np.float32) if state is None else state[unique_rows]
    with np.errstate(all="ignore"):
        if rates.weight_decay != 0:
            g += rates.weight_decay * w
        RULES[optimizer](w, g, s, rates)
    updated[unique_rows] = canonical(w)
    if moved is not None:
        moved[unique_rows] = canonical(s)
    return updated, moved


def sgd(
    table: Numbers, unique_rows: NDArray[np.int64], coalesced: Numbers, *, lr: float
) -> Numbers:
    """The table f32[N, D] after `update` by `sgd` alone.

    The learning rate is rounded once and may be any number: the arithmetic honours it.
    """
    with np.errstate(over="ignore"):
        rates = Rates(lr=np.float32(lr))
    updated, _ = update("sgd", table, None, unique_rows, coalesced, rates)
    return updated
