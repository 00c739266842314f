# SPDX-FileCopyrightText: castbag contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Bench of the read port: every client its beats, at full rate, whatever the others do."""

import cocotb
from cocotbext.axi import AxiRamRead, AxiReadBus

from castbag.rtl.axi import DECERR, SLVERR
from castbag.rtl.config import preset
from castbag.rtl.layouts import RequestLayout
from castbag.rtl.memory import ReadClient
from castbag.sim.bench import STALLS, Bench, parameters

from .axi_memory import PAGE, ReadMemory

CONFIG = preset("tiny")
# A buffer for the longest latency, one in LUT RAM, one that few bursts may use.
CLIENTS = (ReadClient("wide", 128, 80), ReadClient("small", 16, 4), ReadClient("few", 64, 2))
SIZE = 1 << 16
BEAT = CONFIG.bus_bytes


def content(bench: Bench) -> bytes:
    return bench.rng.randbytes(SIZE)


def words(memory: bytes, requests: list[tuple[int, int]]) -> list[int]:
    """What a client must get for its (address, beats)."""
    return [
        int.from_bytes(memory[place : place + BEAT], "little")
        for address, beats in requests
        for place in range(address, address + beats * BEAT, BEAT)
    ]


def fewest_bursts(requests: list[tuple[int, int]], *, span: int = PAGE) -> int:
    """Bursts that the requests need if each span's share is cut into the longest ones."""
    needed = 0
    for address, beats in requests:
        end = address + beats * BEAT
        while address < end:
            stop = min(end, (address // span + 1) * span)
            needed += -(-(stop - address) // (BEAT * CONFIG.burst_beats))
            address = stop
    return needed


def random_requests(bench: Bench, count: int) -> list[tuple[int, int]]:
    """Requests of all lengths, the longest and those that meet a page's end among them."""
    requests = []
    for _ in range(count):
        beats = bench.rng.choice([1, 1, 2, 3, 7, 8, 9, 16, 31, 256, bench.rng.randint(1, 256)])
        top = SIZE // BEAT - beats
        near_page = bench.rng.randint(1, SIZE // PAGE - 1) * PAGE // BEAT - bench.rng.randint(0, 9)
        place = bench.rng.choice([bench.rng.randint(0, top), min(near_page, top)])
        requests.append((place * BEAT, beats))
    return requests


class Clients:
    """The clients' ends of the port, and a count of its pulses."""

    def __init__(self, bench: Bench, *, idle: str = "never", stall: str = "never"):
        layout = RequestLayout(CONFIG)
        names = [client.name for client in CLIENTS]
        self.requests = [bench.source(f"{name}_request", layout, stall=idle) for name in names]
        self.data = [bench.sink(f"{name}_data", CONFIG.bus_bits, stall=stall) for name in names]
        self.beats = [0] * len(CLIENTS)
        self._bench = bench
        bench.dut.halt.value = 0
        bench.add(self)

    def tick(self) -> None:
        pulses = int(self._bench.dut.beat.value)
        for k in range(len(CLIENTS)):
            self.beats[k] += pulses >> k & 1

    def ask(self, client: int, requests: list[tuple[int, int]]) -> None:
        for address, beats in requests:
            self.requests[client].send({"address": address, "beats": beats})

    def received(self) -> list[int]:
        return [len(sink.items) for sink in self.data]


async def _deliver(bench, clients, memory, *, count):
    asked = [random_requests(bench, count) for _ in CLIENTS]
    expected = [words(memory, requests) for requests in asked]
    for client, requests in enumerate(asked):
        clients.ask(client, requests)
    await bench.until(lambda: clients.received() == [len(items) for items in expected])
    await bench.step(4)
    assert [sink.items for sink in clients.data] == expected
    assert clients.beats == [len(items) for items in expected]
    assert int(bench.dut.idle.value) == 1
    assert int(bench.dut.error.value) == 0
    return asked


@cocotb.test
@cocotb.parametrize(
    latency=[1, 2, 3, 40], idle=["never", "half"], stall=list(STALLS), bus=["never", "half"]
)
async def delivers(dut, latency, idle, stall, bus):
    bench = Bench(dut)
    clients = Clients(bench, idle=idle, stall=stall)
    memory = content(bench)
    axi = ReadMemory(bench, CONFIG, memory, latency=latency, address_stall=bus, data_stall=bus)
    await bench.reset()
    asked = await _deliver(bench, clients, memory, count=parameters()["requests"])
    assert len(axi.bursts) == sum(fewest_bursts(requests) for requests in asked)
    # A burst's origin is known 4 cycles after its issue; RREADY never waits for anything else.
    assert latency <= 3 or axi.refused == 0


@cocotb.test
@cocotb.parametrize(address_stall=["never", "half"], data_stall=list(STALLS))
async def delivers_from_a_memory_not_ours(dut, address_stall, data_stall):
    bench = Bench(dut)
    clients = Clients(bench, stall="half")
    ram = AxiRamRead(AxiReadBus.from_prefix(dut, "axi_"), dut.clk, size=SIZE)
    ram.ar_channel.set_pause_generator(STALLS[address_stall](bench.rng))
    ram.r_channel.set_pause_generator(STALLS[data_stall](bench.rng))
    memory = content(bench)
    ram.write(0, memory)
    await bench.reset()
    await _deliver(bench, clients, memory, count=parameters()["requests"])


@cocotb.test
@cocotb.parametrize(beats=[1, 2, 4, 8])
async def one_beat_a_cycle_at_latency_64(dut, beats):
    bench = Bench(dut)
    clients = Clients(bench)
    memory = content(bench)
    axi = ReadMemory(bench, CONFIG, memory, latency=64)
    await bench.reset()
    places = [
        bench.rng.randrange(SIZE // BEAT // beats) * beats * BEAT for _ in range(1200 // beats)
    ]
    requests = [(place, beats) for place in places]
    clients.ask(0, requests)
    await bench.until(lambda: clients.received()[0] == 1200)
    assert clients.data[0].items == words(memory, requests)
    assert axi.times == list(range(axi.times[0], axi.times[0] + 1200))
    # As the docstrings say: a request on AR in 4 cycles, a beat from R at its client in 4.
    assert axi.bursts[0].cycle - clients.requests[0].times[0] == 4
    assert axi.times[0] - axi.bursts[0].cycle == 64
    assert clients.data[0].times[0] - axi.times[0] == 4


@cocotb.test
@cocotb.parametrize(beats=[1, 8], beyond=[0, 1])
async def keeps_busy_up_to_the_stated_latency(dut, beats, beyond):
    bench = Bench(dut)
    clients = Clients(bench)
    wide = CLIENTS[0]
    latency = min((wide.bursts - 1) * beats - 3, wide.beats - beats - 7) + beyond
    axi = ReadMemory(bench, CONFIG, content(bench), latency=latency)
    await bench.reset()
    clients.ask(0, [(place * beats * BEAT, beats) for place in range(800 // beats)])
    await bench.until(lambda: clients.received()[0] == 800)
    paused = axi.times[-1] - axi.times[0] + 1 > 800
    assert paused == (beyond == 1)


@cocotb.test
async def short_bursts_of_several_clients_share_a_busy_bus(dut):
    bench = Bench(dut)
    clients = Clients(bench)
    memory = content(bench)
    axi = ReadMemory(bench, CONFIG, memory, latency=3)
    await bench.reset()
    for client in range(2):
        clients.ask(client, [(8 * n, 1) for n in range(400)])
    await bench.until(lambda: clients.received()[:2] == [400, 400])
    assert axi.times[-1] - axi.times[0] + 1 <= 800 / 0.95


@cocotb.test
async def a_client_that_takes_nothing_keeps_nobody_waiting(dut):
    bench = Bench(dut)
    clients = Clients(bench)
    memory = content(bench)
    axi = ReadMemory(bench, CONFIG, memory, latency=10)
    await bench.reset()
    for stuck in range(len(CLIENTS)):
        clients.data[stuck].hold = True
        others = [k for k in range(len(CLIENTS)) if k != stuck]
        before = clients.received()
        clients.ask(stuck, [(0, 256)])
        for other in others:
            clients.ask(other, [(1024, 256)])
        await bench.until(
            lambda others=others, before=before: all(
                clients.received()[k] == before[k] + 256 for k in others
            )
        )
        await bench.step(50)
        # The stuck client's buffer is as full as whole bursts make it; no beat was refused.
        assert clients.beats[stuck] - before[stuck] == CLIENTS[stuck].beats
        assert axi.refused == 0
        clients.data[stuck].hold = False
        await bench.until(
            lambda stuck=stuck, before=before: clients.received()[stuck] == before[stuck] + 256
        )
    for sink in clients.data:
        assert sorted(sink.items) == sorted(words(memory, [(0, 256), (1024, 256), (1024, 256)]))


@cocotb.test
async def bursts_are_issued_in_turn(dut):
    bench = Bench(dut)
    clients = Clients(bench)
    axi = ReadMemory(bench, CONFIG, content(bench), latency=1, address_stall="seldom")
    await bench.reset()
    share = SIZE // 4
    for client in range(len(CLIENTS)):
        clients.ask(client, [(share * client, 256)])
    await bench.until(lambda: clients.received() == [256] * 3)
    owners = [burst.address // share for burst in axi.bursts]
    assert owners == [0, 1, 2] * (256 // CONFIG.burst_beats)


@cocotb.test
@cocotb.parametrize(response=[SLVERR, DECERR], at=[0, 3, 7], latency=[1, 12])
async def the_first_error_is_kept(dut, response, at, latency):
    bench = Bench(dut)
    clients = Clients(bench)
    memory = content(bench)
    axi = ReadMemory(bench, CONFIG, memory, latency=latency)
    burst = 0x1240
    axi.responses = {burst + at * BEAT: response, 0x3008: SLVERR ^ DECERR ^ response}
    await bench.reset()
    clients.ask(1, [(0x400, 20), (burst, 8), (0x3000, 3)])
    clients.ask(2, [(0x800, 40)])
    await bench.until(lambda: clients.received() == [0, 31, 40])
    await bench.step(4)
    assert int(dut.error.value) == 1
    assert int(dut.error_response.value) == response
    assert int(dut.error_address.value) == burst
    assert int(dut.error_client.value) == 1
    assert int(dut.idle.value) == 1
    await bench.reset()
    assert int(dut.error.value) == 0


@cocotb.test
@cocotb.parametrize(bus=["never", "half"], hold=[False, True], after=[5, 31, 42, 53, 64, 75])
async def halts_in_mid_burst(dut, bus, hold, after):
    bench = Bench(dut)
    clients = Clients(bench)
    axi = ReadMemory(bench, CONFIG, content(bench), latency=20, address_stall=bus, data_stall=bus)
    await bench.reset()
    for client, sink in enumerate(clients.data):
        sink.hold = hold
        clients.ask(client, [(0, 200), (4096, 200)])
    await bench.step(after)
    dut.halt.value = 1
    taken = len(axi.bursts)
    await bench.step()
    await bench.until(lambda: int(dut.idle.value) == 1, limit=2000)
    # What was taken at the edge before the halt, and what stood on AR then.
    assert len(axi.bursts) <= taken + 2
    assert axi.on_their_way == 0
    received = clients.received()
    await bench.step(60)
    assert int(dut.axi__arvalid.value) == 0
    assert int(dut.idle.value) == 1
    assert axi.refused == 0
    assert hold or clients.received() == received
