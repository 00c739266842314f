# SPDX-FileCopyrightText: castbag contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Pads of an ECP5 that carry an SDRAM: a register in the I/O cell on each."""

from typing import Any

from amaranth.hdl import Cat, Module
from amaranth.lib import io, wiring
from amaranth.lib.wiring import In

from castbag.rtl.sdram import SdramPadsSignature


class Pads(wiring.Component):
    """Between the controller's pads port and the pins: what `rtl/sdram/pads.py` says, in I/O cells.

    All pins but the clock's leave by DDR output registers with equal halves, since one I/O cell
    has either DDR registers or plain ones and `dq` comes in by a DDR input register, whose halves
    are the samples at the clock's two edges. So data, commands and the direction of `dq` leave in
    the same cycle. The chip's clock leaves by such a register too, of the domain `chip`.

    DDR registers have stages more than PAD_STAGES says, each way as many for all pins; the phase at
    which data are right is as much later, and the memory test finds it.

    Args:
        pads: The controller's signature.
        resource: What the platform calls the chip.
    """

    pads: Any  # SdramPadsSignature, flipped

    def __init__(self, pads: SdramPadsSignature, *, resource: str = "sdram"):
        self._resource = resource
        super().__init__({"pads": In(pads)})

    def elaborate(self, platform):
        m = Module()
        pads = self.pads
        pins = platform.request(self._resource, 0, dir="-")

        def out(name: str, pin, value) -> None:
            buffer: Any = io.DDRBuffer(io.Direction.Output, pin)
            m.submodules[name] = buffer
            m.d.comb += [buffer.o[0].eq(value), buffer.o[1].eq(value)]

        for name, pin in (("ras", pins.ras), ("cas", pins.cas), ("we", pins.we)):
            out(name, pin, getattr(pads, name))
        out("cke", pins.clk_en, pads.cke)
        out("cs", pins.cs, pads.cs)
        out("ba", pins.ba, pads.ba)
        out("a", pins.a, pads.a)
        out("dqm", pins.dqm, pads.dqm)
        dq: Any = io.DDRBuffer(io.Direction.Bidir, pins.dq)
        m.submodules.dq = dq
        m.d.comb += [
            dq.oe.eq(pads.dq_oe),
            dq.o[0].eq(pads.dq_o),
            dq.o[1].eq(pads.dq_o),
            pads.dq_i_rise.eq(dq.i[0]),
            pads.dq_i_fall.eq(dq.i[1]),
        ]
        clock: Any = io.DDRBuffer(io.Direction.Output, pins.clk, o_domain="chip")
        m.submodules.clock = clock
        m.d.comb += Cat(clock.o[0], clock.o[1]).eq(0b01)
        return m
