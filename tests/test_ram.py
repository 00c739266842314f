# SPDX-FileCopyrightText: castbag contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Block RAM by formula, against figures of the data sheet and of synthesis."""

import json

import pytest

from castbag.boards.budget import BUDGET
from castbag.rtl.config import EngineConfig, preset
from castbag.rtl.ram import block_rams, sorter_block_rams, way_block_rams


@pytest.mark.parametrize(
    ("depth", "width", "count"),
    [
        (32, 100, 0),  # LUT RAM
        (64, 1, 1),
        (512, 36, 1),
        (512, 37, 2),
        (1024, 18, 1),
        (1024, 36, 2),
        (2048, 9, 1),
        (2048, 56, 7),
        (4096, 4, 1),
        (4096, 9, 2),  # two of 2048 x 9, not three of 4096 x 4
        (16384, 1, 1),
        (32768, 1, 2),
    ],
)
def test_a_memory(depth, width, count):
    assert block_rams(depth=depth, width=width) == count


def test_the_sorter_takes_what_synthesis_found():
    budget = json.loads(BUDGET.read_text())["units"]
    assert sorter_block_rams(preset("base")) == budget["run_sorter"]["dp16kd"]
    assert way_block_rams(preset("base")) == budget["run_reader"]["dp16kd"]


def test_ways_of_a_merge():
    # 16 ways of 128 pairs, of 32 + 24 bits: 2048 x 56; and 16 x 8 chunks: 128 x 4
    assert way_block_rams(preset("base")) == 7 + 1
    # 32 ways: 4096 x 56 is twice that; 256 x 5
    assert way_block_rams(EngineConfig(merge_ways=32)) == 14 + 1
