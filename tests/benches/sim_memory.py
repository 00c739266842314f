# SPDX-FileCopyrightText: castbag contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Bench of memory.v: contents by a client that is not ours, and timing to the cycle."""

import logging
import random
from collections import deque
from itertools import chain

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import RisingEdge
from cocotbext.axi import AxiBus, AxiMaster

from castbag.rtl.axi import DECERR, OKAY
from castbag.sim.bench import STALLS, parameters

SIZE = 1 << parameters()["SIZE_BITS"]
BEAT = parameters()["DATA_BITS"] // 8
LATENCY = parameters()["LATENCY"]
BURSTS = parameters()["BURSTS"]
CHANNELS = ("ar", "r", "aw", "w", "b")


class Watch:
    """Cycles of the transfers on each channel, and of each rise of R's and B's valid."""

    def __init__(self, dut):
        self.dut = dut
        self.cycle = 0
        self.taken = {channel: [] for channel in CHANNELS}
        self.valid = {"r": [], "b": []}
        cocotb.start_soon(self._run())

    async def _run(self):
        ports = {
            c: [getattr(self.dut, f"s_axi_{c}{part}") for part in ("valid", "ready")]
            for c in CHANNELS
        }
        while True:
            await RisingEdge(self.dut.clk)
            self.cycle += 1
            for channel, (valid, ready) in ports.items():
                if valid.value == 1 and channel in self.valid:
                    self.valid[channel].append(self.cycle)
                if valid.value == 1 and ready.value == 1:
                    self.taken[channel].append(self.cycle)


async def start(dut, *, size=SIZE):
    """Clock and reset; all that a manager drives is 0."""
    for channel in CHANNELS:
        name = f"s_axi_{channel}{'ready' if channel in 'rb' else 'valid'}"
        getattr(dut, name).value = 0
    dut.bytes.value = size
    dut.haste.value = 0
    dut.rst.value = 0
    Clock(dut.clk, 10, "ns").start()
    await RisingEdge(dut.clk)
    dut.rst.value = 1
    await RisingEdge(dut.clk)
    await RisingEdge(dut.clk)
    dut.rst.value = 0
    await RisingEdge(dut.clk)
    return Watch(dut)


def manager(dut):
    """cocotbext-axi's manager, in a system that is reset already."""
    logging.getLogger(f"cocotb.{dut._name}").setLevel(logging.WARNING)
    return AxiMaster(AxiBus.from_prefix(dut, "s_axi"), dut.clk)


def hold_back(axi, stall):
    """Stall each of the manager's channels by a pattern of its own."""
    rng = random.Random(cocotb.RANDOM_SEED)
    for channel in (
        axi.write_if.aw_channel,
        axi.write_if.w_channel,
        axi.write_if.b_channel,
        axi.read_if.ar_channel,
        axi.read_if.r_channel,
    ):
        channel.set_pause_generator(STALLS[stall](random.Random(rng.random())))


@cocotb.test
@cocotb.parametrize(stall=["never", "half", "bursts"])
async def holds_what_was_written(dut, stall):
    rng = random.Random(cocotb.RANDOM_SEED)
    await start(dut)
    axi = manager(dut)
    content = bytearray(rng.randbytes(SIZE))
    await axi.write(0, bytes(content))
    hold_back(axi, stall)
    for _ in range(6):
        # Six at once, of any first byte and length, each in a part of its own.
        part = SIZE // 6
        writes = []
        for k in range(6):
            first = k * part + rng.randrange(part)
            data = rng.randbytes(rng.randint(1, min((k + 1) * part - first, 600)))
            content[first : first + len(data)] = data
            writes.append(cocotb.start_soon(axi.write(first, data)))
        for write in writes:
            await write
        places = [rng.randrange(SIZE) for _ in range(6)]
        sizes = [rng.randint(1, min(SIZE - place, 600)) for place in places]
        reads = [
            cocotb.start_soon(axi.read(place, size))
            for place, size in zip(places, sizes, strict=True)
        ]
        for place, size, read in zip(places, sizes, reads, strict=True):
            assert (await read).data == content[place : place + size]
    assert (await axi.read(0, SIZE)).data == content


