# SPDX-FileCopyrightText: castbag contributors
# SPDX-License-Identifier: BSD-2-Clause
"""A workload: a trace, a preset and the user's options, checked and complete.

All that a batch must respect is checked here, before the first memory access, and before anything
large is made: the preset's limits, the batch itself (`castbag.golden.batch`), the shapes of table
and gradient, and that everything fits the address space (`buffers`). What the trace lacks is drawn.
"""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from castbag.golden.batch import Batch, BatchError, Bounds, check_matrix
from castbag.golden.step import Op, StepResult, step
from castbag.golden.traffic import Dataflow, Runs, Term, Traffic, phases, sums, terms
from castbag.rtl.config import EngineConfig

from .buffers import Layout
from .files import Refused
from .trace import Trace

DEFAULT_DIM = 64
"""Elements of a row where neither the trace nor the user says."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Workload:
    """One training step, or part of one, that the engine of `config` can run. See `prepare`."""

    config: EngineConfig
    preset: str
    """Name of `config`."""
    op: Op
    batch: Batch
    dim: int
    index_bytes: int
    """Of an index in memory: 4 or 8, as in the trace."""
    offset_bytes: int
    """Of an offset in memory: 4 or 8, as in the trace."""
    table: NDArray[np.float32]
    """[N, D], before the update."""
    grad: NDArray[np.float32] | None
    """[B, D]; None for op `forward`."""
    lr: np.float32
    layout: Layout
    """Where all of it lies in memory."""
    drawn: tuple[str, ...]
    """What the trace did not have: `table`, `grad`."""

    @cached_property
    def expected(self) -> StepResult:
        """The golden model's result, the same in each dataflow."""
        return step(self.table, self.grad, self.batch, op=self.op, lr=float(self.lr))

    @cached_property
    def unique_rows(self) -> int:
        """U, the distinct rows of the valid lookups."""
        return np.unique(self.batch.indices[self.batch.valid]).size

    def terms(self, dataflow: Dataflow) -> list[Term]:
        """The streams of the operation, by the golden formula."""
        if dataflow not in self._terms:  # they are asked for often, and look through the batch
            listed = terms(
                self.batch,
                dim=self.dim,
                bus_bytes=self.config.bus_bytes,
                index_bytes=self.index_bytes,
                offset_bytes=self.offset_bytes,
                dataflow=dataflow,
                op=self.op,
                runs=Runs(
                    run_length=self.config.run_length,
                    merge_ways=self.config.merge_ways,
                    run_bytes=self.config.packing.run_bytes,
                ),
            )
            self._terms[dataflow] = list(listed)
        return self._terms[dataflow]

    @cached_property
    def _terms(self) -> dict[Dataflow, list[Term]]:
        return {}

    def traffic(self, dataflow: Dataflow) -> dict[str, Traffic]:
        """The bytes of each phase, by the golden formula."""
        return sums(self.terms(dataflow), phases(dataflow, self.op), self.config.bus_bytes)

    def client_beats(self, dataflow: Dataflow) -> dict[tuple[str, str], int]:
        """The beats of each (direction, client), by the golden formula."""
        beats: dict[tuple[str, str], int] = {}
        for term in self.terms(dataflow):
            key = term.direction, term.client
            beats[key] = beats.get(key, 0) + term.beats
        return beats

    def least_cycles(self, dataflows: Sequence[Dataflow]) -> int:
        """Cycles that the bus alone needs: in each phase, the beats of its busier direction."""
        return sum(
            max(phase.bytes_read, phase.bytes_written) // self.config.bus_bytes
            for dataflow in dataflows
            for phase in self.traffic(dataflow).values()
        )


