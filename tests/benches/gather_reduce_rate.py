# SPDX-FileCopyrightText: castbag contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Bench of the gather-reduce path's rate, behind a memory of a beat a cycle."""

import cocotb
import numpy as np

from castbag.rtl.interleave import slot_count
from castbag.rtl.layouts import SLOTS

from .gather_reduce import LATENCY, Frame
from .segments import lookups


def fill(words: int, run: int) -> int:
    """Cycles beyond a word a cycle, at most: the memory's latency and the stages', then the
    slots' filling at the start, while lookups come one a cycle, and their draining at the end.
    """
    slots = slot_count(words)
    return LATENCY + 40 + (2 * slots * run if slots > 1 else 0)


@cocotb.test
@cocotb.parametrize(words=[1, 2, 3, 4, 8, 16])
async def gives_a_word_a_cycle(dut, words):
    frame = Frame(dut)
    await frame.bench.reset()
    for run in (1, 2, 3, 4, 8, 16, 40):
        count = max(1000 // words, 40 * slot_count(words), 160)
        items = lookups([run] * -(-count // run), frame.source)
        cycles = await frame.reduce(items, dim=words * frame.config.lanes)
        ideal = len(items) * words
        dut._log.info(f"words {words}, run {run}: {cycles} cycles, {cycles - ideal} beyond ideal")
        assert cycles <= 1.02 * ideal + fill(words, run)


@cocotb.test
@cocotb.parametrize(words=[1, 2, 3, 4, 7, 8, 16])
async def one_segment_is_bound_by_its_sum(dut, words):
    frame = Frame(dut)
    await frame.bench.reset()
    items = lookups([80], frame.source)
    cycles = await frame.reduce(items, dim=words * frame.config.lanes)
    assert 80 * max(words, SLOTS) <= cycles <= 80 * max(words, SLOTS) + LATENCY + 40


@cocotb.test
@cocotb.parametrize(words=[1, 2, 4])
async def a_text_keeps_near_the_bound(dut, words):
    """Runs as 2048 words of a text have them: by Zipf's law, some hot, most of length 1.

    No order of work could beat `max(lookups * words, longest run * SLOTS)`.
    """
    frame = Frame(dut)
    await frame.bench.reset()
    law = np.arange(1.0, 30_000.0) ** -1.05
    drawn = frame.rng.choice(len(law), 2048, p=law / law.sum())
    ids = frame.rng.permutation(len(law))[drawn]  # a row's number says nothing of its frequency
    runs = np.unique(ids, return_counts=True)[1].tolist()
    items = lookups(runs, frame.source)
    cycles = await frame.reduce(items, dim=words * frame.config.lanes)
    bound = max(len(items) * words, max(runs) * max(words, SLOTS))
    dut._log.info(f"text, words {words}: {cycles} cycles, {cycles / bound:.3f} of the bound")
    assert cycles <= bound * {1: 1.5, 2: 1.15, 4: 1.05}[words] + LATENCY + 40
