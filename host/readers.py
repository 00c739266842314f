# SPDX-FileCopyrightText: castbag contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Makers of traces: from text, from a log of events, from a distribution.

Words and identifiers become rows in order of first appearance: the first one is row 0. `Ids` keeps
which is which; it is written beside the trace as JSON (`trace.npz` has `trace.ids.json`).
"""

import csv
import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from .files import Refused
from .trace import Trace


@dataclass(frozen=True, kw_only=True)
class Ids:
    """What the numbers in a trace stand for."""

    rows: list[str]
    """Word or identifier of each row."""
    bags: list[str] = field(default_factory=list)
    """Name of each bag; empty where a bag has none."""

    def to_json(self) -> bytes:
        """UTF-8 JSON: `{"rows": […], "bags": […]}`."""
        text = json.dumps({"rows": self.rows, "bags": self.bags}, ensure_ascii=False, indent=0)
        return (text + "\n").encode("utf-8", "surrogatepass")


def ids_path(trace: Path) -> Path:
    """Where the mapping of the trace at `trace` is kept: its suffix becomes `.ids.json`."""
    return trace.with_suffix(".ids.json")


def from_bags(
    bags: Iterable[Sequence[str]], *, name: str, bag_names: list[str] | None = None
) -> tuple[Trace, Ids]:
    """The trace of bags of words, int64 as torch's, and its mapping."""
    rows: dict[str, int] = {}
    indices: list[int] = []
    offsets: list[int] = []
    for words in bags:
        offsets.append(len(indices))
        indices.extend(rows.setdefault(word, len(rows)) for word in words)
    trace = Trace(
        name=name,
        indices=np.array(indices, dtype=np.int64),
        offsets=np.array(offsets, dtype=np.int64),
    )
    return trace, Ids(rows=list(rows), bags=bag_names or [])


def from_text(paths: Sequence[Path]) -> tuple[Trace, Ids]:
    """A bag a line, a row a word; the files one after another, UTF-8.

    Words are what white space separates, as they are: case and punctuation count. An empty line is
    an empty bag. Raises `Refused` for a file that cannot be read.
    """
    return from_bags(_lines(paths), name=str(paths[0]))


def _lines(paths: Sequence[Path]) -> Iterable[list[str]]:
    for path in paths:
        try:
            with path.open(encoding="utf-8-sig") as file:
                for line in file:
                    yield line.split()
        except UnicodeDecodeError:
            raise Refused(f"{path}: is not UTF-8 text") from None
        except OSError as error:
            raise Refused(f"{path}: cannot be read: {error.strerror}") from None


def from_csv(path: Path, *, bag: str, item: str) -> tuple[Trace, Ids]:
    """A log of events, one a line under a line of column names, comma-separated, UTF-8.

    Events with the same value in column `bag` make a bag, wherever in the file they are; bags are
    in order of first appearance, the lookups of a bag in order of the file; the values of column
    `item` are the rows.

    Raises `Refused` for an unknown column, a line without a value for either, and a file that
    cannot be read.
    """
    bags: dict[str, list[str]] = {}
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            reader = csv.DictReader(file, strict=True)
            columns = list(reader.fieldnames or ())
            for column in (bag, item):
                if column not in columns:
                    there = ", ".join(columns) or "none: the file is empty"
                    raise Refused(f"{path}: column {column!r} is missing; there is {there}")
            for event in reader:
                for column in (bag, item):
                    if not event[column]:
                        line = reader.line_num
                        raise Refused(f"{path}: line {line} has no value for column {column!r}")
                bags.setdefault(event[bag], []).append(event[item])
    except UnicodeDecodeError:
        raise Refused(f"{path}: is not UTF-8 text") from None
    except csv.Error as error:
        raise Refused(f"{path}: is not comma-separated text ({error})") from None
    except OSError as error:
        raise Refused(f"{path}: cannot be read: {error.strerror}") from None
    return from_bags(bags.values(), name=str(path), bag_names=list(bags))


def synthetic(*, bags: int, pooling: int, rows: int, zipf: float, seed: int) -> Trace:
    """`bags` bags of `pooling` lookups each, drawn independently from `rows` rows.

    The k-th most popular row, k = 1 .. rows, has probability proportional to `k ** -zipf`: 0 is
    uniform, about 1 is natural text. This is the bounded Zipf distribution, drawn by inverting
    its cumulative distribution. Which row is the k-th most popular is a random permutation, so
    that popular rows do not lie next to each other. All from NumPy's `default_rng(seed)`: first
    the permutation, then the lookups.

    Raises `Refused` for lookups without rows, and a `zipf` that is negative or not finite.
    """
    if not 0 <= zipf < np.inf:
        raise Refused(f"--zipf is {zipf}; it must be 0 or more, and finite")
    if rows < 1 and bags * pooling > 0:
        raise Refused(f"--rows is {rows}; lookups need 1 row or more")
    rng = np.random.default_rng(seed)
    row_of_rank = rng.permutation(rows)
    with np.errstate(under="ignore"):  # the least popular of very skewed rows have probability 0
        cumulative = np.cumsum(np.arange(1, rows + 1, dtype=np.float64) ** -zipf)
    drawn = rng.random(bags * pooling) * (cumulative[-1] if rows else 0.0)
    # Rounding may lift a draw onto the sum itself: it belongs to the last row.
    rank = np.minimum(np.searchsorted(cumulative, drawn, side="right"), rows - 1)
    return Trace(
        name="synthetic",
        indices=row_of_rank[rank].astype(np.int64),
        offsets=np.arange(bags, dtype=np.int64) * pooling,
    )
