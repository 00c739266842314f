# SPDX-FileCopyrightText: castbag contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Session: the cocotb module that plays the host of a simulated system.

It runs inside the simulator, in the run folder that `castbag.sim.device` prepared, on the
top module of `system.v`. Job in: `job.json` and the `load_<k>.bin` that it names. Result out:
`outcomes.json`, `dump_<k>.bin`, and what `records.v` writes; in `progress.txt` now and then a line
with the cycles so far, the commands that are over, and the lookups that the one that runs has
summed; or `fault.txt`, where the device or its memory broke a rule.

Python wakes for register accesses and for the interrupt, and sleeps through the rest.
"""

import json
import time
from pathlib import Path

import cocotb
from cocotb.triggers import FallingEdge, First, ReadOnly, RisingEdge, Timer
from cocotb.utils import get_sim_time

from castbag.rtl.control.map import REGISTERS, Error, register

CLOCK_NS = 10
RESET_CYCLES = 4
REGISTER_CYCLES = 1000  # no register access takes as long
HEARTBEAT_CYCLES = 250_000
LAUNCH_CYCLES = 64  # commands are launched at multiples of this

FILL, LOAD, DUMP, ALLOCATE, FORGET = range(5)

FAULTS = ("stalls", "order", "late", "fault", "fault_at", "fault_response", "mute")
"""Controls of `faults.v`, as a job's commands name them."""

INPUTS = (
    *("rst", "memory_bytes", "outside_clear", "record", "arm", *FAULTS),
    *("backdoor", "backdoor_action", "backdoor_file", "backdoor_first", "backdoor_words"),
    *("s_axil_awaddr", "s_axil_awvalid", "s_axil_wdata", "s_axil_wvalid", "s_axil_bready"),
    *("s_axil_araddr", "s_axil_arvalid", "s_axil_rready"),
)

RULES = {
    1: "AR: not an INCR burst of whole bus words",
    2: "AR: the burst crosses 4 KiB",
    3: "AR: a standing burst was withdrawn or changed",
    4: "AW: not an INCR burst of whole bus words",
    5: "AW: the burst crosses 4 KiB",
    6: "AW: a standing burst was withdrawn or changed",
    7: "W: WLAST is not on the burst's last beat",
    8: "W: a standing beat was withdrawn or changed",
}
"""What `axi_rules.v` watches for."""

DRAM_RULES = (
    *("", "tRCD", "tRP", "tRAS", "tRC", "tRRD_S", "tRRD_L", "tFAW", "tCCD_S", "tCCD_L", "tRTP"),
    *("tWR", "tWTR_S", "tWTR_L", "the data bus's turn to writing", "tRFC", "tREFI"),
    "a command to a bank that is not in the state for it",
)
"""What `dram_rules.v` watches for, by number."""


class Fault(Exception):  # noqa: N818
    """What the device did wrong."""


