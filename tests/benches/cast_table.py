# SPDX-FileCopyrightText: castbag contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Bench of the cast table writer: both lists, as the golden cast has them, and its pace."""

import cocotb
import numpy as np

from castbag.golden.batch import Batch
from castbag.golden.casting import Cast, cast
from castbag.rtl.config import preset
from castbag.rtl.layouts import CastedLayout, RequestLayout, WriteBeatLayout
from castbag.sim.bench import STALLS, Bench

from .list_reader import check_bursts, places

CONFIG = preset("tiny")
SIZE = 1 << 12
MOST_LOOKUPS = CONFIG.run_length

PATTERNS = [("never", table, rows) for table in STALLS for rows in ("never", "half")]
PATTERNS += [("half", "never", rows) for rows in STALLS]
"""Idle of the caster, back-pressure on the cast table and on the unique rows."""


def cast_of(rows: list[int]) -> Cast:
    """The cast of lookups of these rows, each of a bag of its own."""
    offsets = np.arange(len(rows))
    return cast(Batch.of(rows, offsets, rows=1 << CONFIG.index_bits))


def items_of(casted: Cast) -> list[dict]:
    """What the caster gives: one item a lookup."""
    boundary = np.diff(casted.dst, prepend=-1, append=casted.unique_rows.size) != 0
    return [
        {
            "source": int(casted.src[i]),
            "row": int(casted.unique_rows[segment]),
            "segment": int(segment),
            "first": int(boundary[i]),
            "last": int(boundary[i + 1]),
            "end": int(i == casted.src.size - 1),
        }
        for i, segment in enumerate(casted.dst)
    ]


def lists_of(casted: Cast) -> tuple[np.ndarray, np.ndarray]:
    """The cast table and the unique rows, as they lie in memory."""
    last = np.diff(casted.dst, append=np.inf) != 0
    return (casted.src | last.astype(np.int64) << 31).astype("<u4"), casted.unique_rows.astype(
        "<u4"
    )


class CastTableBench(Bench):
    """The writer between the caster and a memory whose two clients stall on their own."""

    def __init__(self, dut, *, idle="never", table="never", rows="never"):
        super().__init__(dut)
        self.casted = self.source("i", CastedLayout(CONFIG), stall=idle)
        self.clients = [
            (
                self.sink(f"{name}_request", RequestLayout(CONFIG), stall=stall),
                self.sink(f"{name}_data", WriteBeatLayout(CONFIG), stall=stall),
            )
            for name, stall in (("table", table), ("rows", rows))
        ]
        self.memory = np.frombuffer(self.rng.randbytes(SIZE), np.uint8).copy()

    @property
    def busy(self) -> bool:
        return int(self.dut.busy.value) == 1

    def store(self) -> None:
        """Put what the clients have taken into memory."""
        for requests, data in self.clients:
            check_bursts(CONFIG, requests.items)
            for place, beat in zip(places(CONFIG, requests.items), data.items, strict=True):
                word = np.frombuffer(beat["data"].to_bytes(CONFIG.bus_bytes, "little"), np.uint8)
                strobe = [beat["strobe"] >> k & 1 for k in range(CONFIG.bus_bytes)]
                self.memory[place:][: CONFIG.bus_bytes][np.array(strobe, bool)] = word[
                    np.array(strobe, bool)
                ]
            requests.items.clear()
            data.items.clear()

    async def run(self, casted: Cast) -> None:
        """A batch; its lists, and not a byte beside them, must change."""
        places = self.rng.sample(range(SIZE // 512), 2)
        addresses = [512 * place + 8 * self.rng.randrange(16) for place in places]
        expected = self.memory.copy()
        for address, values in zip(addresses, lists_of(casted), strict=True):
            expected[address : address + 4 * values.size] = values.view(np.uint8)
        self.dut.table_address.value, self.dut.rows_address.value = addresses
        self.casted.send_all(items_of(casted))
        await self.step()
        await self.until(lambda: self.casted.idle and not self.busy)
        self.store()
        assert np.array_equal(self.memory, expected)


@cocotb.test
@cocotb.parametrize((("idle", "table", "rows"), PATTERNS))
async def writes_both_lists(dut, idle, table, rows):
    bench = CastTableBench(dut, idle=idle, table=table, rows=rows)
    await bench.reset()
    top = (1 << CONFIG.index_bits) - 1
    await bench.run(cast_of([top]))
    await bench.run(cast_of([3, 3, 3]))
    await bench.run(cast_of([2, 5, 2, 0]))
    for count in (17, MOST_LOOKUPS - 1):
        await bench.run(cast_of([bench.rng.choice([0, 1, 9, top]) for _ in range(count)]))
    await bench.run(cast_of(bench.rng.sample(range(top), MOST_LOOKUPS)))


@cocotb.test
@cocotb.parametrize(rows=[[7] * MOST_LOOKUPS, list(range(MOST_LOOKUPS)), [0, 0, 1, 2] * 16])
async def takes_a_lookup_a_cycle(dut, rows):
    bench = CastTableBench(dut)
    await bench.reset()
    await bench.run(cast_of(rows))
    times = bench.casted.times
    opening = times[0] + 2  # two are held while the lists are opened
    assert times == [time for time in range(times[0], times[0] + len(rows) + 1) if time != opening]


@cocotb.test
@cocotb.parametrize(late=[0, 1], part=[0, 1])
async def is_busy_until_both_lists_are_handed_over(dut, late, part):
    bench = CastTableBench(dut)
    await bench.reset()
    assert not bench.busy
    dut.table_address.value, dut.rows_address.value = 0, 512
    bench.clients[late][part].hold = True
    bench.casted.send_all(items_of(cast_of([4])))
    await bench.step(2)
    for _ in range(20):
        assert bench.busy
        await bench.step()
    bench.clients[late][part].hold = False
    await bench.until(lambda: all(end.items for client in bench.clients for end in client))
    await bench.step(2)
    assert not bench.busy
