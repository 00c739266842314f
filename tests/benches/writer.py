# SPDX-FileCopyrightText: castbag contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Bench of the vector writer: the bytes that its requests and beats leave in memory."""

import cocotb

from castbag.rtl.config import preset
from castbag.rtl.layouts import RequestLayout, VectorWordLayout, WriteBeatLayout
from castbag.sim.bench import STALLS, Bench, parameters

DIMS = (1, 2, 3, 4, 17, 63, 64)


class Frame:
    """The unit, the vectors that it is given, and a write client's ends."""

    def __init__(self, dut, *, idle="never", requests="never", stall="never"):
        self.bench = Bench(dut)
        self.config = preset(parameters()["preset"])
        self.vectors = self.bench.source("i", VectorWordLayout(self.config), stall=idle)
        self.requests = self.bench.sink("request", RequestLayout(self.config), stall=requests)
        self.data = self.bench.sink("data", WriteBeatLayout(self.config), stall=stall)
        self.wrote = 0
        self.bench.add(self)
        dut.base.value, dut.words.value, dut.dim.value = 0, 1, 1

    def tick(self) -> None:
        self.wrote += int(self.bench.dut.wrote.value)

    async def write(self, dim: int, count: int) -> None:
        """Write `count` vectors, and compare all bytes that may have changed."""
        dut, config, rng = self.bench.dut, self.config, self.bench.rng
        words = config.words(dim)
        pitch, width = words * config.bus_bytes, 4 * dim
        places = (1 << config.address_bits) // config.bus_bytes
        rows = min(1 << config.vector_index_bits, places // words)
        base = rng.randrange(places - rows * words + 1) * config.bus_bytes
        dut.base.value, dut.words.value, dut.dim.value = base, words, dim
        start = len(self.requests.items), len(self.data.items), self.wrote
        expected = {}
        for row in rng.sample(range(rows), count):
            vector = rng.randbytes(pitch)
            address = base + row * pitch
            expected |= {address + k: vector[k] for k in range(width)}
            for word in range(words):
                beat = vector[word * config.bus_bytes : (word + 1) * config.bus_bytes]
                data, end = int.from_bytes(beat, "little"), int(word == words - 1)
                self.vectors.send({"data": data, "target": row, "end": end})
        await self.bench.until(lambda: self.vectors.idle)
        await self.bench.until(lambda: len(self.requests.items) - start[0] == count)
        await self.bench.until(lambda: len(self.data.items) - start[1] == count * words)
        await self.bench.step(10)

        requests, beats = self.requests.items[start[0] :], self.data.items[start[1] :]
        assert len(requests) == count and len(beats) == count * words
        assert self.wrote - start[2] == count
        written = {}
        for n, request in enumerate(requests):
            assert request["beats"] == words
            for word, beat in enumerate(beats[n * words : (n + 1) * words]):
                address = request["address"] + word * config.bus_bytes
                data = beat["data"].to_bytes(config.bus_bytes, "little")
                strobes = [k for k in range(config.bus_bytes) if beat["strobe"] >> k & 1]
                written |= {address + k: data[k] for k in strobes}
        assert written == expected


@cocotb.test
@cocotb.parametrize(idle=list(STALLS), requests=["never", "half"], stall=list(STALLS))
async def writes_vectors(dut, idle, requests, stall):
    frame = Frame(dut, idle=idle, requests=requests, stall=stall)
    await frame.bench.reset()
    for dim in DIMS:
        await frame.write(dim, 3 + 20 // dim)


@cocotb.test
@cocotb.parametrize(dim=DIMS)
async def writes_a_word_a_cycle(dut, dim):
    frame = Frame(dut)
    await frame.bench.reset()
    await frame.write(dim, 50)
    times, words = frame.data.times, frame.config.words(dim)
    assert times == list(range(times[0], times[0] + 50 * words))
    assert frame.requests.times == [time + 3 for time in times[::words]]
