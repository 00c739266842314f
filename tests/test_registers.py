# SPDX-FileCopyrightText: castbag contributors
# SPDX-License-Identifier: BSD-2-Clause
"""The register file on both simulators, and the registers' tables: the engine's, the board's."""

import pytest

from castbag.rtl.control import map as control
from castbag.rtl.control.registers import RegisterFile
from castbag.rtl.soc import map as board
from castbag.sim.bench import simulate
from castbag.sim.model import SIMULATORS

TABLES = {"engine": control, "board": board}

CONSTANTS = {"IDENTITY": board.IDENTITY, "CLOCK": 0x89AB_CDEF, "BUILD_3": 1, "TOOLS_15": 2**31}
"""Some of the board's, beside registers that change."""


@pytest.mark.parametrize("simulator", SIMULATORS)
@pytest.mark.parametrize("table", TABLES)
def test_register_file(table, simulator, tmp_path):
    constants = CONSTANTS if table == "board" else {}
    simulate(
        RegisterFile(
            registers=TABLES[table].REGISTERS,
            space=TABLES[table].REGISTER_SPACE,
            constants=constants,
        ),
        "tests.benches.registers",
        simulator=simulator,
        folder=tmp_path,
        table=table,
        constants=constants,
    )


@pytest.mark.parametrize(
    "name, message",
    [("SCRATCH", "SCRATCH: not a read-only word"), ("NONE", "no register NONE")],
)
def test_what_cannot_be_a_constant(name, message):
    with pytest.raises(ValueError, match=message):
        RegisterFile(registers=board.REGISTERS, space=board.REGISTER_SPACE, constants={name: 1})


def test_a_board_has_no_counters():
    members = RegisterFile(registers=board.REGISTERS, space=board.REGISTER_SPACE).signature.members
    assert not {"ask", "index", "count_valid", "count"} & set(members)


@pytest.mark.parametrize("table", TABLES)
def test_registers_do_not_overlap(table):
    registers, space = TABLES[table].REGISTERS, TABLES[table].REGISTER_SPACE
    owner: dict[int, str] = {}
    for entry in registers:
        assert entry.offset % 4 == 0 and entry.access in ("ro", "rw", "w1c"), entry.name
        for place in range(entry.offset, entry.offset + (8 if entry.wide else 4)):
            assert place not in owner, f"{entry.name} lies on {owner[place]}"
            owner[place] = entry.name
    assert min(owner) >= 0 and max(owner) < space
    assert len(set(owner.values())) == len(registers), "a name is used twice"


def test_a_boards_map_has_room_for_all_of_its_parts():
    assert board.ENGINE_BASE + control.REGISTER_SPACE <= board.BOARD_BASE
    assert board.BOARD_BASE + board.REGISTER_SPACE <= board.MEMORY_BASE
    for name, size in (
        *(("BOARD", board.NAME_BYTES), ("PRESET", board.NAME_BYTES)),
        *(("BUILD", board.BUILD_BYTES), ("TOOLS", board.TOOLS_BYTES)),
    ):
        first = board.register(f"{name}_0").offset
        places = [board.register(f"{name}_{k}").offset for k in range(size // 4)]
        assert places == list(range(first, first + size, 4))
