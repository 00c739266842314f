# SPDX-FileCopyrightText: castbag contributors
# SPDX-License-Identifier: BSD-2-Clause
"""The sorter: small on both simulators, and at its usual length."""

from dataclasses import asdict

import pytest

from castbag.rtl.config import preset
from castbag.rtl.sort.run_sorter import RunSorter
from castbag.sim.bench import simulate
from castbag.sim.model import SIMULATORS
from tests.benches.run_sorter import edges

TINY = preset("tiny")


@pytest.mark.parametrize("simulator", SIMULATORS)
def test_sorts(simulator, tmp_path):
    simulate(
        RunSorter(TINY),
        "tests.benches.run_sorter",
        simulator=simulator,
        folder=tmp_path,
        config=asdict(TINY),
    )


@pytest.mark.parametrize("simulator", SIMULATORS)
def test_pace(simulator, tmp_path):
    lengths = edges(TINY.run_length)
    unknown = [(length, 0) for length in lengths]
    known = [(length, length) for length in lengths]
    wider = [(3, 4), (3, 5), (8, 9), (9, 16), (20, 32), (20, 33), (64, 65), (5, TINY.max_lookups)]
    check_pace(TINY, unknown + known + wider, simulator, tmp_path)


def test_pace_of_4096(tmp_path):
    cases = [(1, 0), (1, 1), (1000, 0), (1000, 1000), (1024, 1024), (4096, 0), (4096, 4096)]
    check_pace(preset("base"), cases, "verilator", tmp_path)


def check_pace(config, cases, simulator, folder):
    sorter = RunSorter(config)
    simulate(
        sorter,
        "tests.benches.run_sorter_pace",
        simulator=simulator,
        folder=folder,
        config=asdict(config),
        cycles=[(length, most, sorter.cycles(length, most)) for length, most in cases],
    )


def test_cycles():
    """Stage k waits for 2**k pairs and has a latency of 2, 5 or 6, by its kind of RAM."""
    latencies = 4 * 2 + 5 * 5 + 3 * 6  # stages 0 to 3, 4 to 8, 9 to 11
    fills = sum(2**k for k in range(12))
    sorter = RunSorter(preset("base"))
    assert sorter.cycles(4096) == 4095 + fills + latencies == 8241
    assert sorter.cycles(1) == latencies
    assert sorter.cycles(5) == 4 + 1 + 2 + 10 * 4 + latencies
    assert sorter.cycles(1024) == 1023 + 1023 + 2 * 1023 + latencies
    assert sorter.cycles(1024, 1024) == 1023 + 1023 + latencies
    assert sorter.cycles(1024, 1025) == 1023 + 1023 + 1023 + latencies
    assert sorter.cycles(5, 5) == sorter.cycles(5, 8) == 4 + 1 + 2 + 4 + latencies
    assert sorter.cycles(5, 9) == 4 + 1 + 2 + 4 + 4 + latencies
    assert sorter.cycles(4096, 4096) == sorter.cycles(4096, 2**24) == sorter.cycles(4096)
