# SPDX-FileCopyrightText: castbag contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Runs written and unpacked, with each kind of group, on buses of one slot and more."""

from dataclasses import asdict, replace

import pytest

from castbag.rtl.config import EngineConfig, preset
from castbag.rtl.sort.run_writer import RunWriter
from castbag.rtl.sort.unpacker import Unpacker
from castbag.sim.bench import simulate

CASES = [
    # Bus, bits of rows, bits of sources, and so the bytes of a pair.
    ("icarus", 64, 20, 12),  # 4: no group
    ("icarus", 128, 20, 17),  # 5: 4 pairs in 3 slots, parts of 2 bytes, the last one padded
    ("icarus", 64, 24, 24),  # 6: 4 pairs in 3 slots, parts of 2 bytes; a beat has one slot
    ("icarus", 64, 31, 22),  # 7, with 3 bits that mean nothing: 8 pairs in 7 slots
    ("icarus", 256, 32, 24),
    ("verilator", 128, 32, 24),
    ("icarus", 64, 32, 31),  # 8: no group; a pair is a beat
]


def config_of(bus_bits: int, index_bits: int, bag_bits: int) -> EngineConfig:
    return replace(
        preset("tiny"),
        bus_bits=bus_bits,
        index_bits=index_bits,
        bag_bits=bag_bits,
        max_lookups=1 << 10,
        run_length=256,
        way_pairs=128,
        burst_beats=8,
    )


@pytest.mark.parametrize("simulator, bus_bits, index_bits, bag_bits", CASES)
@pytest.mark.parametrize("unit, bench", [(RunWriter, "run_writer"), (Unpacker, "unpacker")])
def test_packed_runs(unit, bench, simulator, bus_bits, index_bits, bag_bits, tmp_path):
    config = config_of(bus_bits, index_bits, bag_bits)
    simulate(
        unit(config),
        f"tests.benches.{bench}",
        simulator=simulator,
        folder=tmp_path,
        config=asdict(config),
    )
