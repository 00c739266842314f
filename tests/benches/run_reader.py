# SPDX-FileCopyrightText: castbag contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Bench of the run reader: each way's pairs however ways are asked, what is read, and the pace."""

from collections import deque
from collections.abc import Callable
from itertools import chain, cycle, repeat, zip_longest

import cocotb
from cocotb.triggers import FallingEdge

from castbag.rtl.config import EngineConfig
from castbag.rtl.sort.run_reader import WayLayout
from castbag.rtl.sort.tree import MergeItemLayout, PlaceLayout
from castbag.sim.bench import STALLS, Bench, Codec, parameters

from .packed import Packed, random_pairs
from .scratch import ScratchMemory

BASE, SIZE = 0x4000, 1 << 18

OVERHEAD = 20
"""Cycles from a chunk's last pair given to the first one of the chunk in its place, at most, less
the memory's latency."""


class Asker:
    """Asks a way in every step, and notes what it gives: an item two steps later.

    Attributes:
        order: Gives the way to ask; or None, for a step that asks none.
        given: Items of each way.
        times: Of each way the cycles of the steps in which it was asked.
    """

    def __init__(self, bench: Bench, config: EngineConfig, *, stall: str):
        self._bench, self._ways = bench, config.merge_ways
        self._asked = Codec(PlaceLayout(config.merge_ways))
        self._item = Codec(MergeItemLayout(config))
        self._willing = STALLS[stall](bench.rng)
        bench.dut.step.value = 0
        self.begin()
        bench.add(self)
        cocotb.start_soon(self._step())

    def begin(self) -> None:
        """A merge begins; nothing is asked until there is an order."""
        self.order: Callable[[], int | None] = lambda: None
        self.given: list[list[dict]] = [[] for _ in range(self._ways)]
        self.times: list[list[int]] = [[] for _ in range(self._ways)]
        self._coming: deque[int | None] = deque([None] * 2)
        self._following, self._place = None, 0
        self._ask()

    def _ask(self) -> None:
        """What would follow is asked, and something else will follow."""
        dut, rng = self._bench.dut, self._bench.rng
        self._way, dut.asked.value = self._following, self._place
        self._following = self.order()
        way = rng.randrange(self._ways) if self._following is None else self._following
        valid = int(self._following is not None)
        place = {"valid": valid, "child": way, "place": rng.randrange(4)}
        self._place = self._asked.encode(place)
        dut.following.value = self._place

    async def _step(self) -> None:
        """`step` follows `ready` within the cycle."""
        dut = self._bench.dut
        while True:
            await FallingEdge(dut.clk)
            dut.step.value = int(dut.ready.value == 1 and not next(self._willing))

    def tick(self) -> None:
        dut = self._bench.dut
        if dut.step.value == 0 or dut.rst.value == 1:
            return
        if self._way is not None:
            self.times[self._way].append(self._bench.cycle)
        self._coming.append(self._way)
        way = self._coming.popleft()
        if way is not None:
            self.given[way].append(self._item.decode(int(dut.item.value)))
        self._ask()


class Reading:
    """The reader, its memory, and the ways of a merge.

    Attributes:
        runs: Pairs of each way.
        chunks: Requests for each way.
    """

    def __init__(self, dut, *, stall="never", idle="never", bus="never", latency=9):
        self.config = config = EngineConfig(**parameters()["config"])
        self.packed, self.bench = Packed(config), Bench(dut)
        self.ways = self.bench.source("ways", WayLayout(config), stall=idle)
        self.memory = ScratchMemory(
            self.bench,
            config,
            base=BASE,
            size=SIZE,
            stall=bus,
            latency=latency,
            read="",
            write=None,
        )
        self.asker = Asker(self.bench, config, stall=stall)
        self._asked_before = 0

    async def begin(self, chunks: list[int]) -> None:
        """A merge of runs of so many chunks."""
        dut, bench, packed = self.bench.dut, self.bench, self.packed
        dut.rst.value = 1
        await bench.step()
        dut.rst.value = 0
        self.asker.begin()
        self.memory.written.clear()
        self._asked_before = len(self.memory.reads.items)
        self.runs, self.chunks = [], []
        size = self.config.bus_bytes
        beats = range(BASE + bench.rng.randrange(4) * size, BASE + SIZE, size)
        for count in chunks:
            pairs = random_pairs(bench.rng, count * packed.chunk, self.config)
            words = packed.beats(pairs, junk=bench.rng)
            self.memory.written.update(zip(beats, words, strict=False))
            self.ways.send({"address": beats[0], "pairs": len(pairs)})
            starts = beats[: len(words) : packed.chunk_beats]
            self.chunks.append([{"address": a, "beats": packed.chunk_beats} for a in starts])
            self.runs.append(pairs)
            beats = beats[len(words) :]

    async def finish(self, order: Callable[[], int | None]) -> None:
        """Ask in this order until every way has come to its end, and check what was given."""
        asker = self.asker
        asker.order = order
        await self.bench.until(
            lambda: all(len(g) > len(r) for g, r in zip(asker.given, self.runs, strict=True))
        )
        for given, run in zip(asker.given, self.runs, strict=True):
            assert [pair_of(item) for item in given[: len(run)]] == run
            assert all(item["filled"] and item["empty"] for item in given[len(run) :])
        requests = self.requests()
        for chunks in self.chunks:
            assert [request for request in requests if request in chunks] == chunks
        assert len(requests) == sum(map(len, self.chunks))

    def requests(self) -> list[dict]:
        """Those of this merge."""
        return self.memory.reads.items[self._asked_before :]

    def full(self) -> bool:
        """Each way's buffer is, or holds all of its run."""
        most = self.config.way_pairs // self.packed.chunk
        beats = sum(len(chunks[:most]) for chunks in self.chunks) * self.packed.chunk_beats
        return self.memory.beats_read == beats and self.memory.idle

    def times(self) -> list[int]:
        """Cycles in which pairs were given, not empty items."""
        runs = zip(self.asker.times, self.runs, strict=True)
        return sorted(time for times, run in runs for time in times[: len(run)])

    def at_random(self) -> Callable[[], int | None]:
        """Any way, or none."""
        return lambda: self.bench.rng.choice([None, *range(self.config.merge_ways)])

    def in_turn(self) -> Callable[[], int | None]:
        """Every way, again and again."""
        return cycle(range(self.config.merge_ways)).__next__

    def one_by_one(self) -> Callable[[], int | None]:
        """Each way until it has come to its end, and three times more; the last way first."""
        order = [way for way, run in enumerate(self.runs) for _ in range(len(run) + 3)]
        return chain(reversed(order), repeat(None)).__next__


