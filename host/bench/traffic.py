# SPDX-FileCopyrightText: castbag contributors
# SPDX-License-Identifier: BSD-2-Clause
"""How much of a memory's peak rows of a table get: LiteDRAM's beside our simulated memories'.

`measure` and `measure_all` return a dict of plain values for each figure.

Patterns, of rows of 64 to 512 bytes out of a table of 16 MiB, at most 32 bursts outstanding a port:

- `random`: rows drawn evenly, the same ones on every memory; read only;
- `sequential`: one row behind the other; read only;
- `write back`: random rows, each read and then written to where it was.

Before anything is timed the whole table is written through the ports; each beat that is read later
is compared to what should lie there. A single wrong one raises SimulationFailed, and so does a
timing of the chip that LiteDRAM's controller violates, by the watch in LiteDRAM's model.
"""

import json
import tempfile
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import castbag.sim
from castbag.sim.memories import MEMORIES, memory_of, memory_sources
from castbag.sim.model import Model, SimulationFailed, header_ports

from . import litedram_core

LITEDRAM = "litedram"
"""Name of LiteDRAM among the memories; the others are those of castbag.sim.memories."""

PORTS = (1, 2, 4)
"""Numbers of ports that LiteDRAM is measured with."""

DATA_BITS = litedram_core.DATA_BITS
ADDRESS_BITS = litedram_core.ADDRESS_BITS
TABLE_BYTES = 1 << 24
ROWS = 2048
OUTSTANDING = 32
LIMIT = 40_000_000  # cycles of one case, the first that lays out the table included

PATTERNS = {
    "random": {"random": 1, "reads": 1, "writes": 0},
    "sequential": {"random": 0, "reads": 1, "writes": 0},
    "write back": {"random": 1, "reads": 1, "writes": 1},
}
"""What they ask of `traffic.v`."""

ROW_BYTES = {
    "random": (64, 128, 256, 512),
    "sequential": (64, 128, 256, 512),
    "write back": (64, 256),
}
"""The rows that each is measured with."""


@dataclass(frozen=True, kw_only=True)
class Case:
    """One pattern with rows of one size."""

    pattern: str
    row_bytes: int

    def __post_init__(self):
        if self.pattern not in PATTERNS:
            raise ValueError(f"pattern {self.pattern!r} is not one of {', '.join(PATTERNS)}")
        word = DATA_BITS // 8
        if self.row_bytes % word or not 0 < self.row_bytes <= TABLE_BYTES:
            raise ValueError(f"row_bytes = {self.row_bytes}: must be a multiple of {word}")

    def inputs(self) -> dict[str, int]:
        """Of `traffic.v`."""
        return PATTERNS[self.pattern] | _rows(self.row_bytes, ROWS)


CASES = tuple(
    Case(pattern=pattern, row_bytes=size) for pattern in PATTERNS for size in ROW_BYTES[pattern]
)
"""All that is measured."""


