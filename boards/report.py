# SPDX-FileCopyrightText: castbag contributors
# SPDX-License-Identifier: BSD-2-Clause
"""What the build of a board gave, and how it is shown."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from rich.console import Console
from rich.table import Table

NAMES = {"lut": "LUT", "ff": "FF", "dp16kd": "DP16KD", "mult18": "MULT18"}


@dataclass(frozen=True, kw_only=True)
class Report:
    """What a build gave.

    Attributes:
        board, device, preset: Names.
        mhz: The engine's clock.
        baud: Bits a second of the link.
        hash: Of all that the bitstream is made from, in hex; a host reads it from the board.
        tools: Tool: version, in full.
        wanted: Clock: MHz that it must reach, the margin included.
        seeds: Seed: clock: MHz that it reaches.
        seed: The one whose bitstream is kept.
        used, available: Of LUT sites, flip-flops, 18-kbit block RAMs, 18x18 multipliers.
        bitstream: The file's name; empty if none was made.
    """

    board: str
    device: str
    preset: str
    mhz: int
    baud: int
    hash: str
    tools: dict[str, str]
    wanted: dict[str, float] = field(default_factory=dict)
    seeds: dict[int, dict[str, float]] = field(default_factory=dict)
    seed: int = 0
    used: dict[str, int] = field(default_factory=dict)
    available: dict[str, int] = field(default_factory=dict)
    bitstream: str = ""


def print_report(console: Console, report: Report) -> None:
    """Use of the device, and each clock by seed, as a terminal shows it."""
    title = f"{report.board}: {report.device}, preset {report.preset}, {report.mhz} MHz"
    console.print(title, soft_wrap=True)
    table = Table("", "used", "of", "", box=None, pad_edge=False)
    for column in table.columns[1:]:
        column.justify = "right"
    for kind, used in report.used.items():
        of = report.available[kind]
        table.add_row(NAMES[kind], f"{used:,}", f"{of:,}", f"{used / of:.0%}")
    for clock, wanted in sorted(report.wanted.items(), reverse=True):
        worst = worst_of(report, clock)
        table.add_row(f"{clock}, worst MHz", f"{worst:.1f}", f"{wanted:.1f}", "")
    console.print(table)


def worst_of(report: Report, clock: str) -> float:
    """MHz that a clock reaches in the worst placement."""
    return min(clocks[clock] for clocks in report.seeds.values())


def markdown(reports: Sequence[Report]) -> str:
    """The README's table of boards: use of each device, the engine's clock by seed."""
    kinds = list(NAMES)
    names = " | ".join(NAMES.values())
    lines = [
        f"| board | device | {names} | engine, MHz by seed | wanted |",
        f"|---|---|{'---:|' * len(kinds)}---|---:|",
    ]
    for report in reports:
        used = (f"{report.used[k]:,} ({report.used[k] / report.available[k]:.0%})" for k in kinds)
        clocks = ", ".join(f"{clocks['sync']:.1f}" for clocks in report.seeds.values())
        lines.append(
            f"| `{report.board}` | {report.device} | {' | '.join(used)} | {clocks}"
            f" | {report.wanted['sync']:.1f} |"
        )
    return "\n".join([*lines, ""])