def pair_of(item: dict) -> dict:
    assert item["filled"] and not item["empty"]
    return {name: item[name] for name in ("row", "source")}


@cocotb.test
@cocotb.parametrize(
    paces=[
        ("at_random", "never", "never", "never"),
        ("at_random", "half", "half", "half"),
        ("in_turn", "bursts", "half", "mostly"),
        ("one_by_one", "never", "bursts", "bursts"),
        ("one_by_one", "mostly", "never", "never"),
    ],
)
async def gives_the_pairs_of_each_way(dut, paces):
    """In whatever order ways are asked, and of whatever length they are."""
    order, stall, idle, bus = paces
    reading = Reading(dut, stall=stall, idle=idle, bus=bus)
    bench, count = reading.bench, reading.config.merge_ways
    await bench.reset()
    for _ in range(3):
        await reading.begin([bench.rng.choice([0, 0, 1, 5]) for _ in range(count)])
        await reading.finish(getattr(reading, order)())


@cocotb.test
async def reads_ahead_what_its_buffers_hold(dut):
    """The first chunk of every way, then the second one of every way, and so on; no more."""
    reading = Reading(dut)
    bench, count = reading.bench, reading.config.merge_ways
    await bench.reset()
    blocks = reading.config.way_pairs // reading.packed.chunk
    await reading.begin([bench.rng.randrange(2 * blocks) for _ in range(count)])
    await bench.step(2 * count * reading.config.way_pairs)
    ahead = [chunks[:blocks] for chunks in reading.chunks]
    assert reading.requests() == [one for row in zip_longest(*ahead) for one in row if one]
    await reading.finish(reading.in_turn())


@cocotb.test
@cocotb.parametrize(order=["in_turn", "one_by_one"])
async def gives_a_pair_a_cycle(dut, order):
    """Once its buffers are full: of all ways together, and of one alone."""
    reading = Reading(dut, latency=parameters()["latency"])
    await reading.bench.reset()
    await reading.begin([8] * reading.config.merge_ways)
    await reading.bench.until(reading.full)
    await reading.finish(getattr(reading, order)())
    times = sorted(chain(*reading.asker.times))
    assert times == list(range(times[0], times[0] + len(times)))


@cocotb.test
async def waits_no_longer_than_a_fill(dut):
    """A way that is asked alone from the start waits for the chunks of the others."""
    reading = Reading(dut, latency=parameters()["latency"])
    bench, config = reading.bench, reading.config
    await bench.reset()
    await reading.begin([8] * config.merge_ways)
    reset = bench.cycle
    await reading.finish(reading.one_by_one())
    times = reading.times()
    fill = config.merge_ways * config.way_pairs + reading.memory.latency + OVERHEAD
    assert times[-1] - reset <= len(times) + fill


@cocotb.test
async def asks_again_soon(dut):
    """From a chunk's last pair to the first one of the chunk in its place: the memory's latency,
    and what bounds the rate of one way besides."""
    reading = Reading(dut, latency=500)
    await reading.bench.reset()
    chunks, size = 20, reading.packed.chunk
    await reading.begin([chunks] + [0] * (reading.config.merge_ways - 1))
    await reading.finish(reading.one_by_one())
    times, held = reading.asker.times[0], reading.config.way_pairs
    lasts = range(size - 1, chunks * size - held, size)
    waits = {times[last + 1 + held - size] - times[last] for last in lasts}
    assert max(waits) <= reading.memory.latency + OVERHEAD
