# SPDX-FileCopyrightText: castbag contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Clocks of an ECP5 board: one PLL, for the engine and for the chip of SDRAM."""

from typing import Any

from amaranth.hdl import ClockDomain, ClockSignal, Const, Instance, Module, ResetSignal, Signal
from amaranth.lib import io
from amaranth.lib.cdc import ResetSynchronizer
from amaranth.lib.wiring import Component

VCO_MHZ = 600
"""Of the PLL: both input clocks and both output clocks divide it (400 to 800 are allowed: Lattice
FPGA-DS-02012, ECP5 family data sheet)."""

MARGIN = 1.05
"""What a build must reach, over the clock itself: nextpnr is told so, and fails below."""

PHASES = 8
"""Steps of the PLL's phase in a period of its VCO."""


class Clocks(Component):
    """Makes the clocks of the domains `sync` and `chip` from the board's oscillator.

    `chip` is as fast as `sync` and `phase` degrees behind it. `sync` is in reset until the PLL has
    locked; `chip` has no reset. Both are constrained, to `MARGIN` times the clock.

    Args:
        source: Name of the board's clock resource.
        source_mhz: Its frequency, which must divide `VCO_MHZ`.
        mhz: That of both domains, which must divide `VCO_MHZ`, and be a multiple of `source_mhz`,
            or divide it.
        phase: Degrees, 0 to 359.

    Attributes:
        sync, chip: The domains, for the top to declare.
    """

    def __init__(self, *, source: str, source_mhz: int, mhz: int, phase: int):
        if mhz < 1 or VCO_MHZ % mhz or VCO_MHZ % source_mhz:
            raise ValueError(f"mhz = {mhz} from {source_mhz}: both must divide the PLL's {VCO_MHZ}")
        if max(mhz, source_mhz) % min(mhz, source_mhz):
            raise ValueError(f"mhz = {mhz}: must be a multiple of {source_mhz}, or divide it")
        if not 0 <= phase < 360:
            raise ValueError(f"phase = {phase}: must be 0 to 359 degrees")
        self._source, self._source_mhz, self._mhz, self._phase = source, source_mhz, mhz, phase
        self.sync: Any = ClockDomain("sync")
        self.chip: Any = ClockDomain("chip", reset_less=True)
        super().__init__({})

    def elaborate(self, platform):
        m = Module()
        sync, chip = self.sync, self.chip
        source: Any = io.Buffer(io.Direction.Input, platform.request(self._source, dir="-"))
        m.submodules.source = source
        locked = Signal()
        divider = VCO_MHZ // self._mhz
        # Nets of their own, kept: nextpnr ignores a constraint of a net that it doesn't find.
        made_sync = Signal(attrs={"keep": True})
        made_chip = Signal(attrs={"keep": True})
        m.d.comb += [sync.clk.eq(made_sync), chip.clk.eq(made_chip)]
        for made in (made_sync, made_chip):
            platform.add_clock_constraint(made, self._mhz * 1e6 * MARGIN)
        # An output lags by whole periods of the VCO (CPHASE) and eighths of one (FPHASE); the
        # feedback is the first output, whose own lag is the reference.
        lag = divider * PHASES * self._phase // 360
        first = divider - 1
        m.submodules.pll = Instance(
            "EHXPLLL",
            a_ICP_CURRENT="12",
            a_LPF_RESISTOR="8",
            a_MFG_ENABLE_FILTEROPAMP="1",
            a_MFG_GMCREF_SEL="2",
            a_FREQUENCY_PIN_CLKI=str(self._source_mhz),
            a_FREQUENCY_PIN_CLKOP=str(self._mhz),
            a_FREQUENCY_PIN_CLKOS=str(self._mhz),
            p_PLLRST_ENA="DISABLED",
            p_INTFB_WAKE="DISABLED",
            p_STDBY_ENABLE="DISABLED",
            p_DPHASE_SOURCE="DISABLED",
            p_OUTDIVIDER_MUXA="DIVA",
            p_OUTDIVIDER_MUXB="DIVB",
            p_FEEDBK_PATH="CLKOP",
            p_CLKI_DIV=max(self._source_mhz // self._mhz, 1),
            p_CLKFB_DIV=max(self._mhz // self._source_mhz, 1),
            p_CLKOP_ENABLE="ENABLED",
            p_CLKOP_DIV=divider,
            p_CLKOP_CPHASE=first,
            p_CLKOP_FPHASE=0,
            p_CLKOS_ENABLE="ENABLED",
            p_CLKOS_DIV=divider,
            p_CLKOS_CPHASE=first + lag // PHASES,
            p_CLKOS_FPHASE=lag % PHASES,
            i_CLKI=source.i,
            i_CLKFB=made_sync,
            i_RST=Const(0),
            i_STDBY=Const(0),
            i_PHASESEL0=Const(0),
            i_PHASESEL1=Const(0),
            i_PHASEDIR=Const(0),
            i_PHASESTEP=Const(0),
            i_PHASELOADREG=Const(0),
            i_PLLWAKESYNC=Const(0),
            i_ENCLKOP=Const(0),
            i_ENCLKOS=Const(0),
            o_CLKOP=made_sync,
            o_CLKOS=made_chip,
            o_LOCK=locked,
        )
        # The synchroniser lies where the PLL does; the reset goes everywhere, from a flip-flop that
        # lies anywhere.
        m.domains.start = ClockDomain(local=True)
        m.submodules.reset = ResetSynchronizer(~locked, domain="start")
        reset = Signal(init=1, reset_less=True)
        m.d.start += reset.eq(ResetSignal("start"))
        m.d.comb += [ClockSignal("start").eq(made_sync), sync.rst.eq(reset)]
        return m
