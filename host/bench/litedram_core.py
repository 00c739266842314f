# SPDX-FileCopyrightText: castbag contributors
# SPDX-License-Identifier: BSD-2-Clause
"""LiteDRAM with its own model of a DDR3 chip, as Verilog that can stand where memory.v does.

The yardstick for our simulated DRAM: a controller and a memory model that are not ours. It needs
`pip install 'castbag[bench]'`; without, ToolMissing is raised.

The memory: one MT41K128M16 (8 banks, pages of 2 KiB, BL8) of the speed grade 800, on 16 bits, at
400 MHz. The controller runs at 100 MHz, four phases a cycle, so that one burst of the chip is one
word of 128 bits a cycle: 1.6 GB/s at most. The chip's rows are cut to 2048 a bank (32 MiB in all),
which no timing depends on.

The controller is LiteDRAMController with LiteDRAMCrossbar, every setting at its default: command
buffers of 8 a bank, reads for at most 32 cycles and writes for at most 16 before the other way has
its turn, a refresh each tREFI without postponing, automatic precharge, addresses cut into row,
bank, column from the top. Ports are LiteDRAMAXI2Native with its default buffers of 16 words each
way. The controller drives LiteDRAM's SDRAMPHYModel directly: the model needs no initialisation, so
the injector through which a CPU would do it, a multiplexer without registers, is left out.
"""

import importlib
import importlib.metadata
from concurrent.futures import ThreadPoolExecutor
from types import ModuleType

from castbag.sim.model import ToolMissing

PACKAGES = ("litedram", "litex", "migen")

CLOCK_HZ = 100_000_000
SPEED_GRADE = "800"
DATA_BITS = 128
ADDRESS_BITS = 32
ROWS = 2048  # of each bank; at least 2**11, since bit 10 of a row's address means precharge

MODULE = "litedram"
"""Name of the Verilog module."""

# Fields of LiteX's AXI channels by what they are called on memory.v, in its order.
ADDRESS_FIELDS = ("id", "addr", "len", "size", "burst", "lock", "cache", "prot", "qos")
CHANNELS = {
    "ar": (ADDRESS_FIELDS, "valid", "ready"),
    "r": (("id", "data", "resp", "last"), "ready", "valid"),
    "aw": (ADDRESS_FIELDS, "valid", "ready"),
    "w": (("data", "strb", "last"), "valid", "ready"),
    "b": (("id", "resp"), "ready", "valid"),
}
"""Of each channel: its payload, the handshake that the manager drives, and the other one."""


def _module(name: str) -> ModuleType:
    """A module of LiteDRAM's or of what it stands on (none of them has type stubs)."""
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        raise ToolMissing(f"{error.name} was not found: pip install 'castbag[bench]'") from None


def versions() -> dict[str, str]:
    """Versions of LiteDRAM and of what it is built from; raises ToolMissing."""
    try:
        return {name: importlib.metadata.version(name) for name in PACKAGES}
    except importlib.metadata.PackageNotFoundError as error:
        raise ToolMissing(f"{error.name} was not found: pip install 'castbag[bench]'") from None


def _chip():
    """The chip, with LiteDRAM's geometry and timings of it."""
    modules = _module("litedram.modules")
    cut = type("CutChip", (modules.MT41K128M16,), {"nrows": ROWS})
    return cut(clk_freq=CLOCK_HZ, rate="1:4", speedgrade=SPEED_GRADE)


def timings() -> dict[str, int]:
    """What LiteDRAM keeps to.

    In cycles of the controller (10 ns): tRP, tRCD and so on, `read_latency` and `write_latency`;
    in clocks of the chip (2.5 ns): `cl` and `cwl`; phases of a cycle: `rdphase`, `wrphase`.
    """
    settings = vars(_chip().timing_settings)
    kept = {name: value for name, value in settings.items() if name.startswith("t")}
    phy = _phy(_chip()).settings
    fields = ("cl", "cwl", "read_latency", "write_latency", "rdphase", "wrphase")
    return kept | {name: getattr(phy, name) for name in fields}


def _phy(chip, verbosity: int = 0):
    model = _module("litedram.phy.model")
    return model.SDRAMPHYModel(chip, data_width=16, clk_freq=CLOCK_HZ, verbosity=verbosity)


def verilog(*, ports: int, verbosity: int = 1) -> str:
    """The module `litedram`, with the ports of memory.v: AXI4, 128 bits wide.

    Args:
        ports: Slave ports. Each s_axi_ port holds that of all of them, slave port 0 lowest.
        verbosity: The model's. With 1 it says `violation`, on standard output, where a timing of
            the chip is violated; with 3 it tells each command too; with 0 nothing.
    """
    if not 1 <= ports <= 8:
        raise ValueError(f"ports = {ports}: must be from 1 to 8")
    # Migen names signals after the variables of all callers there are. In a thread they are the
    # same ones each time, so the text is the same too, and its model is built only once.
    with ThreadPoolExecutor(1) as worker:
        return worker.submit(_verilog, ports, verbosity).result()


def _verilog(ports: int, verbosity: int) -> str:
    migen = _module("migen")
    controller = _module("litedram.core.controller")
    crossbar = _module("litedram.core.crossbar")
    frontend = _module("litedram.frontend.axi")
    chip = _chip()

    top = migen.Module()
    system = migen.ClockDomain("sys")
    system.clk, system.rst = _signal("clk"), _signal("rst")
    top.clock_domains += system
    top.submodules.phy = phy = _phy(chip, verbosity)
    top.submodules.controller = control = controller.LiteDRAMController(
        phy_settings=phy.settings,
        geom_settings=chip.geom_settings,
        timing_settings=chip.timing_settings,
        clk_freq=CLOCK_HZ,
        controller_settings=controller.ControllerSettings(),  # the default one would be shared
    )
    top.comb += control.dfi.connect(phy.dfi)
    top.submodules.crossbar = bar = crossbar.LiteDRAMCrossbar(control.interface)
    buses = []
    for number in range(ports):
        native = bar.get_port()
        bus = frontend.LiteDRAMAXIPort(DATA_BITS, ADDRESS_BITS, id_width=1)
        setattr(top.submodules, f"axi{number}", frontend.LiteDRAMAXI2Native(bus, native))
        buses.append(bus)

    # memory.v's ports that mean nothing here.
    counts = [_signal(name, 64) for name in ("beats_read", "beats_written")]
    top.comb += [count.eq(0) for count in counts]
    pins = {system.clk, system.rst, _signal("bytes", 64), *counts}
    for channel, (payload, ours, theirs) in CHANNELS.items():
        driven = {ours, *payload} if ours == "valid" else {ours}
        for field in (*payload, ours, theirs):
            parts = migen.Cat(*(getattr(getattr(bus, channel), field) for bus in buses))
            pin = _signal(f"s_axi_{channel}{field}", len(parts))
            pins.add(pin)
            top.comb += parts.eq(pin) if field in driven else pin.eq(parts)
    return str(_module("migen.fhdl.verilog").convert(top, pins, name=MODULE))


def _signal(name: str, width: int = 1):
    return _module("migen").Signal(width, name_override=name)