class Session:
    """The system's ports, as a host uses them. All methods start and end on a falling edge."""

    def __init__(self, dut):
        self.dut = dut
        for name in INPUTS:
            getattr(dut, name).value = 0

    @property
    def cycle(self) -> int:
        """Clock cycles since time 0."""
        return int(get_sim_time("ns")) // CLOCK_NS

    async def _step(self) -> None:
        await FallingEdge(self.dut.clk)

    async def _back_door(self, action: int, *, file: int = 0, first: int = 0, words: int = 0):
        self.dut.backdoor_action.value = action
        self.dut.backdoor_file.value = file
        self.dut.backdoor_first.value = first
        self.dut.backdoor_words.value = words
        await self._step()
        self.dut.backdoor.value = 1
        await self._step()
        self.dut.backdoor.value = 0

    async def start(self, memory_bytes: int) -> None:
        """Reset the engine; fill memory with noise."""
        self.dut.memory_bytes.value = memory_bytes
        await self.reset()
        await self._back_door(FILL)

    async def reset(self) -> None:
        """Reset engine and bus; memory keeps its contents."""
        self.dut.rst.value = 1
        for _ in range(RESET_CYCLES):
            await self._step()
        self.dut.rst.value = 0
        await self._step()

    async def allocate(self, places: list) -> None:
        """Have memory refuse what is not in one of these (first, words); none: refuse nothing."""
        await self._back_door(FORGET)
        for first, words in places:
            await self._back_door(ALLOCATE, first=first, words=words)

    async def load(self, file: int, first: int, words: int) -> None:
        """Write `load_<file>.bin` to memory, from word `first` on."""
        await self._back_door(LOAD, file=file, first=first, words=words)

    async def dump(self, file: int, first: int, words: int) -> None:
        """Write words of memory to `dump_<file>.bin`."""
        await self._back_door(DUMP, file=file, first=first, words=words)

    async def _transfer(self, *channels: str) -> int:
        """Offer on (or take from) all of these AXI4-Lite channels, each once; returns R's data."""
        ours = {"aw": "valid", "w": "valid", "ar": "valid", "b": "ready", "r": "ready"}
        theirs = {"valid": "ready", "ready": "valid"}
        waiting = {
            channel: (
                getattr(self.dut, f"s_axil_{channel}{ours[channel]}"),
                getattr(self.dut, f"s_axil_{channel}{theirs[ours[channel]]}"),
            )
            for channel in channels
        }
        data = 0
        for mine, _ in waiting.values():
            mine.value = 1
        for _ in range(REGISTER_CYCLES):
            # What the two sides show now is what the coming edge sees.
            await ReadOnly()
            met = [channel for channel, (_, other) in waiting.items() if other.value == 1]
            answer = [int(getattr(self.dut, f"s_axil_{c}resp").value) for c in met if c in "br"]
            if "r" in met:
                data = int(self.dut.s_axil_rdata.value)
            await self._step()
            for channel in met:
                waiting.pop(channel)[0].value = 0
            if any(answer):
                raise Fault(f"a register access was answered with error {answer[0]}")
            if not waiting:
                return data
        raise Fault(f"a register access is not over after {REGISTER_CYCLES} cycles")

    async def write(self, name: str, value: int) -> None:
        """Write a register, both halves of a wide one."""
        entry = register(name)
        for half in range(2 if entry.wide else 1):
            self.dut.s_axil_awaddr.value = entry.offset + 4 * half
            self.dut.s_axil_wdata.value = value >> 32 * half & 0xFFFF_FFFF
            await self._transfer("aw", "w")
            await self._transfer("b")

    async def read(self, name: str) -> int:
        """Read a register, both halves of a wide one."""
        entry = register(name)
        value = 0
        for half in range(2 if entry.wide else 1):
            self.dut.s_axil_araddr.value = entry.offset + 4 * half
            await self._transfer("ar")
            value |= await self._transfer("r") << 32 * half
        return value

    def check_rules(self) -> None:
        """Raise Fault if the engine has broken a rule of the bus."""
        rule = int(self.dut.broken.value)
        if rule:
            where = int(self.dut.broken_address.value)
            raise Fault(f"{RULES[rule]} (address {where:#x}, cycle {self.cycle})")
        rule = int(self.dut.dram_broken.value)
        if rule:
            clock = int(self.dut.dram_broken_clock.value)
            raise Fault(f"the simulated DRAM broke its own {DRAM_RULES[rule]} at clock {clock}")

    async def settled(self, *, limit: int) -> None:
        """Wait until memory owes no answers to a command that has failed."""
        end = self.cycle + limit
        while await self.read("STATUS") & 0b100:
            if self.cycle > end:
                raise Fault(f"memory still owes answers after {limit} cycles")

    async def interrupt(self, *, limit: int, heartbeat) -> None:
        """Sleep until the interrupt; Fault after `limit` cycles without."""
        dut, end = self.dut, self.cycle + limit
        while dut.interrupt.value != 1:
            self.check_rules()
            left = end - self.cycle
            if left <= 0:
                raise Fault(f"no interrupt within {limit} cycles")
            nap = Timer(min(left, HEARTBEAT_CYCLES) * CLOCK_NS, "ns")
            await First(RisingEdge(dut.interrupt), dut.broken.value_change, nap)
            heartbeat()
            await self._step()
        self.check_rules()


