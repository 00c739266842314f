# SPDX-FileCopyrightText: castbag contributors
# SPDX-License-Identifier: BSD-2-Clause
"""The register file on both simulators, and the registers' table."""

import pytest

from castbag.rtl.control.map import REGISTER_SPACE, REGISTERS
from castbag.rtl.control.registers import RegisterFile
from castbag.sim.bench import simulate
from castbag.sim.model import SIMULATORS


@pytest.mark.parametrize("simulator", SIMULATORS)
def test_register_file(simulator, tmp_path):
    simulate(RegisterFile(), "tests.benches.registers", simulator=simulator, folder=tmp_path)


def test_registers_do_not_overlap():
    owner: dict[int, str] = {}
    for entry in REGISTERS:
        assert entry.offset % 4 == 0 and entry.access in ("ro", "rw", "w1c"), entry.name
        for place in range(entry.offset, entry.offset + (8 if entry.wide else 4)):
            assert place not in owner, f"{entry.name} lies on {owner[place]}"
            owner[place] = entry.name
    assert min(owner) >= 0 and max(owner) < REGISTER_SPACE
    assert len(set(owner.values())) == len(REGISTERS), "a name is used twice"