def _rows(row_bytes: int, rows: int) -> dict[str, int]:
    sizes = {"row_bytes": row_bytes, "table_rows": TABLE_BYTES // row_bytes}
    return sizes | {"rows": rows, "outstanding": OUTSTANDING}


LAYOUT = {"random": 0, "reads": 0, "writes": 1} | _rows(4096, TABLE_BYTES // 4096)
"""Writes the whole table."""


def system(
    *,
    memory: str,
    ports: int,
    data_bits: int = DATA_BITS,
    simulator: str = "verilator",
    waves: bool = False,
) -> Model:
    """`traffic_system.v` around one memory.

    Args:
        memory: LITEDRAM, or one of castbag.sim.memories, which are measured at one port.
        ports: Slave ports, each with a generator of its own.
        data_bits: Width of each; LiteDRAM's is DATA_BITS.
        simulator: One of castbag.sim.model's.
        waves: Build with tracing.
    """
    folder = Path(castbag.sim.__file__).parent
    files = ("traffic.v", "traffic_system.v", "axi_rules.v")
    sources = {name: (folder / name).read_text() for name in files}
    if memory == LITEDRAM:
        if data_bits != DATA_BITS:
            raise ValueError(f"data_bits = {data_bits}: {LITEDRAM} has {DATA_BITS}")
        sources["litedram.v"] = litedram_core.verilog(ports=ports)
        module, more = litedram_core.MODULE, ""
    elif ports != 1:
        raise ValueError(f"ports = {ports}: memory {memory!r} is measured at one")
    else:
        memory_of(memory)  # which refuses one that there is not
        sources |= memory_sources()
        sizes = {"ADDRESS_BITS": ADDRESS_BITS, "DATA_BITS": data_bits}
        sizes["SIZE_BITS"] = (TABLE_BYTES - 1).bit_length()
        module = f"memory #({', '.join(f'.{name}({n})' for name, n in sizes.items())})"
        more = ".haste(8'd0), .broken(), .broken_clock(),"
    top = sources["traffic_system.v"]
    sources["traffic_system.v"] = f"`define MEMORY {module}\n`define MORE {more}\n{top}"
    return Model(
        top="traffic_system",
        sources=tuple(sources.items()),
        simulator=simulator,
        ports=header_ports(top),
        constants=(("ADDRESS_BITS", ADDRESS_BITS), ("DATA_BITS", data_bits), ("PORTS", ports)),
        fast=True,
        waves=waves,
    )


def run(
    model: Model, inputs: Sequence[dict[str, int]], folder: Path, *, memory: str
) -> list[list[dict]]:
    """What the generators of each port counted, for each set of inputs of `traffic.v`.

    Raises SimulationFailed, for a violation of the chip's timings that LiteDRAM's model reports
    too.
    """
    job = {"cases": list(inputs), "memory_bytes": TABLE_BYTES, "limit": LIMIT}
    told = [] if memory == LITEDRAM else memory_of(memory).arguments()
    model.run("castbag.sim.traffic_session", folder=folder, parameters=job, arguments=told)
    log = (folder / "log.txt").read_text()
    if "violation" in log:
        raise SimulationFailed(next(line for line in log.splitlines() if "violation" in line))
    return json.loads((folder / "outcomes.json").read_text())


def measure(
    *, memory: str, ports: int, cases: Iterable[Case] = CASES, data_bits: int = DATA_BITS
) -> list[dict]:
    """One dict a case: pattern, row_bytes, ports, memory, cycles, beats, fraction_of_peak.

    `cycles` is from the first address offered to the last data or answer, on any port; `beats`
    counts both ways. The peak is one a cycle, or what the DRAM's data bus carries if that is less.
    Raises as `system` and Model.run do, and SimulationFailed if data were lost.
    """
    cases = list(cases)
    model = system(memory=memory, ports=ports, data_bits=data_bits)
    peak = 1.0
    if memory != LITEDRAM and (bytes_a_cycle := memory_of(memory).peak_bytes) is not None:
        peak = min(1.0, bytes_a_cycle * 8 / data_bits)
    with tempfile.TemporaryDirectory(prefix="castbag-") as folder:
        inputs = [LAYOUT, *(case.inputs() for case in cases)]
        outcomes = run(model, inputs, Path(folder), memory=memory)[1:]
    return [
        _figure(case, memory, outcome, peak) for case, outcome in zip(cases, outcomes, strict=True)
    ]


def measure_all() -> list[dict]:
    """All cases on each of our simulated memories, and on LiteDRAM with few ports and many."""
    systems = [*((memory, 1) for memory in MEMORIES), *((LITEDRAM, ports) for ports in PORTS)]
    return [row for memory, ports in systems for row in measure(memory=memory, ports=ports)]


def _figure(case: Case, memory: str, counts: list[dict], peak: float) -> dict:
    """`counts` has a dict per port."""
    wrong = sum(port["wrong"] for port in counts)
    if wrong:
        raise SimulationFailed(f"{memory}, {case}: {wrong} beats or answers were wrong")
    cycles = max(port["cycles"] for port in counts)
    beats = sum(port["beats_read"] + port["beats_written"] for port in counts)
    return asdict(case) | {
        "ports": len(counts),
        "memory": memory,
        "cycles": cycles,
        "beats": beats,
        "fraction_of_peak": round(beats / cycles / peak, 4),
    }
