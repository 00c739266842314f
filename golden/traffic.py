# SPDX-FileCopyrightText: castbag contributors
# SPDX-License-Identifier: BSD-2-Clause

"""The bytes that each phase of each dataflow moves over the memory bus, exactly.

Bytes are bus beats times the bus width, in either direction: what a partial beat leaves unused is
counted too, since it costs the same. Every list and every row starts on a beat of its own.

With the beats of `k` bytes `beats(k) = ceil(k / bus_bytes)` and of a row `C = beats(4 D)`, for `n`
lookups of which `v` are valid, `B` bags of which `E` have a valid lookup, and `U` unique rows:

    phase      dataflow           reads                    writes
    forward    all                pairs + v C              B C
    cast       fused              pairs + P S              S + P S
               cast, exp.-coal.   pairs + P S + S          S + P S + beats(4 v) + beats(4 U)
    expand     exp.-coal.         pairs + E C              v C
    coalesce   exp.-coal.         beats(4 v) + v C         U C
    backward   cast               beats(4 v) + v C         U C
               fused              v C + U C + S            U C
    update     cast, exp.-coal.   beats(4 U) + U C + U C   U C

where `pairs = beats(n index_bytes) + beats((B + 1) offset_bytes)`, and S the beats of all runs that
the sort spills, P the passes that merge them in memory, see `Runs`; 0 both if all is sorted on
chip. The last merge streams on: in `fused` it feeds the backward pass, and its reads count there.
`terms` gives each summand with its reason, `phase_traffic` their sums.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Literal

import numpy as np

from .batch import Batch

Dataflow = Literal["fused", "cast", "expand-coalesce"]
Op = Literal["step", "forward", "backward"]

ELEMENT_BYTES = 4
"""A binary32 number."""
CAST_BYTES = 4
"""An entry of the cast table, or of the list of unique rows."""

PHASES: dict[Dataflow, tuple[str, ...]] = {
    "fused": ("forward", "cast", "backward"),
    "cast": ("forward", "cast", "backward", "update"),
    "expand-coalesce": ("forward", "cast", "expand", "coalesce", "update"),
}
"""The phases of a whole step, in order."""


@dataclass(frozen=True)
class Traffic:
    """The bytes of a phase."""

    bytes_read: int
    bytes_written: int


@dataclass(frozen=True)
class Term:
    """One stream of a phase: so many beats, in one direction, for one reason."""

    phase: str
    direction: Literal["read", "write"]
    client: str
    """Who moves it: the engine's read and write clients have these names."""
    beats: int
    reason: str


