# SPDX-FileCopyrightText: castbag contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Bench of the decoder: where accesses arrive, what comes back, and when they are abandoned."""

import itertools
import logging

import cocotb
from cocotbext.axi import AxiLiteBus, AxiLiteMaster

from castbag.rtl.axi import DECERR, OKAY, SLVERR
from castbag.sim.bench import STALLS, Bench, parameters

from .axi_managers import Access, LiteManager, LiteSubordinate

GIVEN = parameters()
REGIONS: dict[str, tuple[int, int]] = GIVEN["regions"]
END = 1 << 32
SHORT = GIVEN.get("short", False)
STALLED = [("never", "never"), ("half", "bursts")] if SHORT else itertools.product(STALLS, STALLS)


class DecoderBench(Bench):
    """The decoder, a manager, a subordinate at each region; `abandon` resets these."""

    def __init__(self, dut, *, idle: str = "never", stall: str = "never", latency: int = 1):
        super().__init__(dut)
        dut.abandon.value = 0
        self.manager = LiteManager(self, idle=idle, stall=stall)
        ways = {"latency": latency, "idle": idle, "stall": stall}
        self.subordinates = {name: LiteSubordinate(self, name, **ways) for name in REGIONS}
        self.add(self)

    def tick(self) -> None:
        if int(self.dut.abandon.value):
            for each in self.subordinates.values():
                each.clear()

    def place(self, address: int) -> tuple[str | None, int]:
        """The region of an address and the offset in it."""
        for name, (base, size) in REGIONS.items():
            if base <= address < base + size:
                return name, address - base
        return None, 0

    def check(self, reads: list[Access], writes: list[Access]) -> None:
        """Each arrived where its address lies, in order, and nothing else did anywhere."""
        expected = {name: ([], []) for name in REGIONS}
        for access in reads:
            name, offset = self.place(access.address)
            assert access.response == (OKAY if name else DECERR), hex(access.address)
            if name:
                expected[name][0].append(offset)
                assert access.word == self.subordinates[name].words[offset], hex(access.address)
        for access in writes:
            name, offset = self.place(access.address)
            assert access.response == (OKAY if name else DECERR), hex(access.address)
            if name:
                expected[name][1].append((offset, access.word, access.strobe))
        found = {name: (each.reads, each.writes) for name, each in self.subordinates.items()}
        assert found == expected

    def fill(self, addresses) -> None:
        """Random words to be read at these addresses."""
        for address in addresses:
            name, offset = self.place(address)
            if name:
                self.subordinates[name].words[offset] = self.rng.getrandbits(32)


