# SPDX-FileCopyrightText: castbag contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Simulated memories by name: figures that hang together, changes, and what is refused."""

import re

import pytest

from castbag.sim.memories import MEMORIES, Dram, UnknownMemory, memory_of, memory_sources

DRAMS = {name: kind for name, kind in MEMORIES.items() if isinstance(kind, Dram)}


@pytest.mark.parametrize("name", DRAMS)
def test_figures_hang_together(name):
    kind = DRAMS[name]
    assert kind.rc >= kind.ras + kind.rp
    assert kind.ccd_s >= kind.burst_clocks  # else data would collide
    for short, long in (("ccd_s", "ccd_l"), ("rrd_s", "rrd_l"), ("wtr_s", "wtr_l")):
        assert getattr(kind, short) <= getattr(kind, long)
        assert kind.groups > 1 or getattr(kind, short) == getattr(kind, long)
    assert kind.faw >= 4 * kind.rrd_s
    for name in ("banks", "groups", "rows", "row_bytes", "burst_bytes"):
        assert getattr(kind, name) & (getattr(kind, name) - 1) == 0
    # An interval of refresh is 64 ms (or 32) over 8192 rows, about.
    assert 3.8e6 <= kind.refi * kind.clock_ps <= 7.82e6
    assert re.search(r"JEDEC|data sheet", kind.source)


def test_peaks():
    peaks = {
        name: kind.peak_bytes * 1e3 / (kind.clock_ps * kind.clocks) for name, kind in DRAMS.items()
    }
    expected = {"sdr-133": 0.2667, "ddr3-800-x16": 1.6, "ddr4-3200-x64": 25.6}  # GB/s
    assert peaks == pytest.approx(expected | {"hbm2-pseudochannel": 16.0}, rel=1e-3)
    assert DRAMS["sdr-133"].capacity == 32 << 20
    assert DRAMS["ddr3-800-x16"].capacity == 256 << 20
    assert DRAMS["ddr4-3200-x64"].capacity == 8 << 30


def test_changes():
    assert memory_of("ideal") == MEMORIES["ideal"]
    ideal = memory_of("ideal,latency=40,rate=8")
    assert (ideal.latency, ideal.rate) == (40, 8)
    assert memory_of("ddr3-800-x16,window=2,back=9").window == 2


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("drum", "memory 'drum' unknown: there are ideal, sdr-133, "),
        ("ideal,window=2", "memory ideal: 'window' cannot be set; there is latency, rate"),
        ("sdr-133,latency=2", "memory sdr-133: 'latency' cannot be set; there is window, front"),
        ("ideal,latency", "memory ideal: latency = '': must be a number"),
        ("ideal,latency=1", "memory ideal: latency = 1: must be 2 to 4096"),
        ("ideal,rate=17", "memory ideal: rate = 17: must be 1 to 16"),
        ("sdr-133,window=65", "memory sdr-133: window = 65: must be 1 to 64"),
    ],
)
def test_what_is_refused(text, message):
    with pytest.raises(UnknownMemory, match=f"^{re.escape(message)}"):
        memory_of(text)


@pytest.mark.parametrize("name", MEMORIES)
def test_every_constant_is_told(name):
    """Those that the Verilog asks for, and no others."""
    header = memory_sources()["memory_timing.vh"]
    asked = re.findall(r"^`MEMORY_CONSTANT\((\w+)\)$", header, re.MULTILINE)
    told = [re.fullmatch(r"\+MEMORY_(\w+)=\d+", word)[1] for word in memory_of(name).arguments()]
    assert sorted(told) == sorted(asked)
