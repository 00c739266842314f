# SPDX-FileCopyrightText: castbag contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Board: what differs from one board to the next; and its top, which does not."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from amaranth.hdl import Elaboratable, Module
from amaranth.lib import wiring

from castbag.rtl.config import preset
from castbag.rtl.sdram import CHIPS
from castbag.rtl.soc.sdram_system import SdramSystem
from castbag.rtl.soc.system import SystemConfig

from .ecp5_clocks import Clocks
from .ecp5_pads import Pads

BAUD = 3_000_000
"""The most that the boards' USB bridges take (FT231X: FTDI DS_FT231X)."""

CLOCKS = (100, 50)
"""Clocks of the engine that a board can be built for, MHz."""


@dataclass(frozen=True, kw_only=True)
class Board:
    """A board that carries an ECP5, an SDR SDRAM and a UART.

    Attributes:
        name: As `castbag build` takes it.
        title: As its maker calls it.
        platform: Makes its platform: pins, device, package.
        preset: The engine that fits.
        chip: Its SDRAM, a name of `CHIPS`.
        other_chips: Others that it is also sold with, and that the build serves as well.
        clock: The oscillator's resource, and its MHz.
        lights: Resources (name, number, pin) that show heartbeat, memory test, running, error.
        button: Resource (name, number) that has memory tested; None if it has none.
        baud: Bits a second of its UART.
        chip_phase: Degrees by which the chip's clock is behind the engine's.
        loader: Command that loads a bitstream, with {} in its place.
    """

    name: str
    title: str
    platform: Callable[[], Any]
    preset: str
    chip: str
    other_chips: tuple[str, ...] = ()
    clock: tuple[str, int]
    lights: tuple[tuple[str, int, str] | None, ...]
    button: tuple[str, int] | None
    baud: int = BAUD
    chip_phase: int = 180
    loader: str

    def system(self, mhz: int, *, build: bytes = bytes(16), tools: str = "") -> SystemConfig:
        """Its system, at a clock of `CLOCKS`."""
        if mhz not in CLOCKS:
            raise ValueError(f"clock = {mhz}: must be {' or '.join(map(str, CLOCKS))} (MHz)")
        return SystemConfig(
            engine=preset(self.preset),
            preset=self.preset,
            board=self.name,
            clock_hz=mhz * 1_000_000,
            baud=self.baud,
            memory_bytes=CHIPS[self.chip].capacity,
            build=build,
            tools=tools,
        )


class Top(Elaboratable):
    """All of a board's FPGA: clocks, the system with its memory's controller, pins."""

    def __init__(self, board: Board, *, mhz: int, build: bytes = bytes(16), tools: str = ""):
        self._board, self._mhz = board, mhz
        self._system = board.system(mhz, build=build, tools=tools)

    def elaborate(self, platform):
        m = Module()
        board = self._board
        clock, source_mhz = board.clock
        m.submodules.clocks = Clocks(
            source=clock, source_mhz=source_mhz, mhz=self._mhz, phase=board.chip_phase
        )
        m.submodules.system = system = SdramSystem(self._system, chip=CHIPS[board.chip])
        m.submodules.pads = pads = Pads(system.pads.signature)
        wiring.connect(m, system.pads, pads.pads)
        uart = platform.request("uart", 0)
        m.d.comb += [system.rx.eq(uart.rx.i), uart.tx.o.eq(system.tx)]
        shown = (system.heartbeat, system.tested, system.running, system.error)
        for place, value in zip(board.lights, shown, strict=True):
            if place is not None:
                name, number, part = place
                pin = platform.request(name, number)
                m.d.comb += (getattr(pin, part) if part else pin).o.eq(value)
        if board.button:
            m.d.comb += system.button.eq(platform.request(*board.button).i)
        return m
