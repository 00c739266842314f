# SPDX-FileCopyrightText: castbag contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Bench of the queue: order, nothing lost, capacity, one item a cycle, latency."""

import cocotb

from castbag.sim.bench import STALLS, Bench, parameters

WIDTH = 9


async def _pass_through(dut, items, idle, stall):
    bench = Bench(dut)
    source = bench.source("i", WIDTH, stall=idle)
    sink = bench.sink("o", WIDTH, stall=stall)
    await bench.reset()
    source.send_all(items)
    await bench.until(lambda: len(sink.items) == len(items))
    assert sink.items == items
    return source, sink


@cocotb.test
@cocotb.parametrize(idle=list(STALLS), stall=list(STALLS))
async def keeps_order(dut, idle, stall):
    items = [n * 37 % 512 for n in range(300)]
    await _pass_through(dut, items, idle, stall)


@cocotb.test
async def one_item_a_cycle_after_its_latency(dut):
    items = [n % 512 for n in range(200)]
    source, sink = await _pass_through(dut, items, "never", "never")
    assert source.times == list(range(source.times[0], source.times[0] + 200))
    assert sink.times == [time + parameters()["latency"] for time in source.times]


@cocotb.test
async def holds_its_depth(dut):
    depth = parameters()["depth"]
    bench = Bench(dut)
    source = bench.source("i", WIDTH)
    sink = bench.sink("o", WIDTH)
    sink.hold = True
    await bench.reset()
    source.send_all(range(depth + 1))
    await bench.step(depth + 20)
    assert len(source.waiting) == 1
    assert int(dut.level.value) == depth
    sink.hold = False
    await bench.until(lambda: len(sink.items) == depth + 1)
    assert sink.items == list(range(depth + 1))
