# SPDX-FileCopyrightText: castbag contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Bench of a read port that is striped over several: one order, whatever the ports' paces."""

import cocotb
from cocotbext.axi import AxiRamRead, AxiReadBus

from castbag.rtl.axi import DECERR, SLVERR, numbered
from castbag.sim.bench import STALLS, Bench, parameters

from .read_port import (
    BEAT,
    CLIENTS,
    SIZE,
    Clients,
    content,
    fewest_bursts,
    random_requests,
    words,
)
from .striped import Ports, latencies_of

QUICK = parameters().get("quick", False)
"""A few of the patterns: Icarus takes ten times as long for each."""


async def deliver(bench, clients, ports, *, count):
    """Every client's random requests, to the last beat."""
    before, beats = [len(sink.items) for sink in clients.data], list(clients.beats)
    asked = [random_requests(bench, count) for _ in CLIENTS]
    expected = [words(ports.memory, requests) for requests in asked]
    for client, requests in enumerate(asked):
        clients.ask(client, requests)
    await bench.until(
        lambda: clients.received() == [n + len(e) for n, e in zip(before, expected, strict=True)]
    )
    await bench.step(4)
    got = [sink.items[n:] for sink, n in zip(clients.data, before, strict=True)]
    assert got == expected
    assert [n - b for n, b in zip(clients.beats, beats, strict=True)] == [len(e) for e in expected]
    assert int(bench.dut.idle.value) == 1
    assert int(bench.dut.error.value) == 0
    return asked


@cocotb.test
@cocotb.parametrize(
    latency=["apart", "last late"] if QUICK else ["short", "apart", "first late", "last late"],
    idle=["half"] if QUICK else ["never", "half"],
    stall=["never", "half"] if QUICK else list(STALLS),
    bus=["mixed"] if QUICK else ["never", "half", "mixed"],
)
async def delivers(dut, latency, idle, stall, bus):
    bench = Bench(dut)
    clients = Clients(bench, idle=idle, stall=stall)
    patterns = [*STALLS] if bus == "mixed" else [bus]
    ports = Ports(
        bench,
        latencies=latencies_of(latency),
        address_stall=patterns,
        data_stall=patterns[::-1],
    )
    await bench.reset()
    asked = await deliver(bench, clients, ports, count=parameters()["requests"])
    bursts = [(k, burst) for k, port in enumerate(ports.each) for burst in port.bursts]
    assert len(bursts) == sum(fewest_bursts(each, span=ports.stripe) for each in asked)
    for k, burst in bursts:
        stripe = burst.address // ports.stripe
        assert stripe % ports.count == k
        assert (burst.address + burst.beats * BEAT - 1) // ports.stripe == stripe
    assert ports.refused == 0


@cocotb.test
@cocotb.parametrize(address_stall=["never", "half"], data_stall=["never", "bursts"])
async def delivers_from_memories_not_ours(dut, address_stall, data_stall):
    bench = Bench(dut)
    clients = Clients(bench, stall="half")
    rams: list[AxiRamRead] = []
    for name in numbered("axi", parameters()["ports"]):
        shared = {"mem": rams[0].mem} if rams else {}
        bus = AxiReadBus.from_prefix(dut, f"{name}_")
        rams.append(AxiRamRead(bus, dut.clk, size=SIZE, **shared))
        rams[-1].ar_channel.set_pause_generator(STALLS[address_stall](bench.rng))
        rams[-1].r_channel.set_pause_generator(STALLS[data_stall](bench.rng))
    memory = content(bench)
    rams[0].write(0, memory)
    await bench.reset()
    asked = [random_requests(bench, parameters()["requests"]) for _ in CLIENTS]
    expected = [words(memory, requests) for requests in asked]
    for client, requests in enumerate(asked):
        clients.ask(client, requests)
    await bench.until(lambda: clients.received() == [len(items) for items in expected])
    assert [sink.items for sink in clients.data] == expected


@cocotb.test
async def a_client_that_takes_nothing_keeps_nobody_waiting(dut):
    bench = Bench(dut)
    clients = Clients(bench)
    ports = Ports(bench, latencies=latencies_of("apart"))
    await bench.reset()
    for stuck in range(len(CLIENTS)):
        clients.data[stuck].hold = True
        others = [k for k in range(len(CLIENTS)) if k != stuck]
        before = clients.received()
        beats = clients.beats[stuck]
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
        assert clients.beats[stuck] - beats == CLIENTS[stuck].beats
        clients.data[stuck].hold = False
        await bench.until(
            lambda stuck=stuck, before=before: clients.received()[stuck] == before[stuck] + 256
        )
    assert ports.refused == 0
    for sink in clients.data:
        assert sorted(sink.items) == sorted(words(ports.memory, [(0, 256), *[(1024, 256)] * 2]))


