# SPDX-FileCopyrightText: castbag contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Bench of the vector fetch: requests, terms, replays, gaps, and the closing order."""

import cocotb

from castbag.rtl.config import preset
from castbag.rtl.layouts import SlottedLookupLayout, TermLayout
from castbag.sim.bench import STALLS, Bench, parameters

from .segments import VectorMemory


def content(config, address: int) -> int:
    """A beat that tells its address: the place of each element, scrambled."""
    beat = address // config.bus_bytes
    elements = range(beat * config.lanes, (beat + 1) * config.lanes)
    return sum((k * 0x9E3779B1 & 0xFFFFFFFF) << 32 * n for n, k in enumerate(elements))


class Frame:
    """The unit with all its neighbours."""

    def __init__(self, dut, *, idle="never", stall="never", latency=0):
        self.bench = bench = Bench(dut)
        self.config = config = preset(parameters()["preset"])
        self.lookups = bench.source("i", SlottedLookupLayout(config), stall=idle)
        self.terms = bench.sink("o", TermLayout(config), stall=stall)
        self.closing = bench.sink("closing", config.vector_index_bits, stall=idle)
        self.memory = VectorMemory(
            bench, config, lambda a: content(config, a), latency=latency, stall=idle
        )
        dut.base.value = 0
        dut.words.value = 1
        dut.announce.value = 0

    def draw(self, count: int, *, rows: int, again: float) -> list[dict]:
        """Lookups in `rows` rows, a tenth of them not valid, `again` of the others replayed."""
        rng, config = self.bench.rng, self.config
        items, read = [], False
        for _ in range(count):
            valid = rng.random() < 0.9
            repeated = valid and read and rng.random() < again
            read |= valid
            lookup = {
                "source": rng.randrange(rows),
                "target": rng.getrandbits(config.vector_index_bits),
                "valid": int(valid),
                "again": int(repeated),
                "first": rng.getrandbits(1),
                "last": rng.getrandbits(1),
            }
            items.append({"lookup": lookup, "slot": rng.randrange(8)})
        return items

    async def fetch(self, items, *, base: int, words: int, announce: int) -> None:
        """Pass the items through, and compare everything that comes of them."""
        dut = self.bench.dut
        dut.base.value, dut.words.value, dut.announce.value = base, words, announce
        await self.bench.step(2)
        before = len(self.terms.items), len(self.memory.requests), len(self.closing.items)
        self.lookups.send_all(items)
        terms, requests, closing = self.expected(items, base, words)
        await self.bench.until(lambda: len(self.terms.items) - before[0] == len(terms))
        await self.bench.step(50)
        assert self.memory.requests[before[1] :] == requests
        assert self.closing.items[before[2] :] == (closing if announce else [])
        assert self.terms.items[before[0] :] == terms

    def expected(self, items, base: int, words: int):
        pitch = words * self.config.bus_bytes
        terms, requests, closing, vector = [], [], [], [0] * words
        for item in items:
            lookup = item["lookup"]
            if lookup["valid"] and not lookup["again"]:
                address = base + lookup["source"] * pitch
                requests.append({"address": address, "beats": words})
                places = range(address, address + pitch, self.config.bus_bytes)
                vector = [content(self.config, place) for place in places]
            if lookup["last"]:
                closing.append(lookup["target"])
            terms += [
                {
                    "data": vector[word] if lookup["valid"] else 0,
                    "target": lookup["target"],
                    "slot": item["slot"],
                    "word": word,
                    "end": int(word == words - 1),
                    "first": lookup["first"],
                    "last": lookup["last"],
                }
                for word in range(words)
            ]
        return terms, requests, closing


@cocotb.test
@cocotb.parametrize(idle=list(STALLS), stall=list(STALLS))
async def fetches_vectors(dut, idle, stall):
    frame = Frame(dut, idle=idle, stall=stall, latency=latency_of(idle))
    await frame.bench.reset()
    config, rng = frame.config, frame.bench.rng
    room = (1 << config.address_bits) // config.bus_bytes
    for words in (1, 2, 3, 5, 8, 17, config.max_words):
        rows = min(1 << config.vector_index_bits, room // words)
        base = rng.randrange(room - rows * words + 1) * config.bus_bytes
        items = frame.draw(60 // words + 4, rows=rows, again=0.4)
        await frame.fetch(items, base=base, words=words, announce=rng.getrandbits(1))


def latency_of(idle: str) -> int:
    return {"never": 0, "half": 3}.get(idle, 20)


@cocotb.test
@cocotb.parametrize(words=[1, 2, 3, 16], again=[0, 1])
async def gives_a_word_a_cycle(dut, words, again):
    """With as many vectors on their way as the latency asks for; replayed ones need none."""
    frame = Frame(dut, latency=covered_latency(words))
    await frame.bench.reset()
    items = frame.draw(300 // words, rows=1000, again=0)
    for item in items:
        item["lookup"].update(valid=1, again=again)
    items[0]["lookup"]["again"] = 0
    await frame.fetch(items, base=0, words=words, announce=1)
    times, start = frame.terms.times, 1 + again * words
    assert times[start:] == list(range(times[start], times[start] + len(times) - start))
    assert times[0] == frame.memory.data.times[0] + 2


def covered_latency(words: int) -> int:
    """A latency that `vector_requests` of the tiny preset just cover, other stages' included."""
    return min(40, 16 * words - 8)


@cocotb.test
async def has_its_latency(dut):
    """From a lookup to the request 2 cycles, from a beat to its term 1."""
    frame = Frame(dut, latency=5)
    await frame.bench.reset()
    items = frame.draw(1, rows=1000, again=0)
    items[0]["lookup"]["valid"] = 1
    await frame.fetch(items, base=64, words=3, announce=0)
    assert frame.memory.request_times[0] == frame.lookups.times[0] + 3
    assert frame.terms.times[0] == frame.memory.data.times[0] + 2
