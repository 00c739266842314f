# SPDX-FileCopyrightText: castbag contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Bench of the caster: sorted pairs in, the golden model's cast out."""

import cocotb
import numpy as np

from castbag.golden.batch import Batch
from castbag.golden.casting import cast
from castbag.rtl.config import preset
from castbag.rtl.layouts import CastedLayout, SortPairLayout
from castbag.sim.bench import STALLS, Bench

from .runs import KINDS, run_rows

CONFIG = preset("tiny")
LENGTHS = (1, 2, 3, 17, CONFIG.run_length, 1, 1, 5, 8)


def frame(dut, *, idle="never", stall="never"):
    bench = Bench(dut)
    source = bench.source("i", SortPairLayout(CONFIG), stall=idle)
    sink = bench.sink("o", CastedLayout(CONFIG), stall=stall)
    return bench, source, sink


def random_batch(rng, kind: str, lookups: int) -> Batch:
    """`lookups` in bags of 0 to 3, with rows of one kind in `runs`."""
    offsets = [0]
    while offsets[-1] < lookups:
        offsets.append(min(lookups, offsets[-1] + rng.randint(0, 3)))
    rows = run_rows(rng, kind, lookups, CONFIG)
    return Batch.of(rows, offsets, rows=2**CONFIG.index_bits, include_last_offset=True)


def sorted_pairs(batch: Batch) -> list[dict[str, int]]:
    """What the sorter makes of a batch."""
    order = np.argsort(batch.indices, kind="stable")
    row, bag = batch.indices[order].tolist(), batch.bag_of[order].tolist()
    end = [*[0] * (len(row) - 1), 1]
    return [{"row": r, "source": b, "end": e} for r, b, e in zip(row, bag, end, strict=True)]


def rtl_cast(lookups: list[dict[str, int]]):
    """The casted source and destination, and the unique rows, as the caster gave them."""
    unique_rows = [lookup["row"] for lookup in lookups if lookup["first"]]
    return (
        [lookup["source"] for lookup in lookups],
        [lookup["segment"] for lookup in lookups],
        unique_rows,
    )


def ref_cast(batch: Batch):
    """The same of the golden model."""
    casted = cast(batch)
    return casted.src.tolist(), casted.dst.tolist(), casted.unique_rows.tolist()


@cocotb.test
@cocotb.parametrize(idle=list(STALLS), stall=list(STALLS))
async def equals_the_golden_cast(dut, idle, stall):
    bench, source, sink = frame(dut, idle=idle, stall=stall)
    await bench.reset()
    batches = [random_batch(bench.rng, bench.rng.choice(KINDS), n) for n in 2 * LENGTHS]
    for batch in batches:
        source.send_all(sorted_pairs(batch))
    await bench.until(lambda: len(sink.items) == 2 * sum(LENGTHS))
    for batch in batches:
        lookups = [sink.items.pop(0) for _ in range(batch.lookups)]
        assert rtl_cast(lookups) == ref_cast(batch)
        marks_fit(lookups, batch)


@cocotb.test
@cocotb.parametrize(kind=KINDS)
async def casts_rows_of_any_kind(dut, kind):
    bench, source, sink = frame(dut)
    await bench.reset()
    for length in LENGTHS:
        batch = random_batch(bench.rng, kind, length)
        sink.items.clear()
        source.send_all(sorted_pairs(batch))
        await bench.until(lambda n=length: len(sink.items) == n)
        assert rtl_cast(sink.items) == ref_cast(batch)


def marks_fit(lookups: list[dict[str, int]], batch: Batch) -> None:
    """Row, and the marks that the cast's three arrays do not have."""
    row = np.sort(batch.indices)
    first = np.append(True, row[1:] != row[:-1])
    assert [lookup["row"] for lookup in lookups] == row.tolist()
    assert [lookup["first"] for lookup in lookups] == first.tolist()
    assert [lookup["last"] for lookup in lookups] == np.append(first[1:], True).tolist()
    assert [lookup["end"] for lookup in lookups] == [*[0] * (len(row) - 1), 1]


@cocotb.test
async def worked_example(dut):
    """The one of the docstring, and of the golden model's."""
    bench, source, sink = frame(dut)
    await bench.reset()
    source.send_all(sorted_pairs(Batch.of([2, 5, 2, 0], [0, 2], rows=6)))
    await bench.until(lambda: len(sink.items) == 4)
    fields = ("row", "first", "last", "source", "segment", "end")
    assert {field: [lookup[field] for lookup in sink.items] for field in fields} == {
        "row": [0, 2, 2, 5],
        "first": [1, 1, 0, 1],
        "last": [1, 0, 1, 1],
        "source": [1, 0, 1, 0],
        "segment": [0, 1, 1, 2],
        "end": [0, 0, 0, 1],
    }


@cocotb.test
async def one_a_cycle_over_batches(dut):
    """Also where one batch ends with the row with which the next one begins."""
    bench, source, sink = frame(dut)
    await bench.reset()
    batches = [random_batch(bench.rng, "equal", n) for n in (5, 1, 1, CONFIG.run_length, 2)]
    for batch in batches:
        source.send_all(sorted_pairs(batch))
    await bench.until(lambda: len(sink.items) == sum(batch.lookups for batch in batches))
    assert source.times == list(range(source.times[0], source.times[0] + len(source.times)))
    assert sink.times == [time + 1 for time in source.times]
    for batch in batches:
        assert rtl_cast(sink.items[: batch.lookups]) == ref_cast(batch)
        del sink.items[: batch.lookups]


@cocotb.test
async def waits_for_the_next_pair_unless_it_is_the_last(dut):
    bench, source, sink = frame(dut)
    await bench.reset()
    source.send({"row": 4, "source": 1})
    await bench.step(20)
    assert source.idle
    assert not sink.items
    source.send({"row": 4, "source": 2, "end": 1})
    await bench.until(lambda: len(sink.items) == 2)
    assert sink.times[1] - sink.times[0] == 1
