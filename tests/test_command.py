# SPDX-FileCopyrightText: castbag contributors
# SPDX-License-Identifier: BSD-2-Clause
"""The command reader on both simulators, and the descriptor's table."""

from itertools import combinations

import pytest

from castbag.rtl.control.command import CommandReader
from castbag.rtl.control.map import (
    DESCRIPTOR,
    DESCRIPTOR_BYTES,
    DESCRIPTOR_WORDS,
    encode_descriptor,
)
from castbag.sim.bench import simulate
from castbag.sim.model import SIMULATORS
from tests.benches.command import CONFIG


@pytest.mark.parametrize("simulator", SIMULATORS)
def test_command_reader(simulator, tmp_path):
    simulate(CommandReader(CONFIG), "tests.benches.command", simulator=simulator, folder=tmp_path)


def test_descriptor_fields_do_not_overlap():
    bits = {
        entry.name: set(
            range(32 * entry.word + entry.low, 32 * entry.word + entry.low + entry.bits)
        )
        for entry in DESCRIPTOR
    }
    assert len(bits) == len(DESCRIPTOR), "a name is used twice"
    for one, other in combinations(bits, 2):
        assert not bits[one] & bits[other], f"{one} and {other} overlap"
    assert max(map(max, bits.values())) == 32 * DESCRIPTOR_WORDS - 1
    assert 4 * DESCRIPTOR_WORDS <= DESCRIPTOR_BYTES


def test_descriptor_is_little_endian_words():
    text = encode_descriptor(backward=1, dataflow=2, lookups=0x01020304, table=0x1122334455667788)
    assert len(text) == DESCRIPTOR_BYTES
    expected = bytearray(DESCRIPTOR_BYTES)
    expected[0] = 0x22  # bit 1, and 2 from bit 4 on
    expected[4:8] = bytes([4, 3, 2, 1])
    expected[80:88] = bytes([0x88, 0x77, 0x66, 0x55, 0x44, 0x33, 0x22, 0x11])
    assert text == expected


@pytest.mark.parametrize(
    "name, value", [("forward", 2), ("dataflow", 16), ("dim", 1 << 32), ("bags", -1)]
)
def test_a_value_must_fit_its_field(name, value):
    with pytest.raises(ValueError, match=f"{name} = {value}: must fit"):
        encode_descriptor(**{name: value})
