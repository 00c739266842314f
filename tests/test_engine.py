# SPDX-FileCopyrightText: castbag contributors
# SPDX-License-Identifier: BSD-2-Clause
"""The engine against the golden model, on a memory that is not ours, on both simulators.

`StepRun.faults` is empty only if every output is the golden model's to the bit, no byte beside
them changed, and every counter is the formula's.
"""

import dataclasses

import numpy as np
import pytest

from castbag.host.step import run_step
from castbag.host.trace import Trace
from castbag.host.workload import prepare
from castbag.rtl.config import preset
from castbag.sim.model import SIMULATORS
from tests.axi_device import AxiDevice

DATAFLOWS = ("expand-coalesce", "cast", "fused")
TINY = preset("tiny")


def trace_of(lengths, rows, *, skew, seed, wide=False):
    """A batch with bags of these lengths; the higher `skew`, the fewer rows get all lookups."""
    rng = np.random.default_rng(seed)
    indices = np.floor(rows * rng.random(sum(lengths)) ** (1 + skew))
    kind = np.int64 if wide else np.int32
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    return Trace(
        name="batch",
        indices=indices.astype(kind),
        offsets=offsets.astype(kind),
        include_last_offset=True,
    )


def check(trace, folder, *, dim, simulator, stall="never", config=TINY, **options):
    """Run all three dataflows of a step and find nothing wrong."""
    work = prepare(trace, config=config, preset="tiny", dataflows=DATAFLOWS, dim=dim, **options)
    device = AxiDevice(
        config,
        simulator=simulator,
        folder=folder,
        memory_bytes=work.layout.memory_bytes,
        stall=stall,
    )
    for run in run_step(device, work, DATAFLOWS):
        assert run.faults == ()


@pytest.mark.parametrize("simulator", SIMULATORS)
@pytest.mark.parametrize("dim", [1, 3, 16, 17, 64])
def test_any_dim(dim, simulator, tmp_path):
    lengths = [3, 1, 0, 5, 2, 0, 4]
    trace = trace_of(lengths, 9, skew=1, seed=dim)
    check(trace, tmp_path, dim=dim, simulator=simulator, rows=9)


@pytest.mark.parametrize("simulator", SIMULATORS)
@pytest.mark.parametrize("lengths", [[], [0], [0, 0, 0], [1], [2, 1], [7]])
def test_smallest_batches(lengths, simulator, tmp_path):
    trace = trace_of(lengths, 5, skew=0, seed=len(lengths))
    check(trace, tmp_path, dim=5, simulator=simulator, rows=5)


@pytest.mark.parametrize("stall", ["half", "mostly", "bursts"])
@pytest.mark.parametrize("simulator", SIMULATORS)
def test_any_stall(simulator, stall, tmp_path):
    trace = trace_of([4, 0, 9, 1, 1, 3], 6, skew=1, seed=3, wide=True)
    check(trace, tmp_path, dim=7, simulator=simulator, stall=stall, rows=6)


@pytest.mark.parametrize("skew", [0, 1, 8])
def test_every_skew_at_the_limit_of_lookups(skew, tmp_path):
    trace = trace_of([16] * 4, 40, skew=skew, seed=skew)
    check(trace, tmp_path, dim=9, simulator="verilator", rows=40)


@pytest.mark.parametrize("simulator", SIMULATORS)
def test_dropped_lookups(simulator, tmp_path):
    trace = trace_of([3, 4, 2, 1, 6], 12, skew=0, seed=5, wide=True)
    trace.indices[[0, 4, 8]] = [-3, 1 << 40, 12]
    trace.indices[[1, 2, 10]] = 7
    check(trace, tmp_path, dim=6, simulator=simulator, rows=12, bounds="ignore", padding_idx=7)


# Lookups around each number of runs and of merge passes: runs of 64 pairs, 4 at a time.
LENGTHS = [("verilator", n) for n in (64, 65, 129, 320, 321, 1100)]
LENGTHS += [("icarus", n) for n in (65, 321)]


@pytest.mark.parametrize("simulator, lookups", LENGTHS)
def test_batches_of_many_runs(simulator, lookups, tmp_path):
    lengths = [9] * (lookups // 9) + [lookups % 9]
    trace = trace_of(lengths, 400, skew=1, seed=lookups)
    check(trace, tmp_path, dim=3, simulator=simulator, rows=400)


@pytest.mark.parametrize("stall", ["half", "bursts"])
def test_many_runs_at_any_stall(stall, tmp_path):
    trace = trace_of([7] * 60, 90, skew=2, seed=7, wide=True)
    check(trace, tmp_path, dim=3, simulator="verilator", stall=stall, rows=90)


@pytest.mark.parametrize("kept", [0, 1, 64, 65, 300])
def test_many_runs_of_which_few_are_left(kept, tmp_path):
    """Scratch space is what all lookups would need; the sorter sees the valid ones only."""
    trace = trace_of([5] * 80, 50, skew=0, seed=kept)
    trace.indices[kept:] = 7
    trace.indices[:kept][trace.indices[:kept] == 7] = 8
    check(trace, tmp_path, dim=2, simulator="verilator", rows=50, padding_idx=7)


@pytest.mark.parametrize("ports, stripe, stall", [(2, 64, "never"), (4, 32, "bursts")])
def test_several_read_ports(ports, stripe, stall, tmp_path):
    config = dataclasses.replace(TINY, read_ports=ports, read_stripe=stripe)
    trace = trace_of([7] * 30, 60, skew=1, seed=9)
    check(trace, tmp_path, dim=17, simulator="verilator", stall=stall, config=config, rows=60)
