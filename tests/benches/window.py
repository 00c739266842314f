# SPDX-FileCopyrightText: castbag contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Bench of the memory window: 32-bit words of a wider memory, against an array of bytes."""

import itertools
from dataclasses import replace

import cocotb

from castbag.rtl.axi import DECERR, OKAY, SLVERR
from castbag.rtl.config import preset
from castbag.sim.bench import STALLS, Bench, parameters

from .axi_managers import LiteManager
from .axi_memory import ORDERS, ReadMemory, WriteMemory

GIVEN = parameters()
SIZE, BITS = GIVEN["size"], GIVEN["data_bits"]
CONFIG = replace(preset("tiny"), bus_bits=BITS)
SHORT = GIVEN.get("short", False)
STALLED = [("never", "never"), ("half", "bursts")] if SHORT else itertools.product(STALLS, STALLS)


class WindowBench(Bench):
    """The window between a manager and a memory of `SIZE` bytes."""

    def __init__(self, dut, *, idle="never", stall="never", latency=1, order="any"):
        super().__init__(dut)
        self.content = bytearray(self.rng.randbytes(SIZE))
        self.model = bytearray(self.content)
        self.manager = LiteManager(self, idle=idle, stall=stall)
        ways = {"latency": latency, "address_stall": stall}
        self.memory_read = ReadMemory(
            self, CONFIG, self.content, bus="read", data_stall=idle, **ways
        )
        self.memory_write = WriteMemory(
            self,
            CONFIG,
            self.content,
            bus="write",
            order=order,
            data_stall=stall,
            answer_stall=idle,
            **ways,
        )

    async def read(self, address: int) -> None:
        access = self.manager.read(address)
        await self.manager.finish()
        expected = int.from_bytes(self.model[address : address + 4], "little")
        assert (access.response, access.word) == (OKAY, expected), hex(address)

    def write(self, address: int, word: int, strobe: int, **waits):
        for byte in range(4):
            if strobe >> byte & 1:
                self.model[address + byte] = word >> 8 * byte & 0xFF
        return self.manager.write(address, word, strobe, **waits)


@cocotb.test
@cocotb.parametrize(order=ORDERS, stalls=list(STALLED))
async def reads_and_writes_the_words_it_is_asked_for(dut, order, stalls):
    """Each strobe in each part of a memory word; address and data in any order on both sides."""
    idle, stall = stalls
    bench = WindowBench(dut, idle=idle, stall=stall, order=order)
    await bench.reset()
    rng = bench.rng
    cases = list(itertools.product(range(0, BITS // 8, 4), range(16)))
    for part, strobe in rng.sample(cases, len(cases) if order == "any" and not SHORT else 12):
        address = rng.randrange(SIZE * 8 // BITS) * (BITS // 8) + part
        waits = {"address_after": rng.randrange(6), "data_after": rng.randrange(6)}
        access = bench.write(address, rng.getrandbits(32), strobe, **waits)
        await bench.manager.finish()
        assert access.response == OKAY
        await bench.read(address)
        assert bench.content == bench.model, (part, strobe, waits)
    for address in (0, 4, SIZE - 8, SIZE - 4):
        await bench.read(address)
        bench.write(address, rng.getrandbits(32), 0xF)
        await bench.manager.finish()
    assert bench.content == bench.model


@cocotb.test
@cocotb.parametrize(stalls=[("never", "never"), ("half", "half")])
async def reads_beside_writes(dut, stalls):
    idle, stall = stalls
    bench = WindowBench(dut, idle=idle, stall=stall, latency=3)
    await bench.reset()
    rng, half = bench.rng, SIZE // 2
    reads = [bench.manager.read(rng.randrange(half // 4) * 4) for _ in range(50)]
    for _ in range(50):
        waits = {"address_after": rng.randrange(3), "data_after": rng.randrange(3)}
        address = half + rng.randrange(half // 4) * 4
        bench.write(address, rng.getrandbits(32), rng.randrange(16), **waits)
    await bench.manager.finish()
    for access in reads:
        word = bench.model[access.address : access.address + 4]
        assert access.word == int.from_bytes(word, "little")
    assert bench.content == bench.model


@cocotb.test
@cocotb.parametrize(response=[SLVERR, DECERR])
async def hands_back_memorys_response(dut, response):
    bench = WindowBench(dut)
    await bench.reset()
    word = BITS // 8
    bench.memory_read.responses[3 * word] = bench.memory_write.responses[3 * word] = response
    for address, expected in ((3 * word + 4, response), (4 * word, OKAY), (2 * word + 4, OKAY)):
        accesses = [bench.manager.read(address), bench.manager.write(address, 0)]
        await bench.manager.finish()
        assert [access.response for access in accesses] == [expected] * 2


@cocotb.test
async def passes_all_in_the_cycle(dut):
    bench = WindowBench(dut)
    await bench.reset()
    manager = bench.manager
    read = manager.read(4)
    await manager.finish()
    write = manager.write(4, 0)
    await manager.finish()
    assert manager.ar.times == [burst.cycle for burst in bench.memory_read.bursts]
    assert bench.memory_read.times == [read.finished]
    assert manager.aw.times == [burst.cycle for burst in bench.memory_write.bursts]
    assert manager.w.times == bench.memory_write.times
    assert write.finished == manager.w.times[0] + 1  # the memory's own latency
