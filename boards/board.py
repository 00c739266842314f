# SPDX-FileCopyrightText: castbag contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Board: what differs from one board to the next; and its top, which does not."""

import importlib
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from amaranth.hdl import Elaboratable, Module
from amaranth.lib import io, wiring

from castbag.rtl.config import ConfigError, preset
from castbag.rtl.sdram import SdramChip
from castbag.rtl.soc.sdram_system import SdramSystem
from castbag.rtl.soc.system import LIGHTS, SystemConfig
from castbag.sim.model import ToolMissing

from .ecp5_clocks import Clocks
from .ecp5_pads import Pads
from .slowest import slowest
from .tools import HOW

BAUD = 3_000_000
"""The most that an FT231X takes (FTDI DS_FT231X)."""

CLOCKS = (100, 50)
"""Clocks of the engine that a board can be built for, MHz."""


@dataclass(frozen=True)
class Light:
    """A lamp: its resource, with the pin's name if it has several, and whether 0 lights it."""

    resource: str
    number: int = 0
    pin: str = ""
    low: bool = False


@dataclass(frozen=True, kw_only=True)
class Board:
    """A board that carries an ECP5, an SDR SDRAM and a UART.

    Attributes:
        name: As `castbag build` takes it.
        title: As its maker calls it.
        platform: Makes its platform: pins, device, package. See `pins_of`.
        preset: The engine that fits.
        chips: SDRAMs that it is sold with: one build serves each, see `slowest`.
        mhz: The engine's clock if nothing else is asked for, of `CLOCKS`.
        full: The engine nearly fills its device: yosys works for room, not for speed.
        clock: The oscillator's resource, and its MHz.
        lights: What shows each of `LIGHTS`; None: nothing does.
        button: Resource (name, number) that has memory tested; None if it has none.
        baud: Bits a second of its UART.
        chip_phase: Degrees by which the chip's clock is behind the engine's.
        loader: Command that loads a bitstream, with {} in its place.
    """

    name: str
    title: str
    platform: Callable[[], Any]
    preset: str
    chips: tuple[SdramChip, ...]
    mhz: int
    full: bool = False
    clock: tuple[str, int]
    lights: tuple[Light | None, Light | None, Light | None, Light | None]
    button: tuple[str, int] | None = None
    baud: int = BAUD
    chip_phase: int = 180
    loader: str

    @cached_property
    def chip(self) -> SdramChip:
        """What the controller is built for."""
        return slowest(*self.chips)

    def system(self, mhz: int, *, build: bytes = bytes(16), tools: str = "") -> SystemConfig:
        """Its system, at a clock of `CLOCKS`; raises ConfigError for another."""
        if mhz not in CLOCKS:
            raise ConfigError(f"clock = {mhz}: must be {' or '.join(map(str, CLOCKS))} (MHz)")
        return SystemConfig(
            engine=preset(self.preset),
            preset=self.preset,
            board=self.name,
            clock_hz=mhz * 1_000_000,
            baud=self.baud,
            memory_bytes=self.chip.capacity,
            build=build,
            tools=tools,
        )


def pins_of(module: str, name: str) -> Callable[[], Any]:
    """What makes the platform `name` of amaranth-boards' `module`, or raises ToolMissing."""

    def make() -> Any:
        try:
            return getattr(importlib.import_module(f"amaranth_boards.{module}"), name)()
        except ModuleNotFoundError as error:
            if (error.name or "").split(".")[0] != "amaranth_boards":
                raise
            raise ToolMissing(f"amaranth-boards was not found: {HOW}") from None

    return make


class Top(Elaboratable):
    """All of a board's FPGA: clocks, the system with its memory's controller, pins."""

    def __init__(self, board: Board, *, mhz: int, build: bytes = bytes(16), tools: str = ""):
        self._board, self._mhz = board, mhz
        self._system = board.system(mhz, build=build, tools=tools)

    def elaborate(self, platform):
        m = Module()
        board = self._board
        clock, source_mhz = board.clock
        m.submodules.clocks = clocks = Clocks(
            source=clock, source_mhz=source_mhz, mhz=self._mhz, phase=board.chip_phase
        )
        m.domains += clocks.sync, clocks.chip
        m.submodules.system = system = SdramSystem(self._system, chip=board.chip)
        m.submodules.pads = pads = Pads(system.pads.signature)
        wiring.connect(m, system.pads, pads.pads)

        def pin(name: str, direction: io.Direction, port) -> Any:
            m.submodules[name] = buffer = io.Buffer(direction, port)
            return buffer

        uart = platform.request("uart", 0, dir="-")
        m.d.comb += [
            system.rx.eq(pin("rx", io.Direction.Input, uart.rx).i),
            pin("tx", io.Direction.Output, uart.tx).o.eq(system.tx),
        ]
        lamps: dict[tuple[str, int], Any] = {}
        for name, light in zip(LIGHTS, board.lights, strict=True):
            if light is None:
                continue
            key = light.resource, light.number
            if key not in lamps:
                lamps[key] = platform.request(*key, dir="-")
            lamp = getattr(lamps[key], light.pin) if light.pin else lamps[key]
            value = getattr(system, name)
            buffer = pin(name, io.Direction.Output, lamp)
            m.d.comb += buffer.o.eq(~value if light.low else value)
        if board.button:
            button = platform.request(*board.button, dir="-")
            m.d.comb += system.button.eq(pin("button", io.Direction.Input, button).i)
        return m
