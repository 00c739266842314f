# SPDX-FileCopyrightText: castbag contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Bench of axi_rules.v: each rule broken once, and each of their near misses."""

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import FallingEdge

from castbag.sim.session import RULES

BEAT = 8
LIMIT = 0x4000
READ = {"arvalid": 1, "arready": 1, "araddr": 0, "arlen": 0, "arsize": 3, "arburst": 1}
WRITE = {name.replace("ar", "aw", 1): value for name, value in READ.items()}
DATA = {"wvalid": 1, "wready": 1, "wstrb": 0xFF}
HELD = {"ar": {"arready": 0}, "aw": {"awready": 0}, "w": {"wready": 0}}


async def play(dut, *cycles):
    """After a reset, show the wires these values, a cycle each; then let them rest."""
    dut.rst.value = 1
    dut.clear.value = 0
    dut.bytes.value = LIMIT
    wires = ("id", "addr", "len", "size", "burst", "valid", "ready")
    names = [f"{channel}{wire}" for channel in ("ar", "aw") for wire in wires]
    names += ["wdata", "wstrb", "wlast", "wvalid", "wready"]
    Clock(dut.clk, 10, "ns").start()
    for shown in ({}, {}, *cycles, {}, {}):
        await FallingEdge(dut.clk)
        for name in names:
            getattr(dut, name).value = shown.get(name, 0)
        if shown:
            dut.rst.value = 0
    await FallingEdge(dut.clk)


def broken(dut):
    """(rule, address), as the session would say it."""
    rule = int(dut.broken.value)
    return (RULES[rule], int(dut.address.value)) if rule else None


def write(beats, *, first=0):
    """Cycles of a good burst."""
    lasts = [0] * (beats - 1) + [1]
    return [WRITE | {"awaddr": first, "awlen": beats - 1}, *(DATA | {"wlast": k} for k in lasts)]


@cocotb.test
async def good_bursts_pass(dut):
    await play(
        dut,
        READ | {"araddr": 0xFF8},
        READ | {"araddr": 0x1000, "arlen": 255},
        READ | {"araddr": LIMIT - 256 * BEAT, "arlen": 255},
        READ | HELD["ar"],
        READ,
        READ | HELD["ar"],
        READ | HELD["ar"],
        READ,
        *write(3),
        *write(1, first=0xFF8),
        *write(1, first=LIMIT - BEAT),
        WRITE | {"awlen": 1},
        WRITE,  # two addresses, then the data of both
        DATA,
        DATA | {"wlast": 1} | HELD["w"],
        DATA | {"wlast": 1},
        DATA | {"wlast": 1},
    )
    assert broken(dut) is None
    assert dut.outside.value == 0


@cocotb.test
async def addresses_are_held_to_their_rules(dut):
    for name, good in (("ar", READ), ("aw", WRITE)):
        for field, value in (("burst", 0), ("burst", 2), ("size", 2)):
            await play(dut, good | {f"{name}addr": 0x40, f"{name}{field}": value})
            assert broken(dut) == (f"{name.upper()}: not an INCR burst of whole bus words", 0x40)
        for first, beats in ((0xFF8, 2), (0x1808, 256)):
            await play(dut, good | {f"{name}addr": first, f"{name}len": beats - 1})
            assert broken(dut) == (f"{name.upper()}: the burst crosses 4 KiB", first)


@cocotb.test
async def offers_stand(dut):
    for name, good in (("ar", READ), ("aw", WRITE)):
        rule = f"{name.upper()}: a standing burst was withdrawn or changed"
        offer = good | {f"{name}addr": 0x40}
        for change in ({f"{name}valid": 0}, {f"{name}addr": 0x48}, {f"{name}len": 1}):
            await play(dut, offer | HELD[name], offer | change)
            assert broken(dut) == (rule, 0x40)
    for change in ({"wvalid": 0}, {"wdata": 1}, {"wstrb": 1}, {"wlast": 0}):
        await play(dut, WRITE, DATA | {"wlast": 1} | HELD["w"], DATA | {"wlast": 1} | change)
        assert broken(dut)[0] == "W: a standing beat was withdrawn or changed"


@cocotb.test
async def the_last_beat_is_marked(dut):
    rule = "W: WLAST is not on the burst's last beat"
    burst = write(3, first=0x40)
    await play(dut, *burst[:2], burst[3])  # early
    assert broken(dut) == (rule, 0x40)
    await play(dut, *burst[:3], burst[2])  # late
    assert broken(dut) == (rule, 0x40)


@cocotb.test
async def the_first_broken_rule_is_kept(dut):
    await play(dut, READ | {"arburst": 0, "araddr": 0x40}, READ | {"araddr": 0xFF8, "arlen": 1})
    assert broken(dut) == ("AR: not an INCR burst of whole bus words", 0x40)


@cocotb.test
async def bursts_beyond_memory_are_noted(dut):
    for name, good in (("ar", READ), ("aw", WRITE)):
        outside = [
            good | {f"{name}addr": LIMIT - BEAT},
            good | {f"{name}addr": LIMIT - 0x10, f"{name}len": 1},
            good | {f"{name}addr": LIMIT},
            good | {f"{name}addr": 2 * LIMIT},
        ]
        await play(dut, *outside)
        assert broken(dut) is None
        assert dut.outside.value == 1
        assert int(dut.outside_address.value) == LIMIT
        dut.clear.value = 1
        await FallingEdge(dut.clk)
        assert dut.outside.value == 0
