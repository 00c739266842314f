# SPDX-FileCopyrightText: castbag contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Bench of the write port: every beat to its place and nothing beside it, whatever the memory."""

import cocotb
from cocotbext.axi import AxiRamWrite, AxiWriteBus

from castbag.rtl.axi import DECERR, SLVERR
from castbag.rtl.config import preset
from castbag.rtl.layouts import RequestLayout, WriteBeatLayout
from castbag.rtl.memory import WriteClient
from castbag.sim.bench import STALLS, Bench, parameters

from .axi_memory import ORDERS, PAGE, WriteMemory

CONFIG = preset("tiny")
# One for the longest latency, one in LUT RAM, one that few bursts may use.
CLIENTS = (WriteClient("wide", 128, 80), WriteClient("small", 16, 4), WriteClient("few", 64, 2))
COUNT = len(CLIENTS)
BEAT = CONFIG.bus_bytes
SHARE = 1 << 14
"""Bytes of memory that each client writes to."""
ALL = (1 << BEAT) - 1


class Clients:
    """The clients' ends of the port, what they wrote, and what the memory must be then."""

    def __init__(self, bench: Bench, *, idle: str = "never"):
        layouts = RequestLayout(CONFIG), WriteBeatLayout(CONFIG)
        names = [client.name for client in CLIENTS]
        self.requests = [bench.source(f"{name}_request", layouts[0], stall=idle) for name in names]
        self.data = [bench.source(f"{name}_data", layouts[1], stall=idle) for name in names]
        self.expected = bytearray(bench.rng.randbytes(SHARE * COUNT))
        self.memory = bytearray(self.expected)
        self.beats = [0] * COUNT
        self.sent = [0] * COUNT
        self._bench = bench
        bench.dut.halt.value = 0
        bench.add(self)

    def tick(self) -> None:
        pulses = int(self._bench.dut.beat.value)
        for k in range(COUNT):
            self.beats[k] += pulses >> k & 1

    def write(self, client: int, address: int, beats: int, strobe: int | None = None) -> None:
        """Have random beats written, with random strobes unless one is given."""
        rng = self._bench.rng
        self.requests[client].send({"address": address, "beats": beats})
        for place in range(address, address + beats * BEAT, BEAT):
            word = rng.randbytes(BEAT)
            mask = rng.choice([0, ALL, rng.randint(0, ALL)]) if strobe is None else strobe
            self.data[client].send({"data": int.from_bytes(word, "little"), "strobe": mask})
            for k in range(BEAT):
                if mask >> k & 1:
                    self.expected[place + k] = word[k]
        self.sent[client] += beats

    def write_somewhere(self, client: int) -> None:
        """A request of any length within the client's share, often one that meets a page's end."""
        rng = self._bench.rng
        beats = rng.choice([1, 1, 2, 7, 8, 9, 17, 256, rng.randint(1, 256)])
        top = SHARE // BEAT - beats
        page = rng.randint(1, SHARE // PAGE - 1) * PAGE // BEAT - rng.randint(0, 9)
        self.write(
            client, SHARE * client + rng.choice([rng.randint(0, top), min(page, top)]) * BEAT, beats
        )

    async def answered(self) -> None:
        """Wait until all has been taken from the clients, and been answered."""
        sources = self.requests + self.data
        await self._bench.until(lambda: all(source.idle for source in sources))
        await self._bench.step()  # what was taken at the last edge is pending from the next on
        await self._bench.until(lambda: int(self._bench.dut.pending.value) == 0)


async def _all_written(bench: Bench, clients: Clients) -> None:
    await clients.answered()
    await bench.step(2)
    assert clients.memory == clients.expected
    assert clients.beats == clients.sent
    assert int(bench.dut.idle.value) == 1
    assert int(bench.dut.pending.value) == 0
    assert int(bench.dut.error.value) == 0


@cocotb.test
@cocotb.parametrize(
    order=list(ORDERS), latency=[1, 20], idle=["never", "half"], bus=["never", "half", "bursts"]
)
async def writes(dut, order, latency, idle, bus):
    bench = Bench(dut)
    clients = Clients(bench, idle=idle)
    axi = WriteMemory(
        bench,
        CONFIG,
        clients.memory,
        latency=latency,
        order=order,
        address_stall=bus,
        data_stall=bus,
        answer_stall=bus,
    )
    await bench.reset()
    for client in range(COUNT):
        for _ in range(parameters()["requests"]):
            clients.write_somewhere(client)
    await _all_written(bench, clients)
    assert axi.gaps == 0
    assert axi.answered == len(axi.bursts)


@cocotb.test
@cocotb.parametrize(address_stall=["never", "half"], data_stall=list(STALLS))
async def writes_to_a_memory_not_ours(dut, address_stall, data_stall):
    bench = Bench(dut)
    clients = Clients(bench)
    ram = AxiRamWrite(AxiWriteBus.from_prefix(dut, "axi_"), dut.clk, size=len(clients.memory))
    ram.aw_channel.set_pause_generator(STALLS[address_stall](bench.rng))
    ram.w_channel.set_pause_generator(STALLS[data_stall](bench.rng))
    ram.b_channel.set_pause_generator(STALLS[address_stall](bench.rng))
    ram.write(0, bytes(clients.memory))
    await bench.reset()
    for client in range(COUNT):
        for _ in range(parameters()["requests"]):
            clients.write_somewhere(client)
    await clients.answered()
    assert ram.read(0, len(clients.memory)) == clients.expected


@cocotb.test
@cocotb.parametrize(beats=[1, 2, 4, 8])
async def one_beat_a_cycle_at_latency_64(dut, beats):
    bench = Bench(dut)
    clients = Clients(bench)
    axi = WriteMemory(bench, CONFIG, clients.memory, latency=64)
    await bench.reset()
    for _ in range(1200 // beats):
        clients.write(0, bench.rng.randrange(SHARE // BEAT // beats) * beats * BEAT, beats)
    await _all_written(bench, clients)
    assert axi.times == list(range(axi.times[0], axi.times[0] + 1200))
    # As the docstring says: 4 cycles from its request or its last beat; W two cycles later.
    first = 4 + max(clients.requests[0].times[0], clients.data[0].times[beats - 1])
    assert axi.bursts[0].cycle == first
    assert axi.times[0] == first + 2


@cocotb.test
@cocotb.parametrize(beyond=[0, 1])
async def keeps_busy_up_to_the_stated_latency(dut, beyond):
    bench = Bench(dut)
    clients = Clients(bench)
    latency = CLIENTS[0].bursts - 1 - 5 + beyond
    axi = WriteMemory(bench, CONFIG, clients.memory, latency=latency)
    await bench.reset()
    for n in range(800):
        clients.write(0, n * BEAT, 1)
    await _all_written(bench, clients)
    paused = axi.times[-1] - axi.times[0] + 1 > 800
    assert paused == (beyond == 1)


@cocotb.test
async def short_bursts_of_several_clients_share_a_busy_bus(dut):
    bench = Bench(dut)
    clients = Clients(bench)
    axi = WriteMemory(bench, CONFIG, clients.memory, latency=1)
    await bench.reset()
    for n in range(400):
        clients.write(0, n * BEAT, 1)
        clients.write(1, SHARE + n * BEAT, 1)
    await _all_written(bench, clients)
    assert axi.times[-1] - axi.times[0] + 1 <= 800 / 0.95


@cocotb.test
async def a_client_without_data_keeps_nobody_waiting(dut):
    bench = Bench(dut)
    clients = Clients(bench)
    axi = WriteMemory(bench, CONFIG, clients.memory)
    await bench.reset()
    for stuck in range(COUNT):
        # A beat is missing of the second burst.
        clients.write(stuck, SHARE * stuck, 16)
        missing = clients.data[stuck].waiting.pop()
        for other in range(COUNT):
            if other != stuck:
                clients.write(other, SHARE * other + 4096, 256)
        await bench.until(lambda stuck=stuck: int(dut.pending.value) == 1 << stuck)
        await bench.step(50)
        assert int(dut.pending.value) == 1 << stuck
        assert int(dut.idle.value) == 1
        assert sum(clients.beats) == sum(clients.sent) - 8
        clients.data[stuck].waiting.append(missing)
        await _all_written(bench, clients)
    assert axi.gaps == 0


@cocotb.test
async def data_may_come_before_their_request(dut):
    bench = Bench(dut)
    clients = Clients(bench)
    axi = WriteMemory(bench, CONFIG, clients.memory)
    await bench.reset()
    clients.write(1, SHARE, 12)
    request = clients.requests[1].waiting.pop()
    await bench.until(lambda: clients.data[1].idle)
    await bench.step(20)
    assert not axi.bursts and int(dut.pending.value) == 0
    clients.requests[1].waiting.append(request)
    await _all_written(bench, clients)


@cocotb.test
async def bursts_are_issued_in_turn(dut):
    bench = Bench(dut)
    clients = Clients(bench)
    axi = WriteMemory(bench, CONFIG, clients.memory, address_stall="seldom")
    await bench.reset()
    await bench.step()
    for client in range(COUNT):
        clients.write(client, SHARE * client, 256)
    await _all_written(bench, clients)
    owners = [burst.address // SHARE for burst in axi.bursts]
    assert owners == [0, 1, 2] * (256 // CONFIG.burst_beats)


@cocotb.test
@cocotb.parametrize(response=[SLVERR, DECERR], at=[0, 1, 2], order=list(ORDERS))
async def the_first_error_is_kept(dut, response, at, order):
    bench = Bench(dut)
    clients = Clients(bench)
    axi = WriteMemory(bench, CONFIG, clients.memory, latency=5, order=order)
    base = 2 * SHARE + 0x240
    failing = base + at * CONFIG.burst_beats * BEAT
    axi.responses = {failing: response, base + 0x1000: SLVERR ^ DECERR ^ response}
    await bench.reset()
    clients.write(2, base, 20)
    clients.write(2, base + 0x1000, 2)
    clients.write(0, 0, 40)
    await clients.answered()
    await bench.step(2)
    assert int(dut.error.value) == 1
    assert int(dut.error_response.value) == response
    assert int(dut.error_address.value) == failing
    assert int(dut.error_client.value) == 2
    assert int(dut.idle.value) == 1
    await bench.reset()
    assert int(dut.error.value) == 0


@cocotb.test
@cocotb.parametrize(order=list(ORDERS), bus=["never", "half"], after=[12, 25, 36, 47, 58, 101])
async def halts_in_mid_burst(dut, order, bus, after):
    bench = Bench(dut)
    clients = Clients(bench)
    axi = WriteMemory(
        bench, CONFIG, clients.memory, latency=20, order=order, address_stall=bus, data_stall=bus
    )
    before = bytes(clients.memory)
    await bench.reset()
    for client in range(COUNT):
        clients.write(client, SHARE * client, 200, ALL)
    await bench.step(after)
    dut.halt.value = 1
    taken, beats = len(axi.bursts), len(axi.strobes)
    await bench.step()
    await bench.until(lambda: int(dut.idle.value) == 1, limit=2000)
    assert axi.answered == len(axi.bursts) <= taken + 7
    # Three beats may still be written: one taken at the edge before the halt, the two that the
    # queue at W holds.
    assert not any(axi.strobes[beats + 3 :])
    ends = len(axi.bursts)
    await bench.step(60)
    assert len(axi.bursts) == ends
    assert int(dut.axi__awvalid.value) == int(dut.axi__wvalid.value) == 0
    changed = [k for k in range(len(before)) if clients.memory[k] != before[k]]
    assert all(clients.memory[k] == clients.expected[k] for k in changed)
