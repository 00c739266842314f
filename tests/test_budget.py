# SPDX-FileCopyrightText: castbag contributors
# SPDX-License-Identifier: BSD-2-Clause
"""The budget's own arithmetic; the measuring itself is `make synth`."""

import json
from pathlib import Path

from castbag.boards.budget import BUDGET, UNITS, markdown, risen
from castbag.boards.ecp5 import Resources

README = Path(__file__).resolve().parent.parent / "README.md"


def test_cells_are_counted_as_sites():
    cells = {"LUT4": 10, "CCU2C": 3, "TRELLIS_DPR16X4": 2, "TRELLIS_FF": 7, "DP16KD": 1}
    assert Resources.of_cells(cells) == Resources(lut=24, ff=7, dp16kd=1, mult18=0)
    assert Resources.of_cells({"MULT18X18D": 4}) == Resources(lut=0, ff=0, dp16kd=0, mult18=4)


def test_a_rise_is_named_and_a_fall_is_not():
    budget = {"units": {"a": {"lut": 5, "ff": 5, "dp16kd": 0, "mult18": 0}}}
    assert risen(budget, {"a": Resources(5, 4, 0, 0)}) == []
    assert risen(budget, {"a": Resources(6, 5, 1, 0)}) == [
        "a: lut 6, budget 5",
        "a: dp16kd 1, budget 0",
    ]
    assert risen(budget, {"b": Resources(0, 0, 0, 0)}) == ["b: not in the budget"]


def test_every_unit_has_a_budget_and_the_readme_shows_it():
    units = json.loads(BUDGET.read_text())["units"]
    assert list(units) == list(UNITS)
    assert markdown(units) in README.read_text()