@cocotb.test
async def session(dut):
    """Run the job in the current folder."""
    job = json.loads(Path("job.json").read_text())
    outcomes = []
    try:
        with Path("progress.txt").open("w") as progress:
            await _run(Session(dut), job, outcomes, progress)
    except Fault as fault:
        Path("fault.txt").write_text(f"command {len(outcomes)}: {fault}")
        raise
    Path("outcomes.json").write_text(json.dumps(outcomes))


async def _run(host: Session, job: dict, outcomes: list, progress) -> None:
    dut = host.dut

    def heartbeat():
        print(host.cycle, len(outcomes), int(dut.looked_up.value), file=progress, flush=True)

    slots = job["ring_slots"]
    await host.start(job["memory_bytes"])
    dut.record.value = int(job["record"])
    await _set_up(host, job)
    slot = 0
    for command in job["commands"]:
        await _prepare(host, command, slot)
        if command["reset_after"]:
            await host.write("TAIL", (slot + 1) % slots)
            for _ in range(command["reset_after"]):
                await FallingEdge(dut.clk)
            await host.reset()
            await _set_up(host, job)
            slot = 0
            await _prepare(host, command, slot)
        slot = (slot + 1) % slots
        outcomes.append(await _command(host, slot, command, heartbeat))
        for place in command["dumps"]:
            await host.dump(*place)
        heartbeat()


async def _set_up(host: Session, job: dict) -> None:
    """What a host does once after a reset."""
    await host.write("RING_BASE", 0)
    await host.write("RING_SIZE", job["ring_slots"] - 1)
    await host.write("IRQ_ENABLE", 0b11)
    await host.write("WATCHDOG", job["watchdog"])
    await host.write("CONTROL", 1)


async def _prepare(host: Session, command: dict, slot: int) -> None:
    """Load what a command needs, its descriptor into a slot of the ring; set what goes wrong."""
    dut = host.dut
    for place in command["loads"]:
        await host.load(*place)
    file, words = command["descriptor"]
    await host.load(file, slot * words, words)
    await host.allocate(command["allocated"])
    for name in FAULTS:
        getattr(dut, name).value = command["faults"].get(name, 0)
    dut.arm.value = 1
    await FallingEdge(dut.clk)
    dut.arm.value = 0


async def _command(host: Session, tail: int, command: dict, heartbeat) -> dict:
    """Launch it, sleep until its interrupt, take the registers; leave the ring ready to go on."""
    dut = host.dut
    # Some of the engine's turns go round all the time: so a command finds them the same each time.
    while host.cycle % LAUNCH_CYCLES:
        await FallingEdge(dut.clk)
    counts = (*(dut.beats_read, dut.beats_written), *(dut.traced, dut.sampled, dut.requested))
    before = [int(port.value) for port in counts]
    cycle, clock = host.cycle, time.perf_counter()
    await host.write("TAIL", tail)
    await host.interrupt(limit=command["limit"], heartbeat=heartbeat)
    cycles, seconds = host.cycle - cycle, time.perf_counter() - clock
    registers = {entry.name: await host.read(entry.name) for entry in REGISTERS}
    dut.mute.value = 0
    if dut.outside.value == 1 and registers["ERROR"] not in (Error.READ, Error.WRITE):
        where = int(dut.outside_address.value)
        raise Fault(f"a burst at {where:#x} lies beyond memory, and the engine did not say so")
    dut.outside_clear.value = 1
    await host.write("IRQ", 0b11)
    if registers["ERROR"]:
        await host.write("ERROR", 1)
    dut.outside_clear.value = 0
    await host.settled(limit=command["limit"])
    if dut.interrupt.value == 1:
        raise Fault("the interrupt stands although its events are cleared")
    after = [int(port.value) for port in counts]
    read, written, *records = (now - then for now, then in zip(after, before, strict=True))
    return {
        "registers": registers,
        "beats": [read, written],
        "records": records,
        "cycles": cycles,
        "seconds": seconds,
    }