@dataclass(frozen=True, kw_only=True)
class Runs:
    """How a batch is sorted that is longer than what is sorted on chip.

    It is cut into runs of `run_length` pairs. The last one, which may be shorter, stays on chip;
    those before it are spilled to memory. While more than `merge_ways` of them are there, a
    pass merges every `merge_ways` into one, and so reads and writes all of them; then the last
    merge has the rest and the one on chip. Spilled runs are whole: nothing is rounded to beats.

    Raises `ValueError` for a run without pairs or bytes, and a merge of fewer than two.
    """

    run_length: int
    """Pairs of a run."""
    merge_ways: int
    """Runs that are merged at a time."""
    run_bytes: int
    """What a run takes of memory, a multiple of a beat."""

    def __post_init__(self):
        for name, least in (("run_length", 1), ("merge_ways", 2), ("run_bytes", 1)):
            value = getattr(self, name)
            if value < least:
                raise ValueError(f"{name} is {value}; it must be {least} or more")

    def spilled(self, pairs: int) -> int:
        """Runs of so many pairs that are spilled."""
        return max(pairs - 1, 0) // self.run_length

    def passes(self, pairs: int) -> int:
        """Times that all of them are read and written again, before the last merge."""
        passes, runs = 0, self.spilled(pairs)
        while runs > self.merge_ways:
            passes, runs = passes + 1, -(-runs // self.merge_ways)
        return passes


def phase_traffic(
    batch: Batch,
    *,
    dim: int,
    bus_bytes: int,
    index_bytes: int,
    offset_bytes: int,
    dataflow: Dataflow,
    op: Op = "step",
    runs: Runs | None = None,
) -> dict[str, Traffic]:
    """The traffic of every phase of `op` in `dataflow`, in phase order.

    A row has `dim` elements; an index takes `index_bytes` and an offset `offset_bytes` (4 or 8)
    of memory; the bus moves `bus_bytes`, a power of two, a beat. Operation `forward` has that
    phase alone, `backward` all but it. Without `runs` any batch is sorted on chip.

    Raises `ValueError` for a size or name that is none of these.
    """
    listed = terms(
        batch,
        dim=dim,
        bus_bytes=bus_bytes,
        index_bytes=index_bytes,
        offset_bytes=offset_bytes,
        dataflow=dataflow,
        op=op,
        runs=runs,
    )
    return sums(listed, phases(dataflow, op), bus_bytes)


def sums(listed: Iterable[Term], names: Iterable[str], bus_bytes: int) -> dict[str, Traffic]:
    """The traffic of the phases of these names, all to which a listed term belongs."""
    beats = {name: {"read": 0, "write": 0} for name in names}
    for term in listed:
        beats[term.phase][term.direction] += term.beats
    return {
        name: Traffic(
            bytes_read=moved["read"] * bus_bytes, bytes_written=moved["write"] * bus_bytes
        )
        for name, moved in beats.items()
    }


def phases(dataflow: Dataflow, op: Op) -> tuple[str, ...]:
    """The phases of `op` in `dataflow`, in order; `ValueError` for a name that is none of these."""
    if dataflow not in PHASES:
        raise ValueError(f"dataflow is {dataflow!r}; it must be one of {', '.join(PHASES)}")
    if op not in ("step", "forward", "backward"):
        raise ValueError(f"op is {op!r}; it must be 'step', 'forward' or 'backward'")
    return tuple(
        phase
        for phase in PHASES[dataflow]
        if op == "step" or (op == "forward") == (phase == "forward")
    )


def terms(
    batch: Batch,
    *,
    dim: int,
    bus_bytes: int,
    index_bytes: int,
    offset_bytes: int,
    dataflow: Dataflow,
    op: Op = "step",
    runs: Runs | None = None,
) -> Iterator[Term]:
    """The streams of `op` in `dataflow`, in phase order; arguments as `phase_traffic`."""
    mine = phases(dataflow, op)
    of_step = _step_terms(
        batch,
        dim=dim,
        bus_bytes=bus_bytes,
        index_bytes=index_bytes,
        offset_bytes=offset_bytes,
        dataflow=dataflow,
        runs=runs,
    )
    return (term for term in of_step if term.phase in mine)


def _step_terms(
    batch: Batch,
    *,
    dim: int,
    bus_bytes: int,
    index_bytes: int,
    offset_bytes: int,
    dataflow: Dataflow,
    runs: Runs | None,
) -> Iterator[Term]:
    if dim < 1:
        raise ValueError(f"dim is {dim}; a row has 1 element or more")
    if bus_bytes < 1 or bus_bytes & (bus_bytes - 1):
        raise ValueError(f"bus_bytes is {bus_bytes}; it must be a power of two")
    if index_bytes not in (4, 8):
        raise ValueError(f"index_bytes is {index_bytes}; it must be 4 or 8")
    if offset_bytes not in (4, 8):
        raise ValueError(f"offset_bytes is {offset_bytes}; it must be 4 or 8")
    if runs and runs.run_bytes % bus_bytes:
        raise ValueError(f"run_bytes is {runs.run_bytes}; it must be a multiple of {bus_bytes}")

    def beats(size: int) -> int:
        return -(-size // bus_bytes)

    row = beats(dim * ELEMENT_BYTES)
    valid = batch.lookups - batch.dropped
    filled_bags = np.unique(batch.bag_of[batch.valid]).size
    unique_rows = np.unique(batch.indices[batch.valid]).size

    indices = beats(batch.lookups * index_bytes)
    offsets = beats((batch.bags + 1) * offset_bytes)
    cast_table = beats(valid * CAST_BYTES)
    row_list = beats(unique_rows * CAST_BYTES)
    spilled = runs.spilled(valid) * beats(runs.run_bytes) if runs else 0
    merged = runs.passes(valid) * spilled if runs else 0

    yield Term("forward", "read", "entries", indices, "indices: dropped lookups are seen, too")
    yield Term("forward", "read", "offsets", offsets, "offsets: B + 1, the last one tells n")
    yield Term("forward", "read", "vectors", valid * row, "rows: one a valid lookup")
    yield Term(
        "forward", "write", "vectors", batch.bags * row, "pooled vectors: one a bag, empty or not"
    )

    yield Term("cast", "read", "cast_entries", indices, "indices again: to be sorted")
    yield Term("cast", "read", "cast_offsets", offsets, "offsets again: the pairs' bags")
    yield Term("cast", "write", "runs", spilled, "sorted runs, all but the last one")
    yield Term("cast", "read", "runs", merged, "runs to be merged, in each pass")
    yield Term("cast", "write", "runs", merged, "merged runs, of each pass")
    last_merge = "backward" if dataflow == "fused" else "cast"
    yield Term(last_merge, "read", "runs", spilled, "runs for the last merge")
    if dataflow != "fused":  # fused sends the cast straight on to its consumer
        yield Term(
            "cast", "write", "cast_table", cast_table, "cast table: one entry a valid lookup"
        )
        yield Term("cast", "write", "unique_rows", row_list, "unique rows, for the update")

    if dataflow == "fused":
        yield Term(
            "backward", "read", "vectors", valid * row, "gradients: one a valid lookup, by row"
        )
        yield Term("backward", "read", "rows", unique_rows * row, "rows to update: each once")
        yield Term("backward", "write", "vectors", unique_rows * row, "updated rows: each once")
        return

    if dataflow == "cast":
        yield Term("backward", "read", "entries", cast_table, "cast table")
        yield Term(
            "backward", "read", "vectors", valid * row, "gradients: one a valid lookup, by row"
        )
        yield Term("backward", "write", "vectors", unique_rows * row, "coalesced gradient")
    else:
        yield Term("expand", "read", "entries", indices, "indices again: which lookups are valid")
        yield Term(
            "expand", "read", "offsets", offsets, "offsets again: how often to copy each gradient"
        )
        yield Term(
            "expand",
            "read",
            "vectors",
            filled_bags * row,
            "gradients: once a bag with a valid lookup",
        )
        yield Term(
            "expand", "write", "vectors", valid * row, "expanded gradients: a copy a valid lookup"
        )
        yield Term("coalesce", "read", "entries", cast_table, "cast table: the order by row")
        yield Term("coalesce", "read", "vectors", valid * row, "expanded gradients, in that order")
        yield Term("coalesce", "write", "vectors", unique_rows * row, "coalesced gradient")

    yield Term("update", "read", "entries", row_list, "unique rows")
    yield Term("update", "read", "vectors", unique_rows * row, "coalesced gradient")
    yield Term("update", "read", "rows", unique_rows * row, "rows to update")
    yield Term("update", "write", "vectors", unique_rows * row, "updated rows")
