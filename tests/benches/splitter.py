# SPDX-FileCopyrightText: castbag contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Bench of the splitter: the bursts of a request, for any bus and any longest burst."""

import dataclasses

import cocotb

from castbag.rtl.config import EngineConfig, preset
from castbag.rtl.layouts import RequestLayout
from castbag.rtl.memory.bursts import PAGE_BYTES, BurstLayout
from castbag.sim.bench import STALLS, Bench, parameters


def config_of(bus_bits: int, burst_beats: int) -> EngineConfig:
    return dataclasses.replace(
        preset("tiny"),
        bus_bits=bus_bits,
        burst_beats=burst_beats,
        vector_beats=512,
        way_pairs=128,
    )


def bursts_of(config: EngineConfig, place: int, beats: int) -> list[dict[str, int]]:
    """Each page's share of the request, cut into the longest bursts from its start on."""
    page, bursts = PAGE_BYTES // config.bus_bytes, []
    for share in sorted({at // page for at in range(place, place + beats)}):
        first, end = max(place, share * page), min(place + beats, (share + 1) * page)
        for at in range(first, end, config.burst_beats):
            bursts.append({"place": at, "beats": min(config.burst_beats, end - at)})
    return bursts


@cocotb.test
@cocotb.parametrize(stall=list(STALLS))
async def splits(dut, stall):
    config = config_of(**parameters())
    bench = Bench(dut)
    source = bench.source("i", RequestLayout(config))
    sink = bench.sink("o", BurstLayout(config), stall=stall)
    await bench.reset()
    page = PAGE_BYTES // config.bus_bytes
    expected = []
    for _ in range(60):
        place = bench.rng.choice([0, page, bench.rng.randrange(4 * page)])
        place = max(0, place - bench.rng.choice([0, 0, 1, 2, config.burst_beats]))
        beats = bench.rng.choice([1, 2, config.burst_beats, 255, 256, bench.rng.randint(1, 256)])
        source.send({"address": place * config.bus_bytes, "beats": beats})
        expected += bursts_of(config, place, beats)
    await bench.until(lambda: len(sink.items) == len(expected))
    await bench.step(4)
    assert sink.items == expected
    assert int(dut.busy.value) == 0
    if stall == "never":
        first = source.times[0] + 2
        assert sink.times == list(range(first, first + len(expected)))
