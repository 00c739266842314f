# SPDX-FileCopyrightText: castbag contributors
# SPDX-License-Identifier: BSD-2-Clause
"""SdramSystem: a system whose memory is one SDR SDRAM chip."""

from typing import Any

from amaranth.hdl import Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out, connect, flipped

from ..resets import reset_by
from ..sdram import SdramChip, SdramController, SdramPadsSignature
from .system import LIGHTS, System, SystemConfig


class SdramSystem(wiring.Component):
    """All of a board that is not pins and clocks: `System` and the chip's controller.

    Args:
        config: The system's; `memory_bytes` is the chip's.
        chip: The chip.

    Members:
        rx, tx, button, heartbeat, tested, running, error: See `System`.
        pads: The chip's, see `SdramPadsSignature`.
    """

    rx: Signal
    tx: Signal
    button: Signal
    heartbeat: Signal
    tested: Signal
    running: Signal
    error: Signal
    pads: Any  # SdramPadsSignature

    def __init__(self, config: SystemConfig, *, chip: SdramChip):
        if config.memory_bytes != chip.capacity:
            raise ValueError(
                f"memory_bytes = {config.memory_bytes}: {chip.name} has {chip.capacity}"
            )
        self.config, self.chip = config, chip
        super().__init__(
            {
                "rx": In(1, init=1),  # pyright: ignore[reportCallIssue]  (stubs lack it)
                "tx": Out(1, init=1),  # pyright: ignore[reportCallIssue]
                "button": In(1),
                **{name: Out(1) for name in LIGHTS},
                "pads": Out(SdramPadsSignature(chip)),
            }
        )

    def elaborate(self, platform):
        m = Module()
        m.submodules.system = system = System(self.config)
        controller = SdramController(
            chip=self.chip,
            mhz=self.config.clock_hz / 1e6,
            address_bits=self.config.engine.address_bits,
        )
        with_memory = reset_by(m, system.memory_reset, domain="memory")
        m.submodules.controller = with_memory(controller)
        connect(m, system.memory_read, controller.read)
        connect(m, system.memory_write, controller.write)
        connect(m, controller.pads, flipped(self.pads))
        m.d.comb += [
            controller.phase.eq(system.memory_phase),
            system.rx.eq(self.rx),
            self.tx.eq(system.tx),
            system.button.eq(self.button),
        ]
        for name in LIGHTS:
            m.d.comb += getattr(self, name).eq(getattr(system, name))
        return m