@cocotb.test
@cocotb.parametrize(held=[0, 1])
async def what_comes_early_is_taken_and_bounded(dut, held):
    """While one port answers nothing, the others give all that they were asked for."""
    bench = Bench(dut)
    clients = Clients(bench)
    ports = Ports(bench)
    ports.each[held].hold = True
    depth = ports.config.vector_beats
    others = [port for port in ports.each if port is not ports.each[held]]
    await bench.reset()
    asked = [random_requests(bench, 6) for _ in CLIENTS]
    expected = [words(ports.memory, requests) for requests in asked]
    for client, requests in enumerate(asked):
        clients.ask(client, requests)
    await bench.step(600)
    merged = sum(clients.beats)
    for port in others:
        assert port.on_their_way == 0
        assert len(port.times) <= merged + depth
    assert ports.each[held].on_their_way <= depth
    assert ports.refused == 0
    ports.each[held].hold = False
    await bench.until(lambda: clients.received() == [len(items) for items in expected])
    assert [sink.items for sink in clients.data] == expected


@cocotb.test
async def a_port_is_asked_for_no_more_than_it_has_places(dut):
    bench = Bench(dut)
    clients = Clients(bench)
    ports = Ports(bench)
    ports.each[1].hold = True
    await bench.reset()
    for client in range(len(CLIENTS)):
        clients.ask(client, ports.places(bench, 1, ports.longest, 100))
    await bench.step(400)
    assert ports.each[1].on_their_way == ports.config.vector_beats
    ports.each[1].hold = False
    await bench.until(lambda: clients.received() == [100 * ports.longest] * len(CLIENTS))
    assert ports.refused == 0


@cocotb.test
@cocotb.parametrize(response=[SLVERR, DECERR], at=[0, 3], latency=["short", "first late"])
async def the_first_error_in_order_is_kept(dut, response, at, latency):
    bench = Bench(dut)
    clients = Clients(bench)
    ports = Ports(bench, latencies=latencies_of(latency))
    at = min(at, ports.longest - 1)
    for first in range(ports.count):
        turn = [(first + k) % ports.count for k in range(ports.count)]
        bursts = [0x8000 + k * ports.stripe for k in turn]
        # Every port errs; the one whose burst was issued first is told of, however late it comes.
        for port in ports.each:
            port.responses = {burst + at * BEAT: SLVERR ^ DECERR ^ response for burst in bursts}
            port.responses[bursts[0] + at * BEAT] = response
        before = clients.received()
        clients.ask(1, [(0x400, 20), *[(burst, ports.longest) for burst in bursts]])
        clients.ask(2, [(0x800, 40)])
        await bench.reset()
        total = 20 + ports.count * ports.longest
        after = [before[0], before[1] + total, before[2] + 40]
        await bench.until(lambda after=after: clients.received() == after)
        await bench.step(4)
        assert int(dut.error.value) == 1
        assert int(dut.error_response.value) == response
        assert int(dut.error_address.value) == bursts[0]
        assert int(dut.error_client.value) == 1
        assert int(dut.idle.value) == 1
    await bench.reset()
    assert int(dut.error.value) == 0


@cocotb.test
@cocotb.parametrize(
    bus=["half"] if QUICK else ["never", "half"],
    hold=[False, True],
    after=[8, 64] if QUICK else [5, 8, 31, 42, 53, 64, 75, 120],
)
async def halts_in_mid_burst_and_starts_anew(dut, bus, hold, after):
    bench = Bench(dut)
    clients = Clients(bench)
    ports = Ports(
        bench,
        latencies=[20 + 15 * k for k in range(parameters()["ports"])],
        address_stall=[bus],
        data_stall=[bus],
    )
    await bench.reset()
    for client, sink in enumerate(clients.data):
        sink.hold = hold
        clients.ask(client, [(4096 * client, 200)])
    await bench.step(after)
    dut.halt.value = 1
    taken = [len(port.bursts) for port in ports.each]
    await bench.step()
    await bench.until(lambda: int(dut.idle.value) == 1, limit=2000)
    for port, before in zip(ports.each, taken, strict=True):
        # What was taken at the edge before the halt, and what stood on AR then.
        assert len(port.bursts) <= before + 2
        assert port.on_their_way == 0
    received = clients.received()
    for _ in range(60):
        await bench.step()
        assert int(dut.idle.value) == 1
    assert all(port.on_their_way == 0 for port in ports.each)
    assert ports.refused == 0
    assert hold or clients.received() == received
    if not hold:  # no offer stands that the reset would withdraw
        await bench.reset()
        dut.halt.value = 0
        await deliver(bench, clients, ports, count=1)


@cocotb.test
async def a_halt_forgets_what_waits(dut):
    bench = Bench(dut)
    clients = Clients(bench)
    ports = Ports(bench, address_stall=["seldom"])
    await bench.reset()
    clients.ask(0, ports.places(bench, 1, 1, 16))
    await bench.step(40)
    dut.halt.value = 1
    before = len(ports.each[1].bursts)
    await bench.step(2)
    await bench.until(lambda: int(dut.idle.value) == 1, limit=20)
    assert len(ports.each[1].bursts) <= before + 2
    await bench.step(40)
    assert len(ports.each[1].bursts) <= before + 2
    assert int(dut.idle.value) == 1
