# SPDX-FileCopyrightText: castbag contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Bench of the merge tree: the bench plays its ways, of any length, and what is behind it."""

from collections import deque
from itertools import pairwise

import cocotb
import numpy as np

from castbag.rtl.config import EngineConfig
from castbag.rtl.sort.tree import MergeItemLayout, PlaceLayout
from castbag.sim.bench import STALLS, Bench, Codec, parameters

from .runs import KINDS, run_rows


class Ways:
    """Gives the next item of the way that is asked, two steps later; takes what leaves.

    Attributes:
        runs: Pairs of each way that have not been asked for.
        left, times, steps: Pairs that have left; in which cycle, and in which step.
        over: The first cycle and step in which the tree was `over`.
    """

    def __init__(self, bench: Bench, config: EngineConfig, *, idle: str, stall: str):
        self._bench, self._rng = bench, bench.rng
        self._asked = Codec(PlaceLayout(config.merge_ways))
        self._item = Codec(MergeItemLayout(config))
        self._idle, self._stall = STALLS[idle](bench.rng), STALLS[stall](bench.rng)
        bench.dut.ready.value = bench.dut.room.value = 0
        self.begin([])
        bench.add(self)

    def begin(self, runs: list[list[dict]]) -> None:
        """A merge of these runs begins."""
        self.runs = [deque(run) for run in runs]
        self._coming = deque([self._junk()])
        self._bench.dut.item.value = self._junk()
        self.left, self.times, self.steps, self.over = [], [], [], None
        self.stepped = 0

    def _junk(self) -> int:
        """An item that nobody asked for."""
        return self._rng.getrandbits(self._item.width)

    def tick(self) -> None:
        dut = self._bench.dut
        now = self._bench.cycle, self.stepped
        if dut.valid.value == 1:
            pair = self._item.decode(int(dut.winner.value))
            self.left.append({name: pair[name] for name in ("row", "source")})
            self.times.append(now[0])
            self.steps.append(now[1])
        if dut.over.value == 1:
            self.over = self.over or now
        assert self.over is None or dut.over.value == 1
        if dut.step.value == 1:
            self.stepped += 1
            asked = self._asked.decode(int(dut.asked.value))
            self._coming.append(self._next(asked["child"]) if asked["valid"] else self._junk())
            dut.item.value = self._coming.popleft()
        # Of whatever way is asked the next item can be had, or not; there is room, or not.
        dut.ready.value = int(not next(self._idle))
        dut.room.value = int(not next(self._stall))

    def _next(self, way: int) -> int:
        if self.runs[way]:
            return self._item.encode({**self.runs[way].popleft(), "filled": 1})
        nothing = {"row": self._rng.getrandbits(16), "source": self._rng.getrandbits(14)}
        return self._item.encode({**nothing, "empty": 1, "filled": 1})


class Merges:
    """The tree with its ways, and merges for it."""

    def __init__(self, dut, *, idle="never", stall="never"):
        self.config = EngineConfig(**parameters()["config"])
        self.bench = Bench(dut)
        self.ways = Ways(self.bench, self.config, idle=idle, stall=stall)

    async def merge(self, kind: str, lengths: list[int]) -> int:
        """Merge runs of these lengths, check what leaves, and give the cycle of the reset."""
        dut, bench, ways = self.bench.dut, self.bench, self.ways
        rows = np.array(run_rows(bench.rng, kind, sum(lengths), self.config), dtype=np.int64)
        sources = np.array(bench.rng.sample(range(2**self.config.source_bits), len(rows)))
        cuts = np.cumsum([0, *lengths])
        for begin, end in pairwise(cuts):
            rows[begin:end].sort()
        order = np.argsort(rows, kind="stable")
        runs = [pairs(rows[begin:end], sources[begin:end]) for begin, end in pairwise(cuts)]
        dut.rst.value = 1
        await bench.step()
        dut.rst.value = 0
        ways.begin(runs)
        reset = bench.cycle
        await bench.until(lambda: ways.over is not None, limit=500 + 30 * len(rows))
        await bench.step(30)
        assert ways.left == pairs(rows[order], sources[order])
        assert not any(ways.runs)
        assert ways.steps == list(range(ways.over[1] - len(rows), ways.over[1])), "a pair a step"
        return reset


def pairs(rows, sources) -> list[dict]:
    return [{"row": int(r), "source": int(s)} for r, s in zip(rows, sources, strict=True)]


def random_lengths(rng, ways: int) -> list[int]:
    """Of each way; many are empty or short."""
    return [rng.choice([0, 1, rng.randrange(8), rng.randrange(40)]) for _ in range(ways)]


PATTERNS = ["never", "half", "bursts"]


@cocotb.test
@cocotb.parametrize(idle=PATTERNS, stall=PATTERNS)
async def merges_at_any_pace(dut, idle, stall):
    merges = Merges(dut, idle=idle, stall=stall)
    await merges.bench.reset()
    for kind in KINDS:
        await merges.merge(kind, random_lengths(merges.bench.rng, merges.config.merge_ways))


@cocotb.test
async def merges_few_runs(dut):
    """None, one alone on each way, and two neighbours."""
    merges = Merges(dut)
    ways = merges.config.merge_ways
    await merges.bench.reset()
    await merges.merge("ties", [0] * ways)
    for way in range(ways):
        await merges.merge("ties", [20 * (k == way) for k in range(ways)])
        await merges.merge("ends", [5 * (k in (way, way + 1)) for k in range(ways)])


@cocotb.test
@cocotb.parametrize(kind=KINDS)
async def gives_a_pair_a_cycle(dut, kind):
    """From `latency` cycles after the reset on; then it is over."""
    merges = Merges(dut)
    bench, ways, latency = merges.bench, merges.ways, parameters()["latency"]
    await bench.reset()
    count = merges.config.merge_ways
    for lengths in ([50] * count, random_lengths(bench.rng, count)):
        reset = await merges.merge(kind, lengths)
        first, end = reset + latency, reset + latency + sum(lengths)
        assert ways.times == list(range(first, end))
        assert ways.over[0] == end
