# SPDX-FileCopyrightText: castbag contributors
# SPDX-License-Identifier: BSD-2-Clause
"""The run reader: few ways, and as many as usual."""

from dataclasses import asdict, replace

import pytest

from castbag.rtl.config import preset
from castbag.rtl.sort.run_reader import RunReader
from castbag.sim.bench import simulate

TINY = preset("tiny")  # pairs of 4 bytes, 4 ways, chunks of 16 pairs
ODD = replace(TINY, index_bits=23, bus_bits=128)  # of 5 bytes, 37 bits
BASE = replace(preset("base"), max_lookups=1 << 16)  # of 7 bytes, 16 ways, chunks of 32 pairs


@pytest.mark.parametrize(
    "simulator, config, latency",
    [("icarus", TINY, 20), ("icarus", ODD, 20), ("verilator", BASE, 64)],
)
def test_run_reader(simulator, config, latency, tmp_path):
    simulate(
        RunReader(config),
        "tests.benches.run_reader",
        simulator=simulator,
        folder=tmp_path,
        config=asdict(config),
        latency=latency,
    )
