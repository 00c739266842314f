# SPDX-FileCopyrightText: castbag contributors
# SPDX-License-Identifier: BSD-2-Clause
"""The binary32 units against NumPy's float32, bit for bit, on both simulators.

`FP_PAIRS` in the environment sets how many pairs the long test draws.
"""

import os
from pathlib import Path

import numpy as np
import pytest

from castbag.golden.fp32 import bits, canonical
from castbag.rtl.fp import Adder, Multiplier
from castbag.rtl.verilog import to_verilog
from castbag.sim.model import SIMULATORS, Model
from tests.fp_vectors import operand_pairs, special_pairs

BENCH = Path(__file__).parent / "benches" / "fp.v"
UNITS = {Adder: np.add, Multiplier: np.multiply}
PAIRS = int(os.environ.get("FP_PAIRS", "100000"))

INF, NAN, MINUS, LARGEST = 0x7F800000, 0x7FC00000, 0x80000000, 0x7F7FFFFF
ONE, TWO, THREE, HALF, TWO_24 = 0x3F800000, 0x40000000, 0x40400000, 0x3F000000, 0x4B800000
NORMAL, SUBNORMAL = 0x00800000, 0x007FFFFF  # the least normal, the largest subnormal

SUMS = [
    (ONE, TWO, THREE),
    (ONE, ONE | MINUS, 0),
    (0, MINUS, 0),
    (MINUS, MINUS, MINUS),
    (TWO_24, ONE, TWO_24),  # a tie, to even
    (TWO_24 | 1, ONE, TWO_24 | 2),  # a tie, to even
    (TWO_24, ONE | 1, TWO_24 | 1),  # above the tie
    (SUBNORMAL, 1, NORMAL),
    (NORMAL, 1 | MINUS, SUBNORMAL),
    (LARGEST, LARGEST, INF),
    (LARGEST, 0x73000000, INF),  # half a unit in the last place more
    (LARGEST, 0x72FFFFFF, LARGEST),
    (INF, LARGEST | MINUS, INF),
    (INF, INF | MINUS, NAN),
    (0x7F800001, ONE, NAN),
    (ONE, 0xFFFFFFFF, NAN),
]
PRODUCTS = [
    (TWO, HALF, ONE),
    (THREE, HALF | MINUS, 0xBFC00000),
    (0, ONE | MINUS, MINUS),
    (0, INF, NAN),
    (INF | MINUS, MINUS, NAN),
    (INF, HALF | MINUS, INF | MINUS),
    (LARGEST, TWO, INF),
    (NORMAL, HALF, 0x00400000),
    (SUBNORMAL, TWO, 0x00FFFFFE),
    (1, HALF, 0),  # a tie, to even
    (3, HALF, 2),  # a tie, to even
    (1, HALF | 1, 1),  # above the tie
    (1, 1 | MINUS, MINUS),
    (NORMAL, ONE - 1, NORMAL),  # rounds up out of the subnormals
    (0xFF800001, 0, NAN),
]


def check(unit, a, b, expected, *, simulator, folder):
    """Have the simulated unit work out all pairs; raises on the first wrong bit."""
    np.stack([a, b, expected], axis=1).astype(">u4").tofile(folder / "operands.bin")
    header = f"`define UNIT unit\n`define LATENCY {unit.LATENCY}\n"
    model = Model(
        top="fp_bench",
        sources=(
            ("unit.v", to_verilog(unit(), name="unit")),
            ("fp.v", header + BENCH.read_text()),
        ),
        simulator=simulator,
        ports=("done", "failed", "checked", "a", "b", "expected", "result"),
        fast=True,
    )
    model.run("tests.benches.fp", folder=folder, parameters={"count": len(a)})


def by_numpy(unit, a, b):
    with np.errstate(all="ignore"):
        return bits(canonical(UNITS[unit](a.view(np.float32), b.view(np.float32))))


@pytest.mark.parametrize("simulator", SIMULATORS)
@pytest.mark.parametrize(("unit", "cases"), [(Adder, SUMS), (Multiplier, PRODUCTS)])
def test_by_hand(unit, cases, simulator, tmp_path):
    a, b, expected = np.array(cases, np.uint32).T
    check(unit, a, b, expected, simulator=simulator, folder=tmp_path)
    check(unit, b, a, expected, simulator=simulator, folder=tmp_path)


@pytest.mark.parametrize("simulator", SIMULATORS)
@pytest.mark.parametrize("unit", UNITS)
def test_special_pairs(unit, simulator, tmp_path):
    a, b = special_pairs()
    check(unit, a, b, by_numpy(unit, a, b), simulator=simulator, folder=tmp_path)


@pytest.mark.parametrize("unit", UNITS)
def test_many_pairs(unit, tmp_path):
    a, b = operand_pairs(PAIRS, seed=1)
    check(unit, a, b, by_numpy(unit, a, b), simulator="verilator", folder=tmp_path)


@pytest.mark.parametrize("unit", UNITS)
def test_pairs_reach_the_edges(unit):
    a, b = operand_pairs(100_000, seed=1)
    magnitude = by_numpy(unit, a, b) & 0x7FFFFFFF
    assert np.count_nonzero(magnitude == 0) > 300
    assert np.count_nonzero((magnitude > 0) & (magnitude < NORMAL)) > 1000
    assert np.count_nonzero((magnitude >= NORMAL) & (magnitude < NORMAL + 1000)) > 100
    assert np.count_nonzero((magnitude > LARGEST - 1000) & (magnitude <= LARGEST)) > 100
    assert np.count_nonzero(magnitude == INF) > 300
    assert np.count_nonzero(magnitude == NAN) > 1000


def test_pairs_follow_from_the_seed():
    one, same, other = (operand_pairs(20_000, seed=seed) for seed in (1, 1, 2))
    assert np.array_equal(one, same)
    assert not np.array_equal(one, other)


def test_too_few_pairs_are_refused():
    with pytest.raises(ValueError, match="count = 100: the special pairs alone are"):
        operand_pairs(100, seed=1)
