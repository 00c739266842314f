# SPDX-FileCopyrightText: castbag contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Traffic generators on the SDRAM controller, and on the simulated memory that imitates it."""

import json
from dataclasses import replace
from pathlib import Path

import castbag.sim
from castbag.host.bench.traffic import LAYOUT, TABLE_BYTES, run, system
from castbag.rtl.sdram import CHIPS, SdramChip, SdramController
from castbag.sim.model import Model, header_ports
from castbag.sim.sdram import sdram_constants, sdram_sources

WORD = 8  # bytes
OUTSTANDING = 32
LIMIT = 4_000_000  # cycles

PATTERNS = {
    # name: inputs of traffic.v
    "sequential": {"random": 0, "reads": 1, "writes": 0, "row_bytes": 512},
    "sequential write": {"random": 0, "reads": 0, "writes": 1, "row_bytes": 512},
    "words": {"random": 1, "reads": 1, "writes": 0, "row_bytes": WORD},
    "words write": {"random": 1, "reads": 0, "writes": 1, "row_bytes": WORD},
    "rows of 64 B": {"random": 1, "reads": 1, "writes": 0, "row_bytes": 64},
    "rows of 256 B": {"random": 1, "reads": 1, "writes": 0, "row_bytes": 256},
    "rows of 64 B write": {"random": 1, "reads": 0, "writes": 1, "row_bytes": 64},
    "rows of 64 B back": {"random": 1, "reads": 1, "writes": 1, "row_bytes": 64},
    "rows of 128 B back": {"random": 1, "reads": 1, "writes": 1, "row_bytes": 128},
    "rows of 256 B back": {"random": 1, "reads": 1, "writes": 1, "row_bytes": 256},
    "one word at a time": {
        "random": 1,
        "reads": 1,
        "writes": 0,
        "row_bytes": WORD,
        "outstanding": 1,
    },
    "one word at a time write": {
        **{"random": 1, "reads": 0, "writes": 1, "row_bytes": WORD, "outstanding": 1},
    },
}

ROWS = {512: 512, 256: 1024, 128: 2048, 64: 2048, WORD: 8192}


def quick(chip: SdramChip) -> SdramChip:
    """The same chip, up in a moment."""
    return replace(chip, power_up_us=2)


def sdram_system(*, chip: str, mhz: float, **given) -> Model:
    """`traffic_system.v` around the controller and a chip; `given` are more of its parameters."""
    controller = SdramController(chip=quick(CHIPS[chip]), mhz=mhz, **given)
    folder = Path(castbag.sim.__file__).parent
    files = ("traffic.v", "traffic_system.v", "axi_rules.v")
    sources = {name: (folder / name).read_text() for name in files}
    sources |= sdram_sources(controller)
    constants = sdram_constants(controller.chip, controller.timings)
    told = ", ".join(f".{name}({value})" for name, value in constants.items())
    more = (
        ".again(1'b0), .phase(4'd1), .ready(), .word(32'd0), .poke(1'b0), .poke_data(64'd0),"
        " .peek_data(), .broken(), .broken_clock(), .activates(), .column_reads(),"
        " .column_writes(), .refreshes(),"
    )
    top = sources["traffic_system.v"]
    sources["traffic_system.v"] = (
        f"`define MEMORY sdram_memory #({told})\n`define MORE {more}\n{top}"
    )
    return Model(
        top="traffic_system",
        sources=tuple(sources.items()),
        simulator="verilator",
        ports=header_ports(top),
        constants=(("ADDRESS_BITS", 32), ("DATA_BITS", 8 * WORD), ("PORTS", 1)),
        fast=True,
    )


def cycles_a_word(model: Model, patterns, folder: Path, *, memory: str) -> dict[str, float]:
    """Of each pattern; fails if a beat was wrong."""
    cases = []
    for pattern in patterns:
        given = PATTERNS[pattern]
        size = given["row_bytes"]
        table = {"rows": ROWS[size], "table_rows": TABLE_BYTES // size}
        cases.append({"outstanding": OUTSTANDING} | given | table)
    counts = run(model, [LAYOUT, *cases], folder, memory=memory)[1:]
    figures = {}
    for pattern, (port,) in zip(patterns, counts, strict=True):
        assert port["wrong"] == 0, f"{pattern}: {port}"
        figures[pattern] = port["cycles"] / (port["beats_read"] + port["beats_written"])
    return figures


def simulated(memory: str, patterns, folder: Path) -> dict[str, float]:
    """The same of a memory of castbag.sim.memories."""
    model = system(memory=memory, ports=1, data_bits=8 * WORD)
    return cycles_a_word(model, patterns, folder, memory=memory)


def controlled(patterns, folder: Path, *, chip: str, mhz: float, **given) -> dict[str, float]:
    """Of the controller."""
    model = sdram_system(chip=chip, mhz=mhz, **given)
    # `run` tells a simulated memory what it is like; the chip knows.
    return cycles_a_word(model, patterns, folder, memory="ideal")


if __name__ == "__main__":
    import sys
    import tempfile

    with tempfile.TemporaryDirectory() as where:
        if sys.argv[1:] == ["simulated"]:
            found = simulated("sdr-133", list(PATTERNS), Path(where))
        else:
            found = controlled(
                list(PATTERNS), Path(where), chip=sys.argv[1], mhz=float(sys.argv[2])
            )
    print(json.dumps(found, indent=1))
