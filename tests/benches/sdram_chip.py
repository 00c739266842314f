# SPDX-FileCopyrightText: castbag contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Bench of sdram_chip.v: commands by hand, right to the clock; then one that breaks a rule."""

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import RisingEdge

from castbag.sim.bench import parameters
from castbag.sim.sdram import SDRAM_RULES

C = parameters()["constants"]
RULE = parameters()["rule"]
CODES = {"nop": 0, "A": 0b100, "R": 0b010, "W": 0b011, "P": 0b101, "F": 0b110, "M": 0b111}
ALL = 1 << 10
MODE = C["CL"] << 4 | 2


class Chip:
    """The pins: a command a clock."""

    def __init__(self, dut):
        self.dut = dut
        for name in ("cs", "ras", "cas", "we", "ba", "a", "dqm", "dq_i", "dq_oe", "poke", "word"):
            getattr(dut, name).value = 0
        dut.cke.value = 1

    async def send(self, command="nop", bank=0, a=0, *, data=None, wait=1) -> None:
        """A command, and until `wait` clocks after it nothing; `data` stand until then."""
        dut = self.dut
        code = command if isinstance(command, int) else CODES[command]
        dut.cs.value = int(command != "nop")
        dut.ras.value, dut.cas.value, dut.we.value = code >> 2, code >> 1 & 1, code & 1
        dut.ba.value, dut.a.value = bank, a
        dut.dq_oe.value = int(data is not None)
        dut.dq_i.value = data or 0
        await RisingEdge(dut.clk)
        dut.cs.value = 0
        for _ in range(wait - 1):
            await RisingEdge(dut.clk)

    async def power_up(self, *, quiet=None, refreshes=None, mode=MODE, mrd=None) -> None:
        quiet = C["POWER_UP"] if quiet is None else quiet
        await self.send(wait=quiet + 2)
        await self.send("P", a=ALL, wait=C["T_RP"])
        for _ in range(C["REFRESHES"] if refreshes is None else refreshes):
            await self.send("F", wait=C["T_RFC"])
        await self.send("M", a=mode, wait=C["T_MRD"] if mrd is None else mrd)


async def legal(chip: Chip) -> None:
    """Every distance that there is, as short as may be."""
    await chip.power_up()
    await chip.send("A", 0, 5, wait=C["T_RRD"])
    await chip.send("A", 1, 6, wait=C["T_RCD"])
    await chip.send("W", 0, 8, data=0x1234, wait=4)
    await chip.send("W", 1, 8, data=0x5678, wait=4)
    await chip.send("R", 0, 8, wait=4 + C["CL"] + 1)
    await chip.send("W", 0, 12, data=0x9ABC, wait=3 + C["T_WR"])
    await chip.send("P", 0, wait=C["T_RP"])
    await chip.send("A", 0, 7, wait=C["T_RAS"])
    await chip.send("P", 0, a=ALL, wait=max(C["T_RP"], C["T_RC"] - C["T_RAS"]))
    await chip.send("F", wait=C["T_RFC"])
    await chip.send("A", 0, 7, wait=C["T_RCD"])
    await chip.send("R", 0, 0, wait=4)
    await chip.send("P", 0, wait=20)


async def breaking(chip: Chip, rule: int) -> None:
    if rule == 8:
        await chip.power_up(mrd=C["T_MRD"] - 1)
    elif rule == 10:
        await chip.power_up(quiet=C["POWER_UP"] - 10)
    elif rule == 11:
        await chip.power_up(mode=MODE ^ 1)
    else:
        await chip.power_up()
    if rule == 1:
        await chip.send("A", 0, 5, wait=C["T_RCD"] - 1)
        await chip.send("R", 0, 8)
    elif rule == 2:
        await chip.send("A", 0, 5, wait=C["T_RC"])
        await chip.send("P", 0, wait=C["T_RP"] - 1)
        await chip.send("A", 0, 6)
    elif rule == 3:
        await chip.send("A", 0, 5, wait=C["T_RAS"] - 1)
        await chip.send("P", 0)
    elif rule == 4:
        await chip.send("A", 0, 5, wait=C["T_RAS"])
        await chip.send("P", 0, wait=C["T_RP"])
        await chip.send("A", 0, 6)
    elif rule == 5:
        await chip.send("A", 0, 5, wait=C["T_RRD"] - 1)
        await chip.send("A", 1, 6)
    elif rule == 6:
        await chip.send("A", 0, 5, wait=C["T_RCD"])
        await chip.send("W", 0, 8, data=1, wait=3 + C["T_WR"] - 1)
        await chip.send("P", 0)
    elif rule == 7:
        await chip.send("F", wait=C["T_RFC"] - 1)
        await chip.send("A", 0, 5)
    elif rule == 8:
        await chip.send("A", 0, 5)
    elif rule == 9:
        await chip.send(wait=10 * C["REFRESH"])
    elif rule == 12:
        await chip.send("R", 0, 8)
    elif rule == 13:
        await chip.send("A", 0, 5, wait=C["T_RCD"])
        await chip.send("R", 0, 8, wait=4 + C["CL"])
        await chip.send("W", 0, 8, data=1)
    elif rule == 14:
        await chip.send("A", 0, 5, wait=C["T_RCD"])
        await chip.send("R", 0, 8, wait=3)
        await chip.send("R", 0, 12)
    elif rule == 15:
        await chip.send("A", 0, 5, wait=C["T_RCD"])
        await chip.send("W", 0, 8)
    elif rule == 16:
        await chip.send("A", 0, 5, wait=C["T_RCD"])
        await chip.send(0b001)


@cocotb.test
async def names_what_is_broken(dut):
    Clock(dut.clk, 10, "ns").start()
    chip = Chip(dut)
    if RULE:
        await breaking(chip, RULE)
    else:
        await legal(chip)
    await chip.send(wait=3)
    found = int(dut.broken.value)
    assert found == RULE, f"{SDRAM_RULES.get(found)} at {int(dut.broken_clock.value)}"
    if not RULE:  # what was written first lies there, its four transfers alike
        dut.word.value = 5 * 4 << C["COLUMN_BITS"] - 2 | 2
        await chip.send(wait=2)
        assert int(dut.peek_data.value) == 0x1234_1234_1234_1234
