# SPDX-FileCopyrightText: castbag contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Bench of the list writer: what its beats and requests leave in memory, and its pace."""

import cocotb

from castbag.rtl.layouts import RequestLayout, WriteBeatLayout
from castbag.rtl.memory.lists import ListItemLayout
from castbag.sim.bench import STALLS, Bench, parameters

from .list_reader import SIZE, check_bursts, config_of, places


def writing(bench: Bench, *, idle: str, bus: str):
    config = config_of(parameters()["bus_bits"])
    start = bench.source("start", config.address_bits)
    source = bench.source("i", ListItemLayout(), stall=idle)
    requests = bench.sink("request", RequestLayout(config), stall=bus)
    data = bench.sink("data", WriteBeatLayout(config), stall=bus)
    return config, start, source, requests, data


@cocotb.test
@cocotb.parametrize(idle=["never", "half"], bus=list(STALLS))
async def writes_lists(dut, idle, bus):
    bench = Bench(dut)
    config, start, source, requests, data = writing(bench, idle=idle, bus=bus)
    await bench.reset()
    block = config.bus_bytes * config.burst_beats
    memory = bytearray(bench.rng.randbytes(SIZE))
    expected = bytearray(memory)
    blocks, beats = 0, 0
    sizes = (1, 1, 2, 3, config.lanes, config.lanes + 1, 1, 61, block // 4, block // 4 + 1, 300)
    for count in sizes:
        address = bench.rng.randrange(SIZE // 2 // config.bus_bytes) * config.bus_bytes
        words = [bench.rng.getrandbits(32) for _ in range(count)]
        start.send(address)
        for k, word in enumerate(words):
            source.send({"data": word, "end": k == count - 1})
            expected[address + 4 * k : address + 4 * k + 4] = word.to_bytes(4, "little")
        last = address + 4 * count - 1
        blocks += last // block - address // block + 1
        beats += last // config.bus_bytes - address // config.bus_bytes + 1
    await bench.until(lambda: source.idle and len(data.items) == beats)
    await bench.until(lambda: len(requests.items) == blocks)
    await bench.step(20)
    assert len(data.items) == beats and len(requests.items) == blocks
    check_bursts(config, requests.items)
    for place, beat in zip(places(config, requests.items), data.items, strict=True):
        word = beat["data"].to_bytes(config.bus_bytes, "little")
        for k in range(config.bus_bytes):
            if beat["strobe"] >> k & 1:
                memory[place + k] = word[k]
    assert memory == expected
    assert int(dut.busy.value) == 0


@cocotb.test
async def writes_one_element_a_cycle(dut):
    bench = Bench(dut)
    config, start, source, requests, data = writing(bench, idle="never", bus="never")
    await bench.reset()
    start.send(5 * config.bus_bytes)
    source.send_all({"data": n, "end": n == 599} for n in range(600))
    await bench.until(lambda: source.idle)
    assert source.times == list(range(source.times[0], source.times[0] + 600))
    await bench.step(4)
    assert len(data.items) == -(-600 // config.lanes)
    assert requests.items[0] == {"address": 5 * config.bus_bytes, "beats": config.burst_beats - 5}


@cocotb.test
async def is_busy_until_the_last_request_is_taken(dut):
    bench = Bench(dut)
    _, start, source, requests, data = writing(bench, idle="never", bus="never")
    requests.hold = True
    await bench.reset()
    start.send(0)
    source.send({"data": 7, "end": 1})
    await bench.until(lambda: len(data.items) == 1)
    await bench.step(10)
    assert int(dut.busy.value) == 1
    requests.hold = False
    await bench.until(lambda: len(requests.items) == 1)
    await bench.step()
    assert int(dut.busy.value) == 0
