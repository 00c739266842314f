# SPDX-FileCopyrightText: castbag contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Bench of the memory join: whose data are whose, in which order, and how soon.

Each manager writes pages of its own; all read the pages below them, which nobody writes.
"""

import itertools
from dataclasses import replace

import cocotb

from castbag.rtl.axi import DECERR, OKAY, SLVERR, numbered
from castbag.rtl.config import preset
from castbag.rtl.soc.join import OUTSTANDING
from castbag.sim.bench import STALLS, Bench, parameters

from .axi_managers import WORD, Burst, Manager
from .axi_memory import ORDERS, PAGE, ReadMemory, WriteMemory

GIVEN = parameters()
COUNT = GIVEN["managers"]
SHORT = GIVEN.get("short", False)
CONFIG = replace(preset("tiny"), burst_beats=256, vector_beats=512)
READ_PAGES = 2
SIZE = (READ_PAGES + COUNT) * PAGE
EACH = [("never", "never"), ("half", "bursts")] if SHORT else itertools.product(STALLS, STALLS)
CASES = [(*stalls, "any") for stalls in EACH] + [("half", "half", order) for order in ORDERS[1:]]
"""Patterns of offers and of taking, and the order in which memory takes address and data."""


class JoinBench(Bench):
    """Managers, the join, a memory; counts what is under way each way."""

    def __init__(self, dut, *, idle="never", stall="never", latency=1, order="any", **memory):
        super().__init__(dut)
        self.content = bytearray(self.rng.randbytes(SIZE))
        self.model = bytearray(self.content)
        names = zip(numbered("read", COUNT), numbered("write", COUNT), strict=True)
        self.managers = [
            Manager(self, idle=idle, stall=stall, read=f"{read}__", write=f"{write}__")
            for read, write in names
        ]
        stalls = {"address_stall": stall, "data_stall": stall} | memory
        self.memory_read = ReadMemory(
            self, CONFIG, self.content, bus="memory_read", latency=latency, **stalls
        )
        self.memory_write = WriteMemory(
            self,
            CONFIG,
            self.content,
            bus="memory_write",
            latency=latency,
            order=order,
            answer_stall=idle,
            **stalls,
        )
        self.most = {"reads": 0, "writes": 0}
        self.add(self)

    def tick(self) -> None:
        for kind in self.most:
            under_way = sum(
                len(each.reading if kind == "reads" else each.writing) for each in self.managers
            )
            assert under_way <= OUTSTANDING
            self.most[kind] = max(self.most[kind], under_way)

    @property
    def idle(self) -> bool:
        return all(each.idle for each in self.managers)

    def read(self, number: int, most: int = 16) -> Burst:
        words = self.rng.randint(1, most)
        page = self.rng.randrange(READ_PAGES) * PAGE
        at = page + self.rng.randrange(PAGE // WORD - words + 1) * WORD
        return self.managers[number].read(at, words)

    def write(self, number: int, most: int = 16) -> Burst:
        rng, words = self.rng, self.rng.randint(1, most)
        at = self.own(number) + rng.randrange(PAGE // WORD - words + 1) * WORD
        strobes = [rng.choice((0xFF, rng.randrange(256))) for _ in range(words)]
        burst = self.managers[number].write(at, rng.randbytes(words * WORD), strobes)
        for k, lane in itertools.product(range(words), range(WORD)):
            if strobes[k] >> lane & 1:
                self.model[at + k * WORD + lane] = burst.data[k * WORD + lane]
        return burst

    def own(self, number: int) -> int:
        """The page that the manager writes."""
        return (READ_PAGES + number) * PAGE

    def check_turns(self) -> None:
        """Between offer and taking of a burst, each other manager had one taken at the most."""
        for channel, one, other in itertools.product(("ar", "aw"), self.managers, self.managers):
            taken = one.taken[channel]
            for offered, at in zip(one.offered[channel], taken, strict=True):
                between = [time for time in other.taken[channel] if offered <= time <= at]
                assert len(between) <= 1, (channel, offered, at, between)

    def check_read(self, burst: Burst) -> None:
        expected = self.model[burst.address : burst.address + burst.words * WORD]
        assert burst.data == expected and burst.response == OKAY and not burst.wrong


@cocotb.test
@cocotb.parametrize((("idle", "stall", "order"), CASES))
async def hands_each_manager_its_own(dut, idle, stall, order):
    bench = JoinBench(dut, idle=idle, stall=stall, order=order)
    await bench.reset()
    reads, writes = [], []
    for number in range(COUNT):
        for _ in range(6 if SHORT else 12):
            reads.append(bench.read(number))
            writes.append(bench.write(number))
    await bench.until(lambda: bench.idle, limit=50_000)
    for burst in reads:
        bench.check_read(burst)
    assert all(burst.response == OKAY and not burst.wrong for burst in writes)
    assert bench.content == bench.model
    bench.check_turns()
    of_memory = [(burst.address, burst.beats) for burst in bench.memory_write.bursts]
    for number in range(COUNT):  # each manager's own are in its order
        page = bench.own(number)
        assert [each for each in of_memory if page <= each[0] < page + PAGE] == [
            (burst.address, burst.words) for burst in writes if page <= burst.address < page + PAGE
        ]


@cocotb.test
async def passes_the_longest_bursts(dut):
    bench = JoinBench(dut, idle="half")
    await bench.reset()
    reads = [bench.managers[k].read(half, 256) for k in range(COUNT) for half in (0, PAGE // 2)]
    for number in range(COUNT):
        data = bench.rng.randbytes(256 * WORD)
        bench.managers[number].write(bench.own(number), data)
        bench.model[bench.own(number) : bench.own(number) + len(data)] = data
    await bench.until(lambda: bench.idle, limit=20_000)
    for burst in reads:
        bench.check_read(burst)
    assert bench.content == bench.model


@cocotb.test
@cocotb.parametrize(stalls=[("never", "never"), ("half", "half")])
async def hands_an_error_to_its_owner(dut, stalls):
    idle, stall = stalls
    bench = JoinBench(dut, idle=idle, stall=stall)
    await bench.reset()
    bad = {at: bench.rng.choice((SLVERR, DECERR)) for at in range(0, PAGE, 5 * WORD)}
    bench.memory_read.responses = bad
    bench.memory_write.responses = {
        bench.own(number) + at: response for number in range(COUNT) for at, response in bad.items()
    }
    reads = [bench.read(number) for _ in range(15) for number in range(COUNT)]
    writes = [bench.write(number) for _ in range(15) for number in range(COUNT)]
    await bench.until(lambda: bench.idle, limit=20_000)
    for burst in reads:
        places = range(burst.address, burst.address + burst.words * WORD, WORD)
        assert burst.response == max(bad.get(at, OKAY) for at in places)
        assert burst.data == bench.model[places.start : places.stop] and not burst.wrong
    for burst in writes:
        assert burst.response == bad.get(burst.address % PAGE, OKAY)
    assert {burst.response for burst in reads} == {OKAY, SLVERR, DECERR}


@cocotb.test
async def takes_as_many_as_may_be_outstanding(dut):
    bench = JoinBench(dut, latency=400)
    await bench.reset()
    reads = [bench.read(number, 3) for _ in range(40) for number in range(COUNT)]
    for _ in range(40):
        for number in range(COUNT):
            bench.write(number, 3)
    await bench.step(200)
    assert bench.most == {"reads": OUTSTANDING, "writes": OUTSTANDING}
    taken = [len(each.taken[channel]) for each in bench.managers for channel in ("ar", "aw")]
    assert max(taken) - min(taken) <= 1  # each its share
    await bench.until(lambda: bench.idle, limit=20_000)
    for burst in reads:
        bench.check_read(burst)
    assert bench.content == bench.model
    bench.check_turns()


@cocotb.test
@cocotb.parametrize(words=[1, 2, 16], active=sorted({1, min(2, COUNT), COUNT}))
async def keeps_memory_busy(dut, words, active):
    """A beat a cycle each way from the first on, one manager alone or several in turn."""
    bench = JoinBench(dut)
    await bench.reset()
    bursts = 96 // words
    for number, k in itertools.product(range(active), range(bursts)):
        bench.managers[number].read(k * words * WORD, words)
        bench.managers[number].write(bench.own(number), bytes(words * WORD))
    first = bench.cycle
    await bench.until(lambda: bench.idle, limit=2000)
    beats = active * bursts * words
    for memory, channel in ((bench.memory_read, "ar"), (bench.memory_write, "aw")):
        assert len(memory.times) == beats
        assert memory.times[-1] - memory.times[0] == beats - 1
        assert memory.bursts[0].cycle == bench.managers[0].taken[channel][0] + 1
        assert memory.times[0] <= first + 5
        takings = sorted(
            (time, number)
            for number in range(active)
            for time in bench.managers[number].taken[channel]
        )
        owners = [number for _, number in takings]
        assert owners == [k % active for k in range(active * bursts)]  # in turn
    assert bench.memory_write.gaps == 0


@cocotb.test
async def reads_and_writes_do_not_wait_for_each_other(dut):
    bench = JoinBench(dut)
    await bench.reset()
    for manager in bench.managers:
        manager.may_give = 0
    bench.memory_read.hold = True
    writes = [bench.write(number) for number in range(COUNT)]
    reads = [bench.read(number) for number in range(COUNT)]
    await bench.step(30)
    bench.memory_read.hold = False
    await bench.until(lambda: all(not each.reading for each in bench.managers), limit=200)
    for burst in reads:
        bench.check_read(burst)
    assert all(burst.response is None for burst in writes)
    bench.memory_read.hold = True
    more = [bench.read(number) for number in range(COUNT)]
    for manager in bench.managers:
        manager.may_give = None
    await bench.until(lambda: all(burst.response == OKAY for burst in writes), limit=200)
    assert all(burst.response is None for burst in more)
    bench.memory_read.hold = False
    await bench.until(lambda: bench.idle, limit=200)
    assert bench.content == bench.model