def edges() -> list[int]:
    """First and last word of each region, the words beside them, and some that lie nowhere."""
    found = {0, END - 4, END // 2}
    for base, size in REGIONS.values():
        found |= {base - 4, base, base + 4, base + size - 8, base + size - 4, base + size}
    return sorted(address for address in found if 0 <= address < END)


@cocotb.test
@cocotb.parametrize(stalls=list(STALLED))
async def goes_where_the_address_lies(dut, stalls):
    idle, stall = stalls
    bench = DecoderBench(dut, idle=idle, stall=stall)
    await bench.reset()
    rng, manager = bench.rng, bench.manager
    addresses = edges()
    for base, size in REGIONS.values():
        addresses += [base + rng.randrange(size // 4) * 4 for _ in range(2 if SHORT else 5)]
    bench.fill(addresses)
    reads, writes = [], []
    for address in rng.sample(addresses, len(addresses)):
        waits = {"address_after": rng.randrange(4), "data_after": rng.randrange(4)}
        reads.append(manager.read(address, address_after=rng.randrange(4)))
        writes.append(manager.write(address ^ 4, rng.getrandbits(32), rng.randrange(16), **waits))
    await manager.finish()
    bench.check(reads, writes)


@cocotb.test
@cocotb.parametrize(first=["address", "data"])
async def takes_address_and_data_in_either_order(dut, first):
    bench = DecoderBench(dut)
    await bench.reset()
    late = {"data_after": 20} if first == "address" else {"address_after": 20}
    name, (base, _) = next(iter(REGIONS.items()))
    access = bench.manager.write(base + 4, 0x1234_5678, 0x6, **late)
    await bench.step(15)
    assert not bench.subordinates[name].times["aw"] and not bench.subordinates[name].times["w"]
    await bench.manager.finish(limit=30)
    bench.check([], [access])


@cocotb.test
@cocotb.parametrize(response=[SLVERR, DECERR])
async def hands_back_the_subordinates_response(dut, response):
    bench = DecoderBench(dut, idle="half", stall="half")
    await bench.reset()
    for name, (base, size) in REGIONS.items():
        bench.subordinates[name].responses = {size - 4: response}
        for offset, expected in ((size - 4, response), (size - 8, OKAY)):
            accesses = [bench.manager.read(base + offset), bench.manager.write(base + offset, 5)]
            await bench.manager.finish()
            assert [access.response for access in accesses] == [expected] * 2


@cocotb.test
async def passes_on_in_two_cycles_and_answers_in_one(dut):
    bench = DecoderBench(dut)
    await bench.reset()
    manager = bench.manager
    for name, (base, _) in REGIONS.items():
        subordinate = bench.subordinates[name]
        read = manager.read(base)
        await manager.finish()
        assert subordinate.times["ar"][-1] == manager.ar.times[-1] + 2
        assert read.finished == subordinate.r.times[-1] + 1
        write = manager.write(base, 1)
        await manager.finish()
        assert manager.aw.times[-1] == manager.w.times[-1]
        for channel in ("aw", "w"):
            assert subordinate.times[channel][-1] == manager.aw.times[-1] + 2
        assert write.finished == subordinate.b.times[-1] + 1
    nowhere = next(address for address in edges() if bench.place(address)[0] is None)
    read = manager.read(nowhere)
    await manager.finish()
    assert read.response == DECERR and read.finished == manager.ar.times[-1] + 3


@cocotb.test
@cocotb.parametrize(kind=["read", "write"], refuses=["nothing", "the address", "the data"])
async def abandons_an_access_that_is_under_way(dut, kind, refuses):
    """At each cycle of it, the subordinate being reset for one cycle or for several."""
    bench = DecoderBench(dut, latency=4)
    await bench.reset()
    manager = bench.manager
    name, (base, _) = list(REGIONS.items())[-1]
    subordinate = bench.subordinates[name]
    subordinate.mute = True
    refused = {"the address": ("ar", "aw"), "the data": ("w",)}.get(refuses, ())
    patience = {channel: getattr(subordinate, channel).stalled for channel in ("ar", "aw", "w")}
    for before, cycles in itertools.product(range(6), (1, 2, 9)):
        for channel in refused:
            getattr(subordinate, channel).stalled = lambda: True
        access = manager.read(base + 8) if kind == "read" else manager.write(base + 8, 7)
        await bench.step(4 + before)
        dut.abandon.value = 1
        await bench.step(cycles)
        dut.abandon.value = 0
        await manager.finish(limit=20) if before or cycles > 1 else await bench.step(9)
        for channel, stalled in patience.items():
            getattr(subordinate, channel).stalled = stalled
        subordinate.mute = False
        await manager.finish(limit=60)
        assert access.response == SLVERR, (before, cycles)
        subordinate.words[4] = 1000 + before
        after, also = manager.read(base + 4), manager.write(base + 4, 9, 0x3)
        await manager.finish(limit=60)
        assert (after.response, after.word, also.response) == (OKAY, 1000 + before, OKAY)
        assert subordinate.reads[-1] == 4 and subordinate.writes[-1] == (4, 9, 0x3)
        subordinate.mute = True


@cocotb.test
@cocotb.parametrize(idle=["never", "half"])
async def answers_all_while_subordinates_come_and_go(dut, idle):
    """Resets at any time: an access is done whole or answered SLVERR, and the next is its own."""
    bench = DecoderBench(dut, idle=idle, stall=idle, latency=2)
    await bench.reset()
    rng, manager = bench.rng, bench.manager
    addresses = [base + 4 * k for base, _ in REGIONS.values() for k in range(2)]
    bench.fill(addresses)
    reads = [manager.read(rng.choice(addresses)) for _ in range(40 if SHORT else 200)]
    writes = [manager.write(rng.choice(addresses), rng.getrandbits(32)) for _ in reads]
    while not manager.idle:
        assert bench.cycle < 20_000
        dut.abandon.value = int(rng.random() < 0.1)
        await bench.step(rng.randint(1, 4))
    done = {name: list(each.writes) for name, each in bench.subordinates.items()}
    responses = set()
    for access in reads:
        name, offset = bench.place(access.address)
        responses.add(access.response)
        assert access.response in (OKAY, SLVERR)
        if access.response == OKAY:
            assert access.word == bench.subordinates[name].words[offset]
    for access in writes:
        name, offset = bench.place(access.address)
        if access.response == OKAY:  # after those that were abandoned once they had arrived
            wanted = (offset, access.word, access.strobe)
            assert wanted in done[name]
            del done[name][: done[name].index(wanted) + 1]
    assert responses == {OKAY, SLVERR}


@cocotb.test
@cocotb.parametrize(stall=["never"] if SHORT else ["never", "half", "bursts"])
async def serves_a_manager_that_is_not_ours(dut, stall):
    bench = Bench(dut)
    logging.getLogger(f"cocotb.{dut._name}").setLevel(logging.WARNING)
    dut.abandon.value = 0
    subordinates = {name: LiteSubordinate(bench, name, idle=stall, stall=stall) for name in REGIONS}
    axi = AxiLiteMaster(AxiLiteBus.from_prefix(dut, "i_"), dut.clk, dut.rst)
    await bench.reset()
    for channel in (
        *(axi.write_if.aw_channel, axi.write_if.w_channel, axi.write_if.b_channel),
        *(axi.read_if.ar_channel, axi.read_if.r_channel),
    ):
        channel.set_pause_generator(STALLS[stall](bench.rng))

    async def work():
        for name, (base, size) in REGIONS.items():
            data = bench.rng.randbytes(8)
            await axi.write(base + size - 8, data)
            words = [int.from_bytes(data[k : k + 4], "little") for k in range(0, 8, 4)]
            places = range(size - 8, size, 4)
            expected = [(at, word, 0xF) for at, word in zip(places, words, strict=True)]
            assert subordinates[name].writes == expected
            subordinates[name].words = dict(zip(places, words, strict=True))
            assert (await axi.read(base + size - 8, 8)).data == data

    task = cocotb.start_soon(work())
    await bench.until(task.done, limit=5000)
    task.result()
