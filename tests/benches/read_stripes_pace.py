# SPDX-FileCopyrightText: castbag contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Bench of a striped read port's pace: slow ports add up, latencies and bounds are as stated."""

import cocotb

from castbag.sim.bench import Bench, parameters

from .read_port import BEAT, CLIENTS, SIZE, Clients, words
from .striped import Ports, config_of

CONFIG = config_of(**parameters())
MOST = min(CONFIG.burst_beats, CONFIG.read_stripe // BEAT)
QUEUE = 3 if CONFIG.vector_beats > 32 else 1  # latency of a return queue


@cocotb.test
@cocotb.parametrize(pace=["data", "address"])
async def slow_ports_add_up(dut, pace):
    """Each port serves a burst of 4 beats every 16 cycles: a quarter of a beat a cycle."""
    bench = Bench(dut)
    clients = Clients(bench)
    slow = {"pace": [16]} if pace == "data" else {"address_stall": ["seldom"]}
    ports = Ports(bench, **slow)
    beats, count = 4, 240
    await bench.reset()
    requests = ports.in_turn(bench, beats, count)
    clients.ask(0, requests)
    await bench.until(lambda: clients.received()[0] == beats * count)
    assert clients.data[0].items == words(ports.memory, requests)
    times = clients.data[0].times
    # Up to the first beat of the last turn: each turn of all ports takes 16 cycles.
    turn = max(16, beats * ports.count)
    took, turns = times[-beats * ports.count] - times[0], count // ports.count - 1
    assert turns * turn - 3 <= took <= turns * turn  # the first beat may wait to be known


@cocotb.test
async def slow_ports_add_up_at_random(dut):
    """The same at random places: what waits is spread unevenly over the ports."""
    bench = Bench(dut)
    clients = Clients(bench)
    ports = Ports(bench, pace=[16])
    count = 600
    await bench.reset()
    requests = [(bench.rng.randrange(SIZE // (4 * BEAT)) * 4 * BEAT, 4) for _ in range(count)]
    clients.ask(0, requests)
    await bench.until(lambda: clients.received()[0] == 4 * count)
    assert clients.data[0].items == words(ports.memory, requests)
    rate = 4 * count / (clients.data[0].times[-1] - clients.data[0].times[0])
    bench.dut._log.info("%d ports at random: %.3f beats a cycle", ports.count, rate)
    assert rate >= 0.7 * min(1, ports.count / 4)


@cocotb.test
@cocotb.parametrize(beats=[1, 2, 4, 8])
async def one_beat_a_cycle_at_latency_64(dut, beats):
    bench = Bench(dut)
    clients = Clients(bench)
    ports = Ports(bench, latencies=[64] * parameters()["ports"])
    beats = min(beats, ports.longest)
    await bench.reset()
    requests = ports.in_turn(bench, beats, 960 // beats)
    clients.ask(0, requests)
    await bench.until(lambda: clients.received()[0] == 960)
    assert clients.data[0].items == words(ports.memory, requests)
    times = clients.data[0].times
    assert times == list(range(times[0], times[0] + 960))


@cocotb.test
@cocotb.parametrize(beats=[1, 8], beyond=[0, 1])
async def keeps_busy_up_to_the_stated_latency(dut, beats, beyond):
    bench = Bench(dut)
    clients = Clients(bench)
    wide, beats = CLIENTS[0], min(beats, MOST)
    latency = min((wide.bursts - 1) * beats - 5 - QUEUE, wide.beats - beats - 9 - QUEUE) + beyond
    ports = Ports(bench, latencies=[latency] * CONFIG.read_ports)
    await bench.reset()
    clients.ask(0, ports.in_turn(bench, beats, 800 // beats))
    assert await _paused(bench, clients) == (beyond == 1)


@cocotb.test
@cocotb.parametrize(beyond=[0, 1])
async def one_port_keeps_busy(dut, beyond):
    """Up to the latency that its return queue covers."""
    bench = Bench(dut)
    clients = Clients(bench)
    latency = CONFIG.vector_beats - MOST - 1 - QUEUE + beyond
    ports = Ports(bench, latencies=[latency] * CONFIG.read_ports)
    await bench.reset()
    clients.ask(0, ports.places(bench, 1, MOST, 800 // MOST))
    assert await _paused(bench, clients) == (beyond == 1)


async def _paused(bench, clients) -> bool:
    """Whether the first client got its 800 beats with pauses."""
    await bench.until(lambda: clients.received()[0] == 800)
    times = clients.data[0].times
    return times[-1] - times[0] + 1 > 800


@cocotb.test
async def a_beat_takes_as_long_as_stated(dut):
    bench = Bench(dut)
    clients = Clients(bench)
    ports = Ports(bench, latencies=[20] * CONFIG.read_ports)
    await bench.reset()
    clients.ask(0, ports.in_turn(bench, 1, CONFIG.read_ports))
    await bench.until(lambda: clients.received()[0] == CONFIG.read_ports)
    for k, port in enumerate(ports.each):
        assert port.bursts[0].cycle - clients.requests[0].times[k] == 6
        assert clients.data[0].times[k] - port.times[0] == 4 + QUEUE
