# SPDX-FileCopyrightText: castbag contributors
# SPDX-License-Identifier: BSD-2-Clause
"""`castbag presets`, `memories` and `emit`: what there is to run, and the core itself."""

from pathlib import Path

import click
from rich.console import Console

from castbag.rtl.config import PRESETS

from .. import listings
from ..files import check_writable, write_files
from .program import FILE, PRESET_OPTION, configured, example, main, size_options


@main.command(epilog=example("castbag presets", "castbag presets --run-length 1024"))
@size_options
def presets(**sizes: int | None) -> None:
    """List the engine's configurations, their limits, and what sorting takes.

    Pairs held are those of a run and of the ways' buffers. DP16KD are block RAMs of an ECP5, by
    formula.
    """
    listings.presets({name: configured(name, **sizes) for name in PRESETS}, Console())


@main.command(
    epilog=example(
        "castbag memories",
        "castbag run zipf.npz --memory ddr3-800-x16",
        "castbag run zipf.npz --memory ideal,latency=200,rate=8",
    )
)
def memories() -> None:
    """List the simulated memories.

    Cycles are the engine's. `ideal` can be changed by `latency` (cycles) and `rate` (beats in 16
    cycles), the others by `window` (accesses among which the controller chooses, each way), `front`
    and `back` (cycles that it adds before and behind).
    """
    listings.memories(Console())


@main.command(epilog=example("castbag emit --preset base -o castbag.v"))
@PRESET_OPTION
@size_options
@click.option("-o", "output", type=FILE, required=True, help="Verilog file to write.")
def emit(preset: str, output: Path, **sizes: int | None) -> None:
    """Write the engine as Verilog, with AXI4 and AXI4-Lite ports."""
    config = configured(preset, **sizes)
    check_writable(output)
    from castbag.rtl.emit import emit_engine  # late: it loads all of the RTL

    write_files({output: emit_engine(config, trace=False).encode()})
    click.echo(f"wrote {output}: the engine of preset {preset}")
