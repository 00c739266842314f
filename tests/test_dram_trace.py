# SPDX-FileCopyrightText: castbag contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Requests to memory, as Ramulator 2's LoadStoreTrace takes them."""

from pathlib import Path

import numpy as np

from castbag.host.dram_trace import WRITE, arrivals_path, load_store_trace


def written(requests, **sizes):
    given = np.array(requests, np.uint64).reshape(-1, 3)
    lines, cycles = load_store_trace(given, **sizes)
    return lines.decode().splitlines(), cycles.decode().splitlines()


def test_an_access_a_line():
    requests = [
        (100, 0x1000, 4),  # 64 bytes, one access
        (103, 0x1040 | int(WRITE), 1),
        (110, 0x10F0, 3),  # from the end of one access into the next one
        (250, 1 << 40, 8),
    ]
    lines, cycles = written(requests, bus_bytes=16, burst_bytes=64)
    assert lines == [
        "LD 0x1000",
        "ST 0x1040",
        "LD 0x10c0",
        "LD 0x1100",
        "LD 0x10000000000",
        "LD 0x10000000040",
    ]
    assert cycles == ["0", "3", "10", "10", "150", "150"]


def test_accesses_smaller_than_a_beat():
    lines, _ = written([(0, 0x100, 2)], bus_bytes=16, burst_bytes=8)
    assert lines == ["LD 0x100", "LD 0x108", "LD 0x110", "LD 0x118"]


def test_nothing():
    assert written([], bus_bytes=16, burst_bytes=64) == ([], [])


def test_the_cycles_lie_beside_it():
    assert arrivals_path(Path("a") / "b.trace") == Path("a") / "b.trace.cycles"
