# SPDX-FileCopyrightText: castbag contributors
# SPDX-License-Identifier: BSD-2-Clause
"""What sorting costs, batch by batch, and how much of it the forward pass hides.

python -m castbag.host.bench.sort            measure, print, write build/bench/sort.json
python -m castbag.host.bench.sort --quick    batches of up to 2^16 lookups only

Two tables, of the preset `base` on the `ideal` memory:

- The cast alone (operation `backward`, dataflow `cast`): its cycles from the first index that is
  asked for to the answer for the last entry of the cast table. Each merge pass but the last one
  reads and writes all spilled runs. What is left without these passes, and without the memory's
  latency at either end, should be the same for any batch: `sort_cycles_a_lookup`. Rows are drawn
  evenly, or all the same, or rise, or fall, or most are one.
- The whole step, against the same step with the cast prepared in advance: that is the forward pass
  alone, and the phases after the cast without the beats in which `fused` reads runs.
"""

import argparse
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from castbag.golden.step import Op
from castbag.golden.traffic import Dataflow
from castbag.rtl.config import EngineConfig, preset
from castbag.sim.memories import MEMORIES

from ..readers import synthetic
from ..trace import Trace
from .common import publish, run_right

RESULT = Path("build") / "bench" / "sort.json"
SIZES = tuple(1 << k for k in (10, 12, 14, 16, 18, 20))
QUICK = SIZES[:4]
POOLINGS = (20, 80)
HIDDEN_LOOKUPS = 16_384
HIDDEN_DIM = 64
ROWS = 100_000
LATENCY = MEMORIES["ideal"].latency

KINDS: dict[str, Callable[[np.random.Generator, int], np.ndarray]] = {
    "random": lambda rng, n: rng.integers(ROWS, size=n),
    "equal": lambda rng, n: np.full(n, 7),
    "rising": lambda rng, n: np.arange(n),
    "falling": lambda rng, n: np.arange(n)[::-1],
    "one hot row": lambda rng, n: np.where(rng.random(n) < 0.9, 7, rng.integers(ROWS, size=n)),
}
"""What the rows of a batch are like."""


def cast_cost(config: EngineConfig, kind: str, lookups: int) -> dict:
    """What the cast of one batch costs by itself."""
    rng = np.random.default_rng(1)
    indices = KINDS[kind](rng, lookups).astype(np.int32)
    offsets = np.arange(0, lookups, 16, dtype=np.int32)
    trace = Trace(name=kind, indices=indices, offsets=offsets)
    registers = _run(config, trace, dim=1, op="backward", dataflow="cast")
    packing, cycles = config.packing, registers["CAST_CYCLES"]
    spilled = packing.spilled_runs(lookups) * config.run_length
    extra = packing.merge_passes(lookups) * spilled
    return {
        "lookups": lookups,
        "rows": kind,
        "spilled_runs": packing.spilled_runs(lookups),
        "extra_passes": packing.merge_passes(lookups),
        "cycles": cycles,
        "cycles_a_lookup": cycles / lookups,
        "sort_cycles_a_lookup": (cycles - extra - 2 * LATENCY) / lookups,
    }


def hidden_cost(config: EngineConfig, dataflow: Dataflow, pooling: int, lookups: int) -> dict:
    """A whole step, and what it would take with the cast prepared in advance."""
    bags = -(-lookups // pooling)
    trace = synthetic(bags=bags, pooling=pooling, rows=ROWS, zipf=0.0, seed=1)
    step = _run(config, trace, dim=HIDDEN_DIM, op="step", dataflow=dataflow)
    forward = _run(config, trace, dim=HIDDEN_DIM, op="forward", dataflow=dataflow)
    prepared = forward["TOTAL_CYCLES"] + step["BACKWARD_CYCLES"] + step["UPDATE_CYCLES"]
    if dataflow == "fused":
        packing = config.packing
        prepared -= packing.spilled_runs(len(trace.indices)) * packing.run_bytes // config.bus_bytes
    return {
        "lookups": len(trace.indices),
        "pooling": pooling,
        "dim": HIDDEN_DIM,
        "dataflow": dataflow,
        "cast_cycles": step["CAST_CYCLES"],
        "forward_cycles": step["FORWARD_CYCLES"],
        "step_cycles": step["TOTAL_CYCLES"],
        "prepared_cycles": prepared,
        "ratio": step["TOTAL_CYCLES"] / prepared,
    }


def _run(config: EngineConfig, trace: Trace, *, dim: int, op: Op, dataflow: Dataflow) -> dict:
    """The engine's registers after one command that was right in every bit."""
    run = run_right(trace, config=config, preset="base", dim=dim, op=op, dataflow=dataflow)
    return run.registers


def measure(config: EngineConfig, sizes: Sequence[int]) -> dict:
    """All of both tables."""
    kinds = [("random", n) for n in sizes]
    kinds += [(kind, 1 << 14) for kind in KINDS if kind != "random"]
    return {
        "run_length": config.run_length,
        "merge_ways": config.merge_ways,
        "cast": [cast_cost(config, kind, n) for kind, n in kinds],
        "hidden": [
            hidden_cost(config, dataflow, pooling, HIDDEN_LOOKUPS)
            for dataflow in ("fused", "cast")
            for pooling in POOLINGS
        ],
    }


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure, print, write."""
    parser = argparse.ArgumentParser(prog="castbag.host.bench.sort")
    parser.add_argument("--quick", action="store_true", help="batches of up to 2^16 lookups only")
    chosen = parser.parse_args(arguments)
    publish(measure(preset("base"), QUICK if chosen.quick else SIZES), RESULT)


if __name__ == "__main__":
    main()
