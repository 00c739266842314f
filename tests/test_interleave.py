# SPDX-FileCopyrightText: castbag contributors
# SPDX-License-Identifier: BSD-2-Clause
"""The interleaver, with pages of one lookup and of several."""

import pytest

from castbag.rtl.interleave import Interleaver, slot_count
from castbag.rtl.layouts import SLOTS
from castbag.sim.bench import simulate
from tests.benches.interleave import config_of

WINDOWS = [("verilator", 64), ("verilator", 128), ("icarus", 16)]


@pytest.mark.parametrize("simulator, window", WINDOWS)
def test_interleave(simulator, window, tmp_path):
    simulate(
        Interleaver(config_of(window)),
        "tests.benches.interleave",
        simulator=simulator,
        folder=tmp_path,
        window=window,
    )


def test_slots_cover_the_loop():
    for words in range(1, 257):
        slots = slot_count(words)
        assert slots & (slots - 1) == 0
        assert slots * words >= SLOTS
        assert slots == 1 or slots * words < 2 * SLOTS
