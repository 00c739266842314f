# SPDX-FileCopyrightText: castbag contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Bench of the SGD update: rows against the golden optimizer, bit for bit, and its pace."""

import cocotb
import numpy as np

from castbag.golden.fp32 import bits
from castbag.golden.optimizers import sgd
from castbag.rtl.config import preset
from castbag.rtl.fp import Adder, Multiplier
from castbag.rtl.layouts import VectorWordLayout
from castbag.sim.bench import STALLS, Bench, parameters

from .segments import beats, elements, vectors, whole_vectors


class Frame:
    """The unit between gradients, rows, and a sink of updated rows."""

    def __init__(self, dut, *, gradients="never", rows="never", stall="never"):
        self.bench = Bench(dut)
        self.config = preset(parameters()["preset"])
        layout = VectorWordLayout(self.config)
        self.gradients = self.bench.source("gradient", layout, stall=gradients)
        self.rows = self.bench.source("row", self.config.bus_bits, stall=rows)
        self.updated = self.bench.sink("o", layout, stall=stall)
        self.rng = np.random.default_rng(self.bench.rng.getrandbits(32))
        dut.learning_rate.value = 0

    async def update(self, count: int, *, words: int, lr: float, late: int = 0) -> None:
        """Update `count` rows; a `late` greater than 0 has the rows come so much later, one
        less than 0 the gradients."""
        config, start = self.config, len(self.updated.items)
        table, coalesced = vectors(self.rng, 2 * count, words * config.lanes).reshape(2, count, -1)
        targets = self.rng.permutation(1000)[:count]
        self.bench.dut.learning_rate.value = int(bits(np.float32(lr)))
        gradients = [
            {"data": data, "target": int(target), "end": int(word == words - 1)}
            for target, vector in zip(targets, beats(config, coalesced), strict=True)
            for word, data in enumerate(vector)
        ]
        rows = [beat for vector in beats(config, table) for beat in vector]
        if late < 0:
            self.rows.send_all(rows)
            await self.bench.step(-late)
            self.gradients.send_all(gradients)
        else:
            self.gradients.send_all(gradients)
            await self.bench.step(late)
            self.rows.send_all(rows)
        await self.bench.until(lambda: len(self.updated.items) - start == len(rows))
        await self.bench.step(20)
        expected = bits(
            sgd(
                table.view(np.float32),
                np.arange(count, dtype=np.int64),
                coalesced.view(np.float32),
                lr=lr,
            )
        )
        found = whole_vectors(self.updated.items[start:])
        assert [target for target, _ in found] == targets.tolist()
        for (_, row), right in zip(found, expected, strict=True):
            np.testing.assert_array_equal(elements(config, row), right)


@cocotb.test
@cocotb.parametrize(gradients=list(STALLS), rows=list(STALLS), stall=["never", "bursts"])
async def updates_rows(dut, gradients, rows, stall):
    frame = Frame(dut, gradients=gradients, rows=rows, stall=stall)
    await frame.bench.reset()
    for lr, words, late in ((0.05, 1, 0), (1.0, 3, 30), (1e-40, 2, -30)):
        await frame.update(15, words=words, lr=lr, late=late)


@cocotb.test
@cocotb.parametrize(lr=[0.0, -0.0, float("inf"), float("nan"), 3.4e38, -0.125])
async def takes_any_learning_rate(dut, lr):
    frame = Frame(dut)
    await frame.bench.reset()
    await frame.update(100, words=2, lr=lr)


@cocotb.test
async def updates_a_word_a_cycle_after_its_latency(dut):
    frame = Frame(dut)
    await frame.bench.reset()
    await frame.update(100, words=2, lr=0.5)
    taken, given = frame.gradients.times, frame.updated.times
    assert taken == list(range(taken[0], taken[0] + 200))
    assert given == [time + Multiplier.LATENCY + Adder.LATENCY + 1 for time in taken]
