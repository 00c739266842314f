# SPDX-FileCopyrightText: castbag contributors
# SPDX-License-Identifier: BSD-2-Clause
"""How much of an SDRAM's peak its controller gets, and that the simulated memory says the same."""

import pytest

from tests.sdram_traffic import PATTERNS, controlled, simulated

CHIP = "MT48LC16M16A2-7E"
PEAK = 4  # cycles a word

MOST = {
    # pattern: cycles a word
    "sequential": PEAK / 0.95,
    "sequential write": PEAK / 0.95,
    "words": 5.6,
    "words write": 5.8,
    "rows of 64 B": 4.3,
    "rows of 256 B": 4.2,
    "rows of 64 B write": 4.35,
    "rows of 64 B back": 4.4,
    "rows of 128 B back": 4.35,
    "rows of 256 B back": 4.3,
}

SAME = ("sequential", "words", "words write", "rows of 64 B", "rows of 256 B", "one word at a time")


@pytest.mark.parametrize(("chip", "mhz"), [(CHIP, 100), (CHIP, 133)])
def test_efficiency(chip, mhz, tmp_path):
    found = controlled(list(MOST), tmp_path, chip=chip, mhz=mhz)
    assert {name: round(n, 2) for name, n in found.items() if n > MOST[name]} == {}


def test_the_simulated_memory_is_like_the_controller(tmp_path):
    expected = controlled(SAME, tmp_path / "controller", chip=CHIP, mhz=133)
    assert simulated("sdr-133", SAME, tmp_path / "memory") == pytest.approx(expected, rel=0.05)


def test_patterns_touch_what_they_should():
    assert set(MOST) < set(PATTERNS)
    assert {given["row_bytes"] for given in PATTERNS.values()} >= {8, 64, 256, 512}
