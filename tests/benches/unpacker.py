# SPDX-FileCopyrightText: castbag contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Bench of the unpacker: the pairs of each group, its first one last, and the pace."""

import cocotb

from castbag.rtl.config import EngineConfig
from castbag.rtl.sort.unpacker import UnpackedLayout
from castbag.sim.bench import Bench, parameters

from .packed import Packed, random_pairs


def unpacked(packed: Packed, pairs: list[dict]) -> list[dict]:
    """What leaves of those pairs: of each group the second one to the last one, then the first."""
    order = [*range(1, packed.group), 0]
    return [
        {"pair": pairs[start + number], "number": number, "last": int(number == 0)}
        for start in range(0, len(pairs), packed.group)
        for number in order
    ]


async def unpack(dut, *, chunks: int, idle="never", stall="never"):
    config = EngineConfig(**parameters()["config"])
    packed, bench = Packed(config), Bench(dut)
    source = bench.source("i", config.bus_bits, stall=idle)
    sink = bench.sink("o", UnpackedLayout(config), stall=stall)
    await bench.reset()
    pairs = random_pairs(bench.rng, chunks * packed.chunk, config)
    source.send_all(packed.beats(pairs, junk=bench.rng))
    await bench.until(lambda: source.idle and len(sink.items) == len(pairs))
    await bench.step(20)
    assert sink.items == unpacked(packed, pairs)
    return packed, source, sink


@cocotb.test
@cocotb.parametrize(idle=["never", "bursts"], stall=["never", "half", "bursts"])
async def unpacks_at_any_pace(dut, idle, stall):
    await unpack(dut, chunks=3, idle=idle, stall=stall)


@cocotb.test
async def gives_a_pair_a_cycle(dut):
    """A group takes as many cycles as it has pairs; a beat is done with its last slot's pair."""
    packed, source, sink = await unpack(dut, chunks=5)
    assert sink.times == list(range(sink.times[0], sink.times[0] + 5 * packed.chunk))
    slots = [time for item, time in zip(sink.items, sink.times, strict=True) if not alone(item)]
    lanes = packed.bus_bytes // packed.slot
    assert source.times == (slots if packed.group > 1 else sink.times)[lanes - 1 :: lanes]


def alone(item: dict) -> bool:
    """A group's first pair: it has no slot."""
    return item["number"] == 0
