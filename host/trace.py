# SPDX-FileCopyrightText: castbag contributors
# SPDX-License-Identifier: BSD-2-Clause
"""TRACE.npz: the indices and offsets of a batch, and optionally its table and gradient.

    key                  type          shape            meaning
    indices              int32, int64  [n]              row of each lookup
    offsets              int32, int64  [B] or [B + 1]   where each bag starts
    include_last_offset  bool          []               whether offsets has the last entry, n
    table                float32       [N, D]           optional: the weights
    grad                 float32       [B, D]           optional: gradient of the pooled bags
    per_sample_weights   float32       [n]              optional
    state                float32       by optimizer     optional

They are those of `torch.nn.functional.embedding_bag`. The integers' widths are kept: they decide
the width of the lists in the engine's memory. What a file must be to be read at all is checked
here; what a batch must be, in `castbag.golden.batch`; what this engine can run, in `workload`.
"""

import tokenize
import zipfile
import zlib
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from .files import Refused, npz

KEYS = (
    "indices",
    "offsets",
    "include_last_offset",
    "table",
    "grad",
    "per_sample_weights",
    "state",
)

UNREADABLE = (
    OSError,
    EOFError,
    ValueError,
    SyntaxError,
    MemoryError,
    NotImplementedError,
    tokenize.TokenError,
    zipfile.BadZipFile,
    zlib.error,
)
"""What NumPy may raise on a file that is no npz file, or a damaged one."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Trace:
    """The contents of a trace file; types and dimensions are right, values are not yet checked."""

    name: str
    """Where it came from: error messages start with it."""
    indices: NDArray
    offsets: NDArray
    include_last_offset: bool = False
    table: NDArray[np.float32] | None = None
    grad: NDArray[np.float32] | None = None
    per_sample_weights: NDArray[np.float32] | None = None
    state: NDArray[np.float32] | None = None
    unused: tuple[str, ...] = ()
    """Keys of the file that mean nothing here."""

    @property
    def lookups(self) -> int:
        """n, the lookups."""
        return self.indices.size

    @property
    def bags(self) -> int:
        """B, the bags."""
        return self.offsets.size - self.include_last_offset


def load_trace(path: Path) -> Trace:
    """The trace in the file at `path`.

    Raises `Refused` for a file that cannot be read or is no npz file, a missing key, and an array
    of the wrong type or number of dimensions.
    """
    arrays = _read(path)
    for key in ("indices", "offsets"):
        if key not in arrays:
            there = ", ".join(arrays) or "no key"
            raise Refused(f"{path}: key {key!r} is missing; there is {there}")
        _check(path, key, arrays[key], types=("int32", "int64"), dimensions=1)
    for key, dimensions in {"table": 2, "grad": 2, "per_sample_weights": 1}.items():
        if key in arrays:
            _check(path, key, arrays[key], types=("float32",), dimensions=dimensions)
    flag = arrays.get("include_last_offset", np.array(False))
    if flag.dtype != np.bool_ or flag.size != 1:
        shape = list(flag.shape)
        raise Refused(f"{path}: include_last_offset is {flag.dtype}{shape}; it must be one bool")
    return Trace(
        name=str(path),
        indices=arrays["indices"],
        offsets=arrays["offsets"],
        include_last_offset=bool(flag.reshape(())),
        table=arrays.get("table"),
        grad=arrays.get("grad"),
        per_sample_weights=arrays.get("per_sample_weights"),
        state=arrays.get("state"),
        unused=tuple(key for key in arrays if key not in KEYS),
    )


def trace_bytes(trace: Trace) -> bytes:
    """The bytes of the file that `load_trace` reads back as `trace`."""
    values = {key: getattr(trace, key) for key in KEYS if key != "include_last_offset"}
    arrays = {key: value for key, value in values.items() if value is not None}
    if trace.include_last_offset:
        arrays["include_last_offset"] = np.array(True)
    return npz(arrays)


def _read(path: Path) -> dict[str, np.ndarray]:
    try:
        # Opened here: NumPy leaves the file open when it turns out to be no zip archive.
        with path.open("rb") as file:
            opened = np.load(file, allow_pickle=False)
            if not isinstance(opened, np.lib.npyio.NpzFile):
                raise Refused(f"{path}: is one bare array; it must be an npz file")
            with opened:
                arrays = {key: opened[key] for key in opened.files}
    except Refused:
        raise
    except OSError as error:
        raise Refused(f"{path}: cannot be read: {error.strerror or error}") from None
    except UNREADABLE as error:
        # NumPy's advice is to allow pickles, which run code: not here.
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise Refused(f"{path}: is not a readable npz file of plain arrays ({reason})") from None
    for key, array in arrays.items():
        if not isinstance(array, np.ndarray):  # NumPy hands out any other member's bytes
            raise Refused(f"{path}: {key} is not an array in NumPy's format")
    return arrays


def _check(
    path: Path, key: str, array: np.ndarray, *, types: tuple[str, ...], dimensions: int
) -> None:
    if array.dtype not in [np.dtype(name) for name in types] or array.ndim != dimensions:
        right = f"{' or '.join(types)} in {dimensions} dimension{'s' * (dimensions > 1)}"
        raise Refused(f"{path}: {key} is {array.dtype}{list(array.shape)}; it must be {right}")
