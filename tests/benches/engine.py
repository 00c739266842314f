# SPDX-FileCopyrightText: castbag contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Bench of the engine: commands on memory and registers that are not ours (cocotbext-axi).

The job is a pickle of `tests.benches.job.Job`, the outcome one of `list[Outcome]`, both named by
the bench's parameters. A beat whose address the job calls faulty is answered SLVERR.
"""

import pickle
import random
from pathlib import Path

import cocotb
import numpy as np
from cocotb.clock import Clock
from cocotb.triggers import First, RisingEdge, Timer, with_timeout
from cocotbext.axi import AxiBus, AxiLiteBus, AxiLiteMaster, AxiRam, AxiRamRead, AxiReadBus

from castbag.host.device import Outcome
from castbag.rtl.axi import numbered
from castbag.rtl.control.map import DESCRIPTOR_BYTES, REGISTERS, field, register
from castbag.sim.bench import STALLS, parameters

CLOCK_NS = 10
RING = 0
SLOTS = 8


def more_read_ports(dut) -> list[str]:
    """Prefixes of the ports that only read."""
    return [name for name in numbered("m_axi", 8)[1:] if hasattr(dut, f"{name}_arvalid")]


class Host:
    """The registers over AXI4-Lite, the memory by the back door."""

    def __init__(self, dut, job):
        self.dut = dut
        self.ram = AxiRam(AxiBus.from_prefix(dut, "m_axi"), dut.clk, dut.rst, size=job.memory_bytes)
        self.ends = [self.ram.read_if, self.ram.write_if]
        for prefix in more_read_ports(dut):  # which see the same memory
            bus = AxiReadBus.from_prefix(dut, prefix)
            size, memory = job.memory_bytes, self.ram.mem
            self.ends.append(AxiRamRead(bus, dut.clk, dut.rst, size=size, mem=memory))
        self.bus = AxiLiteMaster(AxiLiteBus.from_prefix(dut, "s_axil"), dut.clk, dut.rst)
        self.ram.write(0, random.randbytes(job.memory_bytes))
        self._fail_at(job.faults)
        rng = random.Random(cocotb.RANDOM_SEED)
        for end in self.ends:
            for name in ("ar_channel", "r_channel", "aw_channel", "w_channel", "b_channel"):
                if hasattr(end, name) and job.stall != "never":
                    getattr(end, name).set_pause_generator(STALLS[job.stall](rng))

    def _fail_at(self, faults: tuple[int, ...]) -> None:
        for end in self.ends:
            name = "_write" if end is self.ram.write_if else "_read"
            inner = getattr(end, name)

            async def access(address, *arguments, inner=inner, **more):
                if address in faults:
                    raise ValueError("a faulty address")
                return await inner(address, *arguments, **more)

            setattr(end, name, access)

    async def write(self, name: str, value: int) -> None:
        entry = register(name)
        for half in range(2 if entry.wide else 1):
            await self.bus.write_dword(entry.offset + 4 * half, value >> 32 * half & 0xFFFF_FFFF)

    async def read(self, name: str) -> int:
        entry = register(name)
        low = await self.bus.read_dword(entry.offset)
        return low | (await self.bus.read_dword(entry.offset + 4) << 32 if entry.wide else 0)


ADDRESS = ("addr", "len", "size", "burst", "id")
CHANNELS = {"m_axi_ar": ADDRESS, "m_axi_aw": ADDRESS, "m_axi_w": ("data", "strb", "last")}
"""What the engine drives, by channel; of one read port."""


async def _watch_offers(dut) -> None:
    """An offer stands unchanged until it is taken; cocotbext-axi checks the bursts themselves."""
    channels = CHANNELS | {f"{prefix}_ar": ADDRESS for prefix in more_read_ports(dut)}
    standing = dict.fromkeys(channels)
    while True:
        await RisingEdge(dut.clk)
        for channel, fields in channels.items():
            valid, ready = (getattr(dut, f"{channel}{end}") for end in ("valid", "ready"))
            offer = None
            if valid.value == 1:
                offer = [int(getattr(dut, f"{channel}{name}").value) for name in fields]
            assert standing[channel] in (None, offer), f"{channel}: an offer did not stand"
            standing[channel] = None if ready.value == 1 else offer


async def _watch_trace(dut, words: list) -> None:
    while True:
        await RisingEdge(dut.clk)
        if dut.trace_valid.value == 1:
            words.append((int(dut.trace_target.value), int(dut.trace_data.value)))


def _coalesced(words: list, descriptor: bytes, bus_bytes: int):
    """(target, data) of each traced word as targets and vectors, if the command was a backward."""
    fields = np.frombuffer(descriptor, "<u4")
    if not fields[0] & 1 << field("backward").low:
        return None
    pitch = -(-int(fields[field("dim").word]) * 4 // bus_bytes) * bus_bytes
    vectors: dict[int, list[int]] = {}
    for target, data in words:
        vectors.setdefault(target, []).append(data)
    data = b"".join(w.to_bytes(bus_bytes, "little") for v in vectors.values() for w in v)
    rows = np.array(list(vectors), np.int64)
    return rows, np.frombuffer(data, np.uint32).reshape(len(rows), pitch // 4)


@cocotb.test
async def runs_commands(dut):
    job = pickle.loads(Path(parameters()["job"]).read_bytes())
    dut.rst.value = 0
    Clock(dut.clk, CLOCK_NS, "ns").start()
    host = Host(dut, job)
    for level in (0, 1, 0):
        dut.rst.value = level
        await Timer(4 * CLOCK_NS, "ns")
    words: list = []
    cocotb.start_soon(_watch_trace(dut, words))
    cocotb.start_soon(_watch_offers(dut))
    await host.write("RING_BASE", RING)
    await host.write("RING_SIZE", SLOTS - 1)
    await host.write("IRQ_ENABLE", 0b11)
    await host.write("CONTROL", 1)
    outcomes = []
    for number, command in enumerate(job.commands, start=1):
        for address, content in command.loads:
            host.ram.write(address, content)
        slot = (number - 1) % SLOTS
        host.ram.write(RING + slot * DESCRIPTOR_BYTES, command.descriptor)
        words.clear()
        await host.write("TAIL", number % SLOTS)
        if dut.interrupt.value != 1:
            awaited = First(RisingEdge(dut.interrupt))
            await with_timeout(awaited, job.limit * CLOCK_NS, "ns")
        registers = {entry.name: await host.read(entry.name) for entry in REGISTERS}
        dumps = tuple(host.ram.read(address, size) for address, size in command.dumps)
        coalesced = None
        if not registers["ERROR"]:
            coalesced = _coalesced(words, command.descriptor, job.bus_bytes)
        outcomes.append(Outcome(registers=registers, dumps=dumps, coalesced=coalesced))
        await host.write("IRQ", 0b11)
        if registers["ERROR"]:
            await host.write("ERROR", 1)
        assert dut.interrupt.value == 0
    Path(parameters()["outcomes"]).write_bytes(pickle.dumps(outcomes))
