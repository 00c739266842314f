# SPDX-FileCopyrightText: castbag contributors
# SPDX-License-Identifier: BSD-2-Clause
"""How much of a memory the engine uses, how our simulated memories compare with LiteDRAM's, and how
fast the simulator is.

python -m castbag.host.bench.memory            measure, print, write build/bench/memory.json
python -m castbag.host.bench.memory --quick    without LiteDRAM and the longest batch

Four tables:

- `gather`: rows of 64 and of 256 bytes through a forward pass on the `ideal` memory: cycles a row.
- `phases`: forward and `fused` backward pass for three widths of the bus, against the beats of the
  busier direction: `of_bound` is cycles over beats.
- `engine`: what a forward pass gets of each DRAM's peak, rows drawn evenly out of 16 MiB.
- `patterns`: what traffic of the same rows gets of each of our memories and of LiteDRAM's
  controller with its own model of the chip, see castbag.host.bench.traffic.

And `simulator`: cycles a second, which are a measurement, and differ from machine to machine.
"""

import argparse
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from rich.console import Console

from castbag.golden.step import Op
from castbag.rtl.config import EngineConfig, preset
from castbag.sim.memories import MEMORIES, Dram, memory_of
from castbag.sim.model import ToolMissing

from ..readers import synthetic
from ..step import StepRun
from . import traffic
from .common import publish, run_right

RESULT = Path("build") / "bench" / "memory.json"

BUSES = ("ulx3s", "base", "rank")
"""Presets with buses of 64, 128 and 256 bits."""

DIMS = (16, 64, 128)
LOOKUPS = 4096
POOLING = 64
TABLE_BYTES = 1 << 24
DRAM_BUS = {"sdr-133": "ulx3s", "ddr3-800-x16": "base", "ddr4-3200-x64": "rank"} | {
    "hbm2-pseudochannel": "rank"
}
"""The preset whose bus is about as wide as each memory is fast."""


def run(
    name: str, *, dim: int, memory: str = "ideal", op: Op = "forward", lookups: int = LOOKUPS
) -> tuple[StepRun, EngineConfig]:
    """A `fused` operation of preset `name`, rows drawn evenly; RuntimeError if it is wrong."""
    config = preset(name)
    rows = TABLE_BYTES // (config.words(dim) * config.bus_bytes)
    trace = synthetic(bags=lookups // POOLING, pooling=POOLING, rows=rows, zipf=0.0, seed=1)
    trace = replace(trace, indices=trace.indices.astype("i4"), offsets=trace.offsets.astype("i4"))
    done = run_right(
        trace,
        config=config,
        preset=name,
        dim=dim,
        op=op,
        dataflow="fused",
        memory=memory,
        rows=rows,
    )
    return done, config


def gather(row_bytes: int) -> dict[str, Any]:
    """Cycles that a row takes in a forward pass, its index and all, at 16 bytes a cycle."""
    lookups = 4 * LOOKUPS
    done, config = run("base", dim=row_bytes // 4, lookups=lookups)
    cycles = done.registers["FORWARD_CYCLES"]
    return {
        "row_bytes": row_bytes,
        "lookups": lookups,
        "cycles": cycles,
        "cycles_a_row": cycles / lookups,
        "limit": row_bytes // config.bus_bytes,
    }


def phases(name: str, dim: int) -> list[dict[str, Any]]:
    """Forward and backward pass of a step against the bus; what the cast reads is on it, too."""
    done, config = run(name, dim=dim, op="step")
    counts, rows = done.registers, []
    for phase, beside in (("FORWARD", ("CAST",)), ("BACKWARD", ())):
        beats = max(
            sum(counts[f"{each}_{way}_BEATS"] for each in (phase, *beside))
            for way in ("READ", "WRITE")
        )
        cycles = counts[f"{phase}_CYCLES"]
        row = {"phase": phase.lower(), "bus_bits": config.bus_bits, "dim": dim, "cycles": cycles}
        rows.append(row | {"beats": beats, "of_bound": cycles / beats})
    return rows


def engine(memory: str, row_bytes: int) -> dict[str, Any]:
    """The share of a DRAM's peak, or of the bus if that is narrower, that a forward pass gets."""
    name = DRAM_BUS[memory.partition(",")[0]]
    done, config = run(name, dim=row_bytes // 4, memory=memory)
    kind = memory_of(memory)
    assert isinstance(kind, Dram) and done.activity is not None
    counts = done.registers
    size = (counts["FORWARD_READ_BEATS"] + counts["FORWARD_WRITE_BEATS"]) * config.bus_bytes
    peak = min(config.bus_bytes, kind.peak_bytes)
    total = done.activity.total()
    accesses = total["row_hits"] + total["row_misses"] + total["row_conflicts"]
    return {
        "memory": memory,
        "bus_bits": config.bus_bits,
        "row_bytes": row_bytes,
        "cycles": counts["FORWARD_CYCLES"],
        "bytes": size,
        "fraction_of_peak": size / peak / counts["FORWARD_CYCLES"],
        "row_hit_rate": total["row_hits"] / accesses,
    }


def patterns(*, litedram: bool) -> list[dict[str, Any]]:
    """Our DRAMs under traffic, each on a bus that can carry it; and, if wanted, LiteDRAM."""
    rows = [
        row
        for name in MEMORIES
        for row in traffic.measure(memory=name, ports=1, data_bits=_bus(name))
    ]
    for window in (1, 8):  # of the chip that LiteDRAM has, with less choice
        rows += traffic.measure(memory=f"ddr3-800-x16,window={window}", ports=1)
    if litedram:
        for ports in traffic.PORTS:
            rows += traffic.measure(memory=traffic.LITEDRAM, ports=ports)
    return rows


def _bus(name: str) -> int:
    return preset(DRAM_BUS.get(name, "base")).bus_bits


def simulator(name: str, *, dim: int, lookups: int) -> dict[str, Any]:
    """Cycles a second of a whole step."""
    done, _ = run(name, dim=dim, op="step", lookups=lookups)
    return {
        "preset": name,
        "dim": dim,
        "lookups": lookups,
        "cycles": done.registers["TOTAL_CYCLES"],
        "cycles_per_second": done.cycles_per_second,
    }


def measure(*, quick: bool) -> dict[str, Any]:
    """All tables."""
    litedram = not quick
    try:
        traffic.litedram_core.versions()
    except ToolMissing as error:
        litedram = False
        Console(stderr=True).print(f"without LiteDRAM: {error}", highlight=False)
    longest = LOOKUPS if quick else 1 << 17
    return {
        "gather": [gather(row_bytes) for row_bytes in (64, 256)],
        "phases": [row for name in BUSES for dim in DIMS for row in phases(name, dim)],
        "engine": [engine(memory, size) for memory in DRAM_BUS for size in (64, 256)],
        "patterns": patterns(litedram=litedram),
        "simulator": [
            simulator("ulx3s", dim=64, lookups=4 * LOOKUPS),
            simulator("base", dim=64, lookups=longest),
        ],
    }


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure, print, write."""
    parser = argparse.ArgumentParser(prog="castbag.host.bench.memory")
    parser.add_argument("--quick", action="store_true", help="no LiteDRAM, no long batch")
    chosen = parser.parse_args(arguments)
    publish(measure(quick=chosen.quick), RESULT)


if __name__ == "__main__":
    main()
