# SPDX-FileCopyrightText: castbag contributors
# SPDX-License-Identifier: BSD-2-Clause
"""An SDR SDRAM and its controller for the simulators: sources, and the chip's rules by name."""

from collections.abc import Mapping
from pathlib import Path

from amaranth.hdl import Module
from amaranth.lib import wiring

from castbag.rtl.sdram import PlainPads, SdramChip, SdramController, Timings
from castbag.rtl.soc.sdram_system import SdramSystem
from castbag.rtl.verilog import to_verilog

SDRAM_RULES = {
    1: "tRCD",
    2: "tRP",
    3: "tRAS",
    4: "tRC",
    5: "tRRD",
    6: "tWR",
    7: "tRFC",
    8: "tMRD",
    9: "too few refreshes",
    10: "power-up sequence",
    11: "mode register",
    12: "a command to a bank in the wrong state",
    13: "both ends drive the data bus",
    14: "a burst is cut short",
    15: "nobody drives data that are written",
    16: "a command that is not known",
}
"""By the number that `sdram_chip.v` gives."""


class Padded(wiring.Component):
    """A controller, or what is around one, with plain pads."""

    def __init__(self, controller: SdramController | SdramSystem):
        self.controller = controller
        self.pads = PlainPads(chip=controller.chip)
        inner = dict(controller.signature.members)
        pins = dict(self.pads.signature.members)
        del inner["pads"], pins["pads"]
        super().__init__(inner | pins)

    def elaborate(self, platform):
        m = Module()
        m.submodules.controller = controller = self.controller
        m.submodules.pads = pads = self.pads
        wiring.connect(m, controller.pads, pads.pads)
        for unit in (controller, pads):
            for name in unit.signature.members:
                if name != "pads":
                    connect_port(m, self, unit, name)
        return m


def connect_port(m: Module, outer, inner, name: str) -> None:
    """The member of that name of `inner` becomes that of `outer`, which is around it."""
    member = outer.signature.members[name]
    if member.is_port:
        target, source = getattr(outer, name), getattr(inner, name)
        m.d.comb += source.eq(target) if member.flow is wiring.In else target.eq(source)
    else:
        wiring.connect(m, wiring.flipped(getattr(outer, name)), getattr(inner, name))


def sdram_constants(
    chip: SdramChip, timings: Timings, *, kept_row_bits: int | None = None
) -> dict[str, int]:
    """Parameters of `sdram_chip.v`, and of what is around it, for a chip of those timings."""
    return {
        "ROW_BITS": chip.row_bits,
        "COLUMN_BITS": chip.column_bits,
        "CL": timings.cl,
        "T_RCD": timings.rcd,
        "T_RP": timings.rp,
        "T_RAS": timings.ras,
        "T_RC": timings.rc,
        "T_RRD": timings.rrd,
        "T_RFC": timings.rfc,
        "T_WR": timings.wr,
        "T_MRD": timings.mrd,
        "POWER_UP": timings.power_up,
        "REFRESH": timings.refresh,
        "REFRESHES": chip.refreshes,
        "KEPT_ROW_BITS": kept_row_bits or chip.row_bits,
    }


def sdram_sources(controller: SdramController) -> Mapping[str, str]:
    """Name and text of each file that module `sdram_memory` is made of."""
    here = Path(__file__).parent
    files = {name: (here / name).read_text() for name in ("sdram_memory.v", "sdram_chip.v")}
    return files | {"sdram.v": to_verilog(Padded(controller), name="sdram")}
