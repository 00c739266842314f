# SPDX-FileCopyrightText: castbag contributors
# SPDX-License-Identifier: BSD-2-Clause
"""What stands around the engine on a board, unit by unit, on both simulators."""

import re

import pytest

from castbag.rtl.soc.decoder import Decoder
from castbag.rtl.soc.join import MemoryJoin
from castbag.rtl.soc.memory_test import MemoryTest
from castbag.rtl.soc.window import MemoryWindow
from castbag.sim.bench import simulate
from castbag.sim.model import SIMULATORS

REGIONS = {
    "engine": (0x0000_0000, 0x400),
    "board": (0x0001_0000, 0x100),
    "beside": (0x0001_0100, 0x8),
    "memory": (0x4000_0000, 0x200_0000),
}


@pytest.mark.parametrize("simulator", SIMULATORS)
def test_decoder(simulator, tmp_path):
    simulate(
        Decoder(regions=REGIONS),
        "tests.benches.decoder",
        simulator=simulator,
        folder=tmp_path,
        regions=REGIONS,
        short=simulator == "icarus",
    )


@pytest.mark.parametrize(
    ("regions", "message"),
    [
        ({"a": (0, 0x30)}, "region a: 0x30 bytes at 0x0: must be a power of two of at least 8"),
        ({"a": (0, 4)}, "region a: 0x4 bytes at 0x0: must be a power of two of at least 8"),
        ({"a": (0x8, 0x10)}, "region a: 0x10 bytes at 0x8: must be a power of two of at least 8"),
        ({"a": (1 << 16, 8)}, "region a: 0x8 bytes at 0x10000: beyond 16 bits of address"),
        ({"a": (0, 0x40), "b": (0x20, 0x20)}, "regions a and b overlap at 0x20"),
    ],
)
def test_bad_decoders(regions, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        Decoder(regions=regions, address_bits=16)


@pytest.mark.parametrize("simulator", SIMULATORS)
@pytest.mark.parametrize("data_bits", [64, 128])
def test_window(data_bits, simulator, tmp_path):
    simulate(
        MemoryWindow(size=1024, address_bits=32, data_bits=data_bits),
        "tests.benches.window",
        simulator=simulator,
        folder=tmp_path,
        size=1024,
        data_bits=data_bits,
        short=simulator == "icarus",
    )


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"data_bits": 32}, "data_bits = 32: must be a power of two of at least 64"),
        ({"data_bits": 96}, "data_bits = 96: must be a power of two of at least 64"),
        ({"size": 3000}, "size = 3000: must be a power of two, more than a memory word"),
        ({"size": 8}, "size = 8: must be a power of two, more than a memory word"),
        ({"size": 1 << 17}, "size = 131072: must be a power of two, more than a memory word"),
    ],
)
def test_bad_windows(given, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        MemoryWindow(**{"size": 1024, "address_bits": 16, "data_bits": 64, **given})


@pytest.mark.parametrize("simulator", SIMULATORS)
@pytest.mark.parametrize("managers", [1, 2, 3])
def test_join(managers, simulator, tmp_path):
    simulate(
        MemoryJoin(managers=managers, address_bits=32, data_bits=64),
        "tests.benches.join",
        simulator=simulator,
        folder=tmp_path,
        managers=managers,
        short=simulator == "icarus",
    )


def test_a_join_of_nobody():
    with pytest.raises(ValueError, match="managers = 0: must be at least 1"):
        MemoryJoin(managers=0, address_bits=32, data_bits=64)


@pytest.mark.parametrize("simulator", SIMULATORS)
@pytest.mark.parametrize("phases", [0, 16])
def test_memory_test(phases, simulator, tmp_path):
    size = 1 << 13 if simulator == "icarus" else 1 << 14
    given = {"memory_bytes": size, "phases": phases, "phase": 3}
    simulate(
        MemoryTest(address_bits=20, **given),
        "tests.benches.memory_tester",
        simulator=simulator,
        folder=tmp_path,
        short=simulator == "icarus",
        **given,
    )


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"memory_bytes": 0}, "memory_bytes = 0: must be a multiple of 4096, at most 2**16"),
        ({"memory_bytes": 5000}, "memory_bytes = 5000: must be a multiple of 4096, at most 2**16"),
        ({"memory_bytes": 1 << 17}, "memory_bytes = 131072: must be a multiple of 4096"),
        ({"phases": 17}, "phases = 17: must be 0 to 16"),
        ({"phases": -1}, "phases = -1: must be 0 to 16"),
        ({"phase": 16}, "phase = 16: must be 0 to 15"),
    ],
)
def test_bad_memory_tests(given, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        MemoryTest(**{"address_bits": 16, "memory_bytes": 4096, **given})
