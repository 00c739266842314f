# SPDX-FileCopyrightText: castbag contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Bench of the run writer: beats as the layout has them, requests of whole chunks, its pace."""

import cocotb

from castbag.rtl.config import EngineConfig
from castbag.rtl.layouts import RequestLayout, WriteBeatLayout
from castbag.rtl.sort.run_writer import RunPairLayout
from castbag.sim.bench import Bench, parameters

from .packed import Packed, random_pairs


class Writing:
    """The writer, and the ends of its streams."""

    def __init__(self, dut, *, idle="never", requests="never", bus="never"):
        self.config = EngineConfig(**parameters()["config"])
        self.packed = Packed(self.config)
        self.bench = Bench(dut)
        self.source = self.bench.source("i", RunPairLayout(self.config), stall=idle)
        self.requests = self.bench.sink("request", RequestLayout(self.config), stall=requests)
        self.data = self.bench.sink("data", WriteBeatLayout(self.config), stall=bus)
        dut.start.value = 0

    async def start(self) -> int:
        """From now on pairs go to a new address, which this gives."""
        dut, size = self.bench.dut, self.config.bus_bytes
        address = self.bench.rng.randrange(1 << 15) * size
        dut.start.value, dut.address.value = 1, address
        await self.bench.step()
        dut.start.value, dut.address.value = 0, 0
        return address

    def send(self, chunks: int) -> list[int]:
        """Pairs of so many chunks enter; gives the beats that must leave."""
        pairs = random_pairs(self.bench.rng, chunks * self.packed.chunk, self.config)
        self.source.send_all(pairs)
        return self.packed.beats(pairs)

    async def asked(self, chunks: int) -> None:
        """Wait until that many requests have been taken."""
        await self.bench.until(lambda: len(self.requests.items) == chunks)

    def chunks(self, address: int, count: int) -> list[dict]:
        """The requests of so many chunks."""
        beats = self.packed.chunk_beats
        step = beats * self.config.bus_bytes
        return [{"address": address + k * step, "beats": beats} for k in range(count)]


@cocotb.test
@cocotb.parametrize(
    ways=[
        ("never", "never", "half"),
        ("half", "never", "bursts"),
        ("never", "mostly", "never"),
        ("bursts", "mostly", "mostly"),
    ]
)
async def writes_runs(dut, ways):
    """One right after the other, each start's from its address on."""
    idle, requests, bus = ways
    writing = Writing(dut, idle=idle, requests=requests, bus=bus)
    bench, data = writing.bench, writing.data
    await bench.reset()
    beats, chunks = [], []
    for count in (1, 3, 2):
        address = await writing.start()
        chunks += writing.chunks(address, count)
        beats += writing.send(count)
        await writing.asked(len(chunks))
        await bench.step(5)
        assert int(dut.busy.value) == 0
    assert [beat["data"] for beat in data.items] == beats
    assert {beat["strobe"] for beat in data.items} == {(1 << writing.config.bus_bytes) - 1}
    assert writing.requests.items == chunks
    size = writing.packed.chunk_beats
    for k, time in enumerate(writing.requests.times):
        assert time > data.times[(k + 1) * size - 1], "a request before its last beat"


@cocotb.test
async def takes_a_pair_a_cycle(dut):
    writing = Writing(dut)
    await writing.bench.reset()
    await writing.start()
    beats = writing.send(5)
    await writing.asked(5)
    entered, packed = writing.source.times, writing.packed
    assert entered == list(range(entered[0], entered[0] + 5 * packed.chunk))
    # A beat leaves with the last of its pairs; a request follows its last beat.
    lanes = writing.config.bus_bytes // packed.slot
    last = packed.places()[lanes - 1 :: lanes]
    closing = [entered[chunk * packed.chunk + pair] for chunk in range(5) for pair in last]
    assert writing.data.times == closing
    assert len(closing) == len(beats)
    assert writing.requests.times == [
        time + 1 for time in closing[packed.chunk_beats - 1 :: len(last)]
    ]


@cocotb.test
async def is_busy_until_the_last_request_is_taken(dut):
    writing = Writing(dut)
    bench, packed = writing.bench, writing.packed
    writing.requests.hold = True
    await bench.reset()
    await writing.start()
    assert int(dut.busy.value) == 0
    pairs = random_pairs(bench.rng, packed.chunk, writing.config)
    writing.source.send_all(pairs[:-1])
    await bench.until(lambda: writing.source.idle)
    await bench.step(10)
    assert int(dut.busy.value) == 1, "pairs of a chunk are there"
    writing.source.send(pairs[-1])
    await bench.until(lambda: len(writing.data.items) == packed.chunk_beats)
    await bench.step(10)
    assert int(dut.busy.value) == 1, "the request is there"
    # Meanwhile the next chunk enters, but for its last pair.
    writing.send(1)
    await bench.step(2 * packed.chunk)
    assert len(writing.source.waiting) == 1
    writing.requests.hold = False
    await writing.asked(2)
    await bench.step()
    assert int(dut.busy.value) == 0
