# SPDX-FileCopyrightText: castbag contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Tables of what there is to choose from: presets of the engine, simulated memories."""

from collections.abc import Mapping

from rich.console import Console
from rich.table import Table

from castbag.rtl.config import EngineConfig
from castbag.sim.memories import MEMORIES, Dram


def presets(configs: Mapping[str, EngineConfig], console: Console) -> None:
    """The limits of each configuration, and what sorting takes.

    Pairs held are those of a run and of the ways' buffers; block RAMs are by formula.
    """
    from castbag.rtl.ram import sorter_block_rams, way_block_rams  # late: they load the sorter

    limits = _columns("bus bits", "lanes", "address", "lookups", "bags", "rows", "dim")
    limits.add_column("optimizers")
    sorting = _columns("run length", "merge ways", "pairs held", "DP16KD of sorter", "of ways")
    for name, config in configs.items():
        numbers = (config.bus_bits, config.lanes, f"{config.address_bits} bits")
        powers = (f"2^{bits}" for bits in (config.ordinal_bits, config.bag_bits, config.index_bits))
        cells = (*numbers, *powers, config.max_dim)
        limits.add_row(name, *map(str, cells), ", ".join(config.optimizers))
        held = config.run_length + config.merge_ways * config.way_pairs
        rams = (sorter_block_rams(config), way_block_rams(config))
        cells = (config.run_length, config.merge_ways, held, *rams)
        sorting.add_row(name, *map(str, cells))
    console.print(limits)
    console.print()
    console.print(sorting)


def memories(console: Console) -> None:
    """How fast each simulated memory is, in cycles of the engine, and where its figures are from.

    The latency of a DRAM is that of an access whose bank has another row open.
    """
    table = _columns("cycle", "bytes a cycle", "latency", "window", "MiB", first="memory")
    for name, kind in MEMORIES.items():
        if isinstance(kind, Dram):
            cycle = f"{kind.clock_ps * kind.clocks / 1000:g} ns"
            room = f"{kind.capacity >> 20:,}"
            cells = (cycle, f"{kind.peak_bytes:g}", kind.latency, kind.window, room)
        else:
            cells = ("any", "any", kind.latency, "-", "any")
        table.add_row(name, *map(str, cells))
    console.print(table)
    console.print()
    for name, kind in MEMORIES.items():
        about = (
            kind.source if isinstance(kind, Dram) else f"{kind.rate} beats in 16 cycles each way"
        )
        console.print(f"{name}: {about}", highlight=False, markup=False, soft_wrap=True)


def _columns(*numbers: str, first: str = "preset") -> Table:
    """A table with a column of names, and these of numbers."""
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column(first)
    for heading in numbers:
        table.add_column(heading, justify="right")
    return table
