# SPDX-FileCopyrightText: castbag contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Bench of the list reader: the elements, the beats that it asks for, and its pace."""

import dataclasses

import cocotb
import numpy as np

from castbag.rtl.config import EngineConfig, preset
from castbag.rtl.layouts import RequestLayout
from castbag.rtl.memory.lists import ListStartLayout
from castbag.sim.bench import STALLS, Bench, parameters

PAGE = 4096
SIZE = 1 << 15


def config_of(bus_bits: int) -> EngineConfig:
    return dataclasses.replace(preset("tiny"), bus_bits=bus_bits)


def check_bursts(config: EngineConfig, requests: list[dict]) -> None:
    """Each request must be one that a port issues as a single burst."""
    for request in requests:
        size = request["beats"] * config.bus_bytes
        assert 1 <= request["beats"] <= config.burst_beats
        assert request["address"] % config.bus_bytes == 0
        assert request["address"] % PAGE + size <= PAGE


def places(config: EngineConfig, requests: list[dict]) -> list[int]:
    """The address of each beat of the requests."""
    size = config.bus_bytes
    return [r["address"] + k * size for r in requests for k in range(r["beats"])]


class Server:
    """Answers the reader's requests, as a read port's client sees it."""

    def __init__(self, bench: Bench, config: EngineConfig, memory: bytes, *, bus: str):
        self.requests = bench.sink("request", RequestLayout(config), stall=bus)
        self.data = bench.source("data", config.bus_bits, stall=bus)
        self._config, self._memory, self._served = config, memory, 0
        bench.add(self)

    def tick(self) -> None:
        fresh = self.requests.items[self._served :]
        self._served += len(fresh)
        for place in places(self._config, fresh):
            word = self._memory[place : place + self._config.bus_bytes]
            self.data.send(int.from_bytes(word, "little"))


def reading(bench: Bench, *, stall: str, bus: str):
    config = config_of(parameters()["bus_bits"])
    memory = bench.rng.randbytes(SIZE)
    start = bench.source("start", ListStartLayout(config))
    sink = bench.sink("o", 64, stall=stall)
    return config, memory, start, sink, Server(bench, config, memory, bus=bus)


@cocotb.test
@cocotb.parametrize(stall=list(STALLS), bus=["never", "half"])
async def reads_lists(dut, stall, bus):
    bench = Bench(dut)
    config, memory, start, sink, server = reading(bench, stall=stall, bus=bus)
    await bench.reset()
    expected, beats = [], []
    for count in (1, 0, 2, 3, config.lanes, config.lanes + 1, 0, 0, 61, 200):
        for wide in (0, 1):
            address = bench.rng.randrange(SIZE // 2 // config.bus_bytes) * config.bus_bytes
            start.send({"address": address, "count": count, "wide": wide})
            size = 8 if wide else 4
            items = np.frombuffer(memory, f"<i{size}", count, address)
            expected += items.astype("<i8").view("<u8").tolist()
            beats += range(address, address + count * size, config.bus_bytes)
    await bench.until(lambda: start.idle and len(sink.items) == len(expected))
    await bench.step(20)
    assert sink.items == expected
    assert places(config, server.requests.items) == beats
    check_bursts(config, server.requests.items)
    assert server.data.idle
    assert int(dut.busy.value) == 0


@cocotb.test
@cocotb.parametrize(wide=[0, 1])
async def reads_one_element_a_cycle(dut, wide):
    bench = Bench(dut)
    config, _, start, sink, server = reading(bench, stall="never", bus="never")
    await bench.reset()
    address = PAGE - 3 * config.bus_bytes
    start.send({"address": address, "count": 500, "wide": wide})
    await bench.until(lambda: len(sink.items) == 500)
    assert sink.times == list(range(sink.times[0], sink.times[0] + 500))
    assert sink.times[0] == server.data.times[0] + 1
    requests = server.requests
    assert requests.times == list(range(requests.times[0], requests.times[0] + len(requests.items)))
    assert requests.items[0] == {"address": address, "beats": 3}
    assert requests.items[1] == {"address": PAGE, "beats": config.burst_beats}
