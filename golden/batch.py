# SPDX-FileCopyrightText: castbag contributors
# SPDX-License-Identifier: BSD-2-Clause

"""A batch of bags: which rows are looked up, and which bag each lookup belongs to.

`indices` and `offsets` are those of `torch.nn.functional.embedding_bag`: bag `b` holds the lookups
`offsets[b] <= i < offsets[b + 1]`, and lookup `i` reads row `indices[i]` of the table.

    indices  2  5 | 2  0        n = 4 lookups
    offsets  0      2      4    B = 2 bags; inside, always B + 1 entries
    bag_of   0  0   1  1

A batch that is not well formed is refused with a `BatchError`, never repaired.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

Bounds = Literal["error", "ignore"]


class BatchError(ValueError):
    """Bad input. The message is one line: what is wrong, where, and what would be right."""


@dataclass(frozen=True, eq=False)
class Batch:
    """`n` lookups in `B` bags over a table of `N` rows. Make one with `Batch.of`, which checks it.

    A lookup is *valid* if its row lies in the table and is not the padding row. An invalid lookup
    is dropped everywhere: it adds to no bag, has no gradient, and its row is neither read nor
    written. An empty bag, `B = 0` and `n = 0` are all legal.
    """

    indices: NDArray[np.int64]
    """[n], the row of each lookup."""
    offsets: NDArray[np.int64]
    """[B + 1], where each bag starts; the last entry is n."""
    rows: int
    """N, the rows of the table."""
    padding_idx: int | None
    """A row in [0, N) whose lookups are dropped, or None."""
    bounds: Bounds
    """Whether an index outside [0, N) is refused (`error`) or its lookup dropped (`ignore`)."""

    @classmethod
    def of(
        cls,
        indices: ArrayLike,
        offsets: ArrayLike,
        *,
        rows: int,
        padding_idx: int | None = None,
        bounds: Bounds = "error",
        include_last_offset: bool = False,
    ) -> "Batch":
        """A checked batch, from int32 or int64 `indices` [n] and `offsets`.

        `offsets` has B entries, or B + 1 with `include_last_offset`; it starts at 0, never falls
        and ends at n. `padding_idx` lies in [0, N): unlike torch's, it does not count from the end.

        Raises `BatchError` at the first thing that is wrong.
        """
        indices = _integers("indices", indices)
        offsets = _integers("offsets", offsets)
        if rows < 0:
            raise BatchError(f"rows is {rows}; a table has 0 rows or more")
        if bounds not in ("error", "ignore"):
            raise BatchError(f"bounds is {bounds!r}; it must be 'error' or 'ignore'")
        if padding_idx is not None and not 0 <= padding_idx < rows:
            raise BatchError(f"padding_idx is {padding_idx}; a row must lie in [0, {rows})")
        if not include_last_offset:
            offsets = np.append(offsets, indices.size)
        _check_offsets(offsets, lookups=indices.size)
        if bounds == "error":
            outside = np.flatnonzero((indices < 0) | (indices >= rows))
            if outside.size:
                position = outside[0]
                raise BatchError(
                    f"indices[{position}] is {indices[position]}; a row must lie in [0, {rows})"
                )
        # Derived values are computed once, so what they derive from must not change.
        indices.setflags(write=False)
        offsets.setflags(write=False)
        return cls(indices, offsets, rows, padding_idx, bounds)

    @property
    def lookups(self) -> int:
        """n, the lookups, dropped ones included."""
        return self.indices.size

    @property
    def bags(self) -> int:
        """B, the bags, empty ones included."""
        return self.offsets.size - 1

    @cached_property
    def bag_of(self) -> NDArray[np.int64]:
        """[n], the bag of each lookup."""
        return np.repeat(np.arange(self.bags), np.diff(self.offsets))

    @cached_property
    def valid(self) -> NDArray[np.bool_]:
        """[n], whether each lookup's row is in the table and is not the padding row."""
        inside = (self.indices >= 0) & (self.indices < self.rows)
        return inside if self.padding_idx is None else inside & (self.indices != self.padding_idx)

    @cached_property
    def counts(self) -> NDArray[np.int64]:
        """[B], the valid lookups of each bag."""
        return np.bincount(self.bag_of[self.valid], minlength=self.bags)

    @property
    def dropped(self) -> int:
        """The lookups that are not valid, whether out of bounds or padding."""
        return self.lookups - int(np.count_nonzero(self.valid))


def check_matrix(name: str, matrix: np.ndarray, *, rows: int, dim: int | None = None) -> None:
    """Refuse, by its `name`, a `matrix` that is not float32[rows, dim]; any dim >= 1 if None."""
    if matrix.dtype == np.float32 and matrix.ndim == 2:
        height, width = matrix.shape
        if height == rows and (width >= 1 if dim is None else width == dim):
            return
    width = "D >= 1" if dim is None else dim
    raise BatchError(f"{name} is {_kind(matrix)}; it must be float32[{rows}, {width}]")


def check_array(name: str, array: np.ndarray, *, shape: tuple[int, ...]) -> None:
    """Refuse, by its `name`, an `array` that is not float32 of this shape."""
    if array.dtype != np.float32 or array.shape != shape:
        expected = ", ".join(map(str, shape))
        raise BatchError(f"{name} is {_kind(array)}; it must be float32[{expected}]")


def _kind(array: np.ndarray) -> str:
    """An array's type and shape, as messages name them: float32[6, 2]."""
    return f"{array.dtype}[{', '.join(map(str, array.shape))}]"


def _integers(name: str, values: ArrayLike) -> NDArray[np.int64]:
    """A copy of `values` as int64[k]; int32 is sign-extended, and any other type refused."""
    array = np.asarray(values)
    if array.size == 0 and not isinstance(values, np.ndarray):
        array = array.astype(np.int64)  # NumPy takes a bare [] for floats
    if array.dtype not in (np.int32, np.int64):
        raise BatchError(f"{name} are {array.dtype}; they must be int32 or int64")
    if array.ndim != 1:
        raise BatchError(f"{name} have {array.ndim} dimensions; they must have 1")
    return array.astype(np.int64)


def _check_offsets(offsets: NDArray[np.int64], *, lookups: int) -> None:
    """Refuse `offsets` [B + 1] that do not start at 0, that fall, or that do not end at n."""
    if offsets.size == 0:
        raise BatchError("offsets are empty; with include_last_offset there are B + 1 of them")
    if offsets.size == 1:
        if offsets[0] or lookups:
            raise BatchError(
                f"offsets make 0 bags and end at {offsets[0]}, for {lookups} lookups;"
                " without bags both must be 0"
            )
        return

    def refuse(bag: int, rule: str) -> BatchError:
        start, end = offsets[bag : bag + 2]
        return BatchError(f"bag {bag} has offsets {start} to {end}; {rule}")

    if offsets[0] != 0:
        raise refuse(0, "the first bag must start at 0")
    falls = np.flatnonzero(offsets[1:] < offsets[:-1])
    if falls.size:
        raise refuse(int(falls[0]), "offsets must never fall")
    if offsets[-1] != lookups:
        raise refuse(offsets.size - 2, f"the last bag must end at n = {lookups}")