@cocotb.test
async def answers_decerr_outside(dut):
    half = SIZE // 2
    watch = await start(dut)
    before = int(dut.beats_read.value), int(dut.beats_written.value)
    axi = manager(dut)
    old = bytes(range(1, 256)) * (SIZE // 255 + 1)
    await axi.write(0, old[:SIZE])  # its upper half is refused
    dut.bytes.value = SIZE
    await axi.write(half, old[half:SIZE])
    dut.bytes.value = half
    for first, size, expected in (
        (half - BEAT, BEAT, OKAY),
        (half, BEAT, DECERR),
        (half - BEAT, 2 * BEAT, DECERR),
        (SIZE, 1, DECERR),
        (16 * SIZE, 8 * BEAT, DECERR),
        (0, BEAT, OKAY),
    ):
        assert (await axi.read(first, size)).resp == expected, hex(first)
        assert (await axi.write(first, bytes(size))).resp == expected, hex(first)
    dut.bytes.value = SIZE
    assert (await axi.read(half, half)).data == old[half:SIZE]
    assert (await axi.read(0, half)).data == bytes(BEAT) + old[BEAT : half - BEAT] + bytes(BEAT)
    await RisingEdge(dut.clk)  # the counters are registers
    assert int(dut.beats_read.value) - before[0] == len(watch.taken["r"])
    assert int(dut.beats_written.value) - before[1] == len(watch.taken["w"])


class Requests:
    """Drives AR, or AW and W, as fast as they are taken; takes R and B unless told not to."""

    def __init__(self, dut, *, reads=(), writes=(), take=True):
        self.data = []  # of R, beat by beat
        self.refused = False  # what is still to be issued was not taken in the last cycle
        self._dut = dut
        self._addresses = {"ar": deque(reads), "aw": deque(writes)}
        beats = [[0] * (beats - 1) + [1] for _, beats in writes]
        self._lasts = deque(chain.from_iterable(beats))
        for signal, value in (("rready", take), ("bready", take), ("wdata", 1)):
            getattr(dut, f"s_axi_{signal}").value = int(value)
        dut.s_axi_wstrb.value = (1 << BEAT) - 1
        for channel in ("ar", "aw"):
            getattr(dut, f"s_axi_{channel}id").value = 0
            self._offer(channel)
        self._offer("w")
        cocotb.start_soon(self._run())

    def _offer(self, channel):
        dut, waiting = self._dut, self._lasts if channel == "w" else self._addresses[channel]
        getattr(dut, f"s_axi_{channel}valid").value = int(bool(waiting))
        if waiting and channel == "w":
            dut.s_axi_wlast.value = waiting[0]
        elif waiting:
            word, beats = waiting[0]
            getattr(dut, f"s_axi_{channel}addr").value = word * BEAT
            getattr(dut, f"s_axi_{channel}len").value = beats - 1

    async def _run(self):
        dut = self._dut
        while True:
            await RisingEdge(dut.clk)
            if dut.s_axi_rvalid.value == 1 and dut.s_axi_rready.value == 1:
                self.data.append(int(dut.s_axi_rdata.value))
            self.refused = True
            for channel, waiting in (*self._addresses.items(), ("w", self._lasts)):
                ready = getattr(dut, f"s_axi_{channel}ready").value == 1
                if waiting and ready:
                    self.refused = False
                    waiting.popleft()
                    self._offer(channel)


async def cycles(dut, count):
    for _ in range(count):
        await RisingEdge(dut.clk)


@cocotb.test
async def answers_after_its_latency(dut):
    watch = await start(dut)
    Requests(dut, reads=[(3, 4)], writes=[(9, 5)])
    await cycles(dut, 2 * LATENCY + 20)
    taken, valid = watch.taken, watch.valid
    assert valid["r"] == [taken["ar"][0] + LATENCY + k for k in range(4)]
    assert valid["b"] == [taken["w"][-1] + LATENCY]
    assert taken["w"] == [taken["aw"][0] + k for k in range(5)]


@cocotb.test
@cocotb.parametrize(lengths=[(1,), (2,), (16,), (1, 5, 2, 16, 1, 1, 9)])
async def a_beat_a_cycle_each_way(dut, lengths):
    watch = await start(dut)
    bursts = [(16 * k, length) for k, length in enumerate(lengths * (60 // len(lengths)))]
    beats = sum(length for _, length in bursts)
    Requests(dut, reads=bursts, writes=bursts)
    await cycles(dut, beats + LATENCY + 10)
    taken = watch.taken
    assert taken["r"] == [taken["ar"][0] + LATENCY + k for k in range(beats)]
    assert taken["w"] == [taken["aw"][0] + k for k in range(beats)]
    assert len(taken["b"]) == len(bursts)
    assert taken["b"][-1] == taken["w"][-1] + LATENCY


@cocotb.test
@cocotb.parametrize(direction=["ar", "aw"])
async def takes_so_many_bursts_before_it_answers(dut, direction):
    watch = await start(dut)
    bursts = [(k, 1) for k in range(BURSTS + 5)]
    chosen = {"reads" if direction == "ar" else "writes": bursts}
    requests = Requests(dut, **chosen, take=False)
    await cycles(dut, BURSTS + LATENCY + 20)
    # A read that stands on R has left the queue.
    assert len(watch.taken[direction]) == BURSTS + (direction == "ar")
    assert requests.refused
    dut.s_axi_rready.value = 1
    dut.s_axi_bready.value = 1
    await cycles(dut, BURSTS + LATENCY + 20)
    assert len(watch.taken["r" if direction == "ar" else "b"]) == len(bursts)


@cocotb.test
async def a_write_is_not_seen_before_its_response(dut):
    watch = await start(dut)
    Requests(dut, writes=[(0, 1)])
    await cycles(dut, LATENCY + 10)
    dut.s_axi_wdata.value = 2
    first = len(watch.taken["b"])
    requests = Requests(dut, writes=[(0, 1)], reads=[(0, 1)] * (2 * LATENCY))
    dut.s_axi_wdata.value = 2
    await cycles(dut, 4 * LATENCY + 10)
    answered = watch.taken["b"][first]
    seen = list(zip(requests.data, watch.taken["r"], strict=True))
    assert {data for data, at in seen if at <= answered} == {1}
    assert {data for data, at in seen if at > answered} == {2}
