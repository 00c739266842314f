# SPDX-FileCopyrightText: castbag contributors
# SPDX-License-Identifier: BSD-2-Clause
"""The program itself: what its commands have in common, and how it fails."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from castbag.golden.batch import BatchError
from castbag.rtl.config import PRESETS, ConfigError, EngineConfig
from castbag.sim.memories import UnknownMemory
from castbag.sim.model import SimulationFailed, ToolMissing

from ..device import DeviceUnusable
from ..files import Refused
from ..step import DeviceStopped

WRONG, BAD_INPUT, NO_TOOL = 1, 2, 3

FILE = click.Path(path_type=Path)


class Program(click.Group):
    """Turns every way to fail into one line and an exit status."""

    def main(self, *args: Any, standalone_mode: bool = True, **extra: Any) -> Any:
        """As click's, but an error is one line; without `standalone_mode` it is raised."""
        if not standalone_mode:
            return super().main(*args, standalone_mode=False, **extra)
        try:
            status = super().main(*args, standalone_mode=False, **extra)
        except click.ClickException as error:
            status = fail(error.format_message(), BAD_INPUT)
        except (Refused, BatchError, ConfigError, UnknownMemory) as error:
            status = fail(str(error), BAD_INPUT)
        except MemoryError as error:
            status = fail(f"too large for this machine's memory ({error})", BAD_INPUT)
        except (ToolMissing, DeviceUnusable) as error:
            status = fail(str(error), NO_TOOL)
        except (DeviceStopped, SimulationFailed) as error:
            status = fail(str(error), WRONG)
        except (click.Abort, KeyboardInterrupt):
            status = fail("interrupted", 130)
        raise SystemExit(status or 0)


def fail(message: str, status: int) -> int:
    """Say in a line what is wrong; gives the status."""
    click.echo(f"castbag: {message}", err=True)
    return status


def example(*lines: str) -> str:
    """An epilog of a command's help."""
    return "\b\nExample:\n" + "\n".join(f"  {line}" for line in lines)


@click.group(
    cls=Program,
    invoke_without_command=True,
    context_settings={"help_option_names": ["-h", "--help"], "show_default": True},
    epilog=example("castbag trace text words.txt -o words.npz", "castbag run words.npz --compare"),
)
@click.version_option(package_name="castbag", message="%(prog)s %(version)s")
@click.pass_context
def main(context: click.Context) -> None:
    """An open tensor gather-scatter engine for training embedding layers."""
    if context.invoked_subcommand is None:
        click.echo(context.get_help())


def simulator_option(*choices: str):
    """The option that says what runs a step."""
    return click.option(
        "--sim",
        "simulator",
        type=click.Choice(choices),
        default="verilator",
        help="What runs the step; icarus is for short ones.",
    )


PRESET_OPTION = click.option(
    "--preset",
    type=click.Choice(list(PRESETS)),
    default="base",
    help="The engine's configuration; see `castbag presets`.",
)


def size_options(command):
    """Options that change a preset."""
    for name, what in (
        ("--merge-ways", "Runs merged at a time; default: the preset's."),
        ("--run-length", "Pairs sorted on chip; default: the preset's."),
        ("--read-ports", "AXI4 read ports; default: the preset's."),
    ):
        command = click.option(name, type=int, help=what)(command)
    return command


def configured(preset: str, **sizes: int | None) -> EngineConfig:
    """The preset's configuration with these sizes, where they are given."""
    given = {name: value for name, value in sizes.items() if value is not None}
    try:
        return replace(PRESETS[preset], **given)
    except ConfigError as error:
        raise ConfigError(f"preset {preset}: {error}") from None