def prepare(
    trace: Trace,
    *,
    config: EngineConfig,
    preset: str,
    dataflows: Sequence[Dataflow],
    op: Op = "step",
    rows: int | None = None,
    dim: int | None = None,
    seed: int = 0,
    padding_idx: int | None = None,
    bounds: Bounds = "error",
    lr: float = 0.01,
) -> Workload:
    """The checked workload of `trace` on an engine of `config`, for each of `dataflows`.

    Without a table, `rows` is the largest index and one more (at least 1). Without a table, `dim`
    is the gradient's, else 64. An absent table, then an absent gradient (unless `op` is `forward`),
    are float32 standard normals of one `np.random.default_rng(seed)`.

    Raises `Refused` with one line that starts with the trace's name.
    """
    try:
        rate = _supported(trace, lr)
        rows, dim = _sizes(trace, rows, dim)
        _check_limits(trace, rows, dim, config, preset)
        batch = Batch.of(
            trace.indices,
            trace.offsets,
            rows=rows,
            padding_idx=padding_idx,
            bounds=bounds,
            include_last_offset=trace.include_last_offset,
        )
        if trace.table is not None:
            check_matrix("table", trace.table, rows=rows, dim=dim)
        if trace.grad is not None:
            check_matrix("grad", trace.grad, rows=batch.bags, dim=dim)
        widths = {
            "index_bytes": trace.indices.dtype.itemsize,
            "offset_bytes": trace.offsets.dtype.itemsize,
        }
        layout = Layout.of(
            config,
            lookups=batch.lookups,
            bags=batch.bags,
            rows=rows,
            dim=dim,
            op=op,
            dataflows=dataflows,
            **widths,
        )
        _check_memory(layout)
    except (BatchError, Refused) as error:
        raise Refused(f"{trace.name}: {error}") from None

    rng, drawn = np.random.default_rng(seed), []
    table, grad = trace.table, trace.grad
    if table is None:
        table = rng.standard_normal((rows, dim), dtype=np.float32)
        drawn.append("table")
    if grad is None and op != "forward":
        grad = rng.standard_normal((batch.bags, dim), dtype=np.float32)
        drawn.append("grad")
    return Workload(
        config=config,
        preset=preset,
        op=op,
        batch=batch,
        dim=dim,
        table=table,
        grad=None if op == "forward" else grad,
        lr=rate,
        layout=layout,
        drawn=tuple(drawn),
        **widths,
    )


def _supported(trace: Trace, lr: float) -> np.float32:
    """Refuse what is not built yet, and an impossible learning rate; returns it as binary32."""
    if trace.per_sample_weights is not None:
        raise Refused("per_sample_weights are not built yet; leave them out")
    if trace.state is not None:
        raise Refused("state is given, but sgd, the one optimizer built yet, has none")
    with np.errstate(over="ignore"):
        rate = np.float32(lr)
    if not (lr >= 0 and np.isfinite(rate)):
        raise Refused(f"--lr is {lr}; it must be 0 or more, and finite in binary32")
    return rate


def _sizes(trace: Trace, rows: int | None, dim: int | None) -> tuple[int, int]:
    """N and D, from what the user says, else from the trace, else by default."""
    if trace.table is not None:
        height, width = trace.table.shape
        if width < 1:
            raise Refused(f"table is float32[{height}, 0]; a row has 1 element or more")
        if rows not in (None, height):
            raise Refused(f"--rows is {rows}, but the table has {height}")
        if dim not in (None, width):
            raise Refused(f"--dim is {dim}, but the table has {width}")
        return height, width
    fewest = max(int(trace.indices.max(initial=-1)) + 1, 1)
    usual = DEFAULT_DIM if trace.grad is None else max(trace.grad.shape[1], 1)
    return fewest if rows is None else rows, usual if dim is None else dim


def _check_limits(trace: Trace, rows: int, dim: int, config: EngineConfig, preset: str) -> None:
    for what, value, most in (
        ("n, the number of lookups,", trace.lookups, config.max_lookups),
        ("B, the number of bags,", trace.bags, 1 << config.bag_bits),
        ("N, the number of rows,", rows, 1 << config.index_bits),
        ("D, the elements of a row,", dim, config.max_dim),
    ):
        if value > most:
            raise Refused(f"{what} is {value}; preset {preset} has {most} at most")


def _check_memory(layout: Layout) -> None:
    """Refuse what this machine cannot simulate, rather than be killed on the way."""
    there = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    if layout.memory_bytes > there:
        needed, there = f"{layout.memory_bytes / 2**30:.0f} GiB", f"{there / 2**30:.0f}"
        raise Refused(
            f"the batch needs {needed} of simulated memory and this machine has {there};"
            " a smaller --rows or --dim needs less"
        )
