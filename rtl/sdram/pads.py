# SPDX-FileCopyrightText: castbag contributors
# SPDX-License-Identifier: BSD-2-Clause
"""PlainPads: what the pads of a board do, in plain flip-flops."""

from typing import Any

from amaranth.hdl import ClockDomain, ClockSignal, Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In

from .chips import SdramChip
from .layouts import SdramPadsSignature

OUTPUTS = ("cke", "cs", "ras", "cas", "we", "ba", "a", "dqm")


class PlainPads(wiring.Component):
    """Behaves as `SdramPadsSignature` says; for simulation, and as the model of a board's.

    Whatever takes its place has as many stages, or other ones and another phase: a stage more each
    way is two phases more.

    Members:
        pads: The controller.
        cke, cs, ras, cas, we, ba, a, dqm: To the chip; what is active is 1, as in the controller.
        dq_o, dq_oe, dq_i: The chip's data pins.
    """

    pads: Any  # SdramPadsSignature, flipped
    dq_o: Signal
    dq_oe: Signal
    dq_i: Signal

    def __init__(self, *, chip: SdramChip):
        signature = SdramPadsSignature(chip)
        super().__init__(
            {
                "pads": In(signature),
                **{name: signature.members[name] for name in (*OUTPUTS, "dq_o", "dq_oe")},
                "dq_i": In(chip.data_bits),
            }
        )

    def elaborate(self, platform):
        m = Module()
        m.domains.fall = ClockDomain(clk_edge="neg", reset_less=True, local=True)
        m.d.comb += ClockSignal("fall").eq(ClockSignal())
        risen = Signal.like(self.dq_i, reset_less=True)
        fallen = Signal.like(self.dq_i, reset_less=True)
        for name in (*OUTPUTS, "dq_o", "dq_oe"):
            # No reset: clock enable must not fall while the chip is in use.
            pin = Signal.like(getattr(self, name), name=name, reset_less=True)
            m.d.sync += pin.eq(getattr(self.pads, name))
            m.d.comb += getattr(self, name).eq(pin)
        m.d.fall += fallen.eq(self.dq_i)
        m.d.sync += [
            risen.eq(self.dq_i),
            self.pads.dq_i_rise.eq(risen),
            self.pads.dq_i_fall.eq(fallen),
        ]
        return m
