# SPDX-FileCopyrightText: castbag contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Bench of the interleaver: nothing lost, order inside segments, slots kept apart, its pace."""

import dataclasses
from itertools import groupby, pairwise

import cocotb

from castbag.rtl.config import EngineConfig, preset
from castbag.rtl.interleave import MOST_PAGES, slot_count
from castbag.rtl.layouts import SLOTS, LookupLayout, SlottedLookupLayout
from castbag.sim.bench import STALLS, Bench, parameters

from .segments import lookups

WORDS = (1, 2, 3, 4, 5, 7, 8, 16)


def config_of(window: int) -> EngineConfig:
    return dataclasses.replace(preset("tiny"), window=window)


def frame(dut, *, idle: str = "never", stall: str = "never"):
    bench = Bench(dut)
    config = config_of(parameters()["window"])
    dut.words.value = 1
    dut.ordered.value = 0
    source = bench.source("i", LookupLayout(config), stall=idle)
    sink = bench.sink("o", SlottedLookupLayout(config), stall=stall)
    return bench, config, source, sink


def by_key(items, key) -> dict:
    """Items of each key, in order."""
    return {k: list(group) for k, group in groupby(sorted(items, key=key), key)}


async def interleaved(bench, source, sink, items, *, words, ordered=0) -> list[dict]:
    """Pass `items` through; what came out, after checking all that holds at any pace."""
    bench.dut.words.value = words
    bench.dut.ordered.value = ordered
    await bench.step(2)
    start = len(sink.items)
    source.send_all(items)
    await bench.until(lambda: len(sink.items) - start == len(items))
    await bench.step(2 * SLOTS)
    out = sink.items[start:]
    passed = [item["lookup"] for item in out]
    assert by_key(passed, lambda x: x["target"]) == by_key(items, lambda x: x["target"])
    for slot, queue in by_key(out, lambda x: x["slot"]).items():
        assert slot < (1 if ordered else slot_count(words))
        segments = [target for target, _ in groupby(x["lookup"]["target"] for x in queue)]
        assert len(segments) == len(set(segments)), f"slot {slot} mixes segments: {segments}"
    if ordered:
        assert passed == items
    return out


def mixes(bench, window: int) -> list[list[int]]:
    """Run lengths: all alike, random ones, and one that is more than the window among short."""
    rng = bench.rng
    return [
        [1] * 70,
        [rng.randint(1, 4) for _ in range(40)],
        [rng.choice([1, 2, window // 8, window // 2]) for _ in range(12)],
        [*[1] * 20, window + 9, *[rng.randint(1, 3) for _ in range(40)]],
    ]


@cocotb.test
@cocotb.parametrize(idle=list(STALLS), stall=list(STALLS))
async def keeps_segments(dut, idle, stall):
    bench, config, source, sink = frame(dut, idle=idle, stall=stall)
    await bench.reset()
    kinds = bench.rng.sample(mixes(bench, config.window) * 2, len(WORDS))
    for words, runs in zip(WORDS, kinds, strict=True):
        items = lookups(runs, lambda: bench.rng.getrandbits(config.vector_index_bits))
        await interleaved(bench, source, sink, items, words=words)


@cocotb.test
@cocotb.parametrize(idle=list(STALLS), stall=list(STALLS))
async def keeps_all_in_order(dut, idle, stall):
    bench, config, source, sink = frame(dut, idle=idle, stall=stall)
    await bench.reset()
    for words in (1, 16):
        items = lookups([1, 5, 2, 1, 20, 1, 1], lambda: bench.rng.getrandbits(8))
        await interleaved(bench, source, sink, items, words=words, ordered=1)
        await interleaved(bench, source, sink, items, words=words, ordered=0)


@cocotb.test
async def each_slot_has_its_turn(dut):
    """With every slot filled, a lookup a turn; never two of one slot within `SLOTS` cycles."""
    bench, config, source, sink = frame(dut)
    await bench.reset()
    room = config.window - 2 * SLOTS * -(-config.window // MOST_PAGES)
    for words in WORDS:
        slots = slot_count(words)
        for run in (r for r in (1, 2, 3, 4, 8, 16, 40) if slots * r <= room):
            start, size = len(sink.times), 4 * slots * run + 100
            items = lookups([run] * (size // run), lambda: bench.rng.getrandbits(8))
            await interleaved(bench, source, sink, items, words=words)
            times = sink.times[start:]
            if slots == 1:
                assert times == list(range(times[0], times[0] + len(items)))
                continue
            # Between the filling of the slots and their draining.
            middle = [t for t in times if t >= times[0] + slots * run + 2 * SLOTS]
            middle = middle[: -2 * slots * run]
            assert len(middle) > 50
            assert middle[-1] - middle[0] <= (len(middle) - 1) * SLOTS // slots + SLOTS
            for turns in by_key(zip(sink.items[start:], times, strict=True), _slot).values():
                assert all(b[1] - a[1] >= SLOTS for a, b in pairwise(turns))


def _slot(pair) -> int:
    return pair[0]["slot"]


@cocotb.test
async def a_long_segment_leaves_room(dut):
    """While a segment of half the window drains, all that follow pass it by."""
    bench, config, source, sink = frame(dut)
    await bench.reset()
    long = config.window // 2
    items = lookups([long, *[1] * 3 * long], lambda: 0)
    out = await interleaved(bench, source, sink, items, words=1)
    order = [x["lookup"]["target"] for x in out]
    end_of_long = len(order) - 1 - order[::-1].index(0)
    assert end_of_long >= 3 * long


@cocotb.test
async def ordered_takes_its_latency(dut):
    bench, _, source, sink = frame(dut)
    await bench.reset()
    await interleaved(bench, source, sink, lookups([1] * 200, lambda: 0), words=1, ordered=1)
    assert sink.times == [time + 4 for time in source.times]
    assert source.times == list(range(source.times[0], source.times[0] + 200))


@cocotb.test
async def one_segment_can_fill_the_window(dut):
    """What is held when this ends is forgotten at the reset with which the next test begins."""
    bench, config, source, sink = frame(dut)
    sink.hold = True
    await bench.reset()
    source.send_all(lookups([2 * config.window], lambda: 0))
    await bench.step(2 * config.window)
    page = -(-config.window // MOST_PAGES)
    assert config.window - SLOTS * page <= len(source.times) <= config.window


@cocotb.test
async def starts_afresh_after_a_reset(dut):
    bench, config, source, sink = frame(dut)
    await bench.reset()
    items = lookups([*[1] * 20, config.window, *[2] * config.window], lambda: 7)
    await interleaved(bench, source, sink, items, words=2)
