# SPDX-FileCopyrightText: castbag contributors
# SPDX-License-Identifier: BSD-2-Clause
"""The binary32 units against NumPy's float32, bit for bit, on both simulators.

`FP_PAIRS` in the environment sets how many operands the long test draws.
"""

import os
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest
from amaranth.hdl import Module
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from castbag.golden.fp32 import bits, canonical
from castbag.rtl.fp import Adder, Comparer, Divider, Multiplier, Root
from castbag.rtl.verilog import to_verilog
from castbag.sim.model import SIMULATORS, Model
from tests.fp_quotients import quotient_pairs, radicands
from tests.fp_vectors import SPECIAL, operand_pairs, special_pairs

BENCH = Path(__file__).parent / "benches" / "fp.v"
PAIRS = int(os.environ.get("FP_PAIRS", "100000"))


class Compared(wiring.Component):
    """The comparer as the bench takes a unit: operands and outcome, 0 or 1, in registers."""

    LATENCY = 2

    def __init__(self):
        super().__init__({"a": In(32), "b": In(32), "en": In(1), "o": Out(32)})

    def elaborate(self, platform):
        m = Module()
        m.submodules.comparer = comparer = Comparer()
        with m.If(self.en):
            m.d.sync += [
                comparer.a.eq(self.a),
                comparer.b.eq(self.b),
                self.o.eq(comparer.o),
            ]
        return m


class Unit(NamedTuple):
    """How a unit is made, what it does on float32, and operands that are hard for it."""

    make: Callable[[], wiring.Component]
    numpy: Callable
    operands: Callable

    def expected(self, *operands):
        with np.errstate(all="ignore"):
            result = self.numpy(*(operand.view(np.float32) for operand in operands))
        return result.astype(np.uint32) if result.dtype == bool else bits(canonical(result))

    def special(self):
        return (SPECIAL,) if self.numpy is np.sqrt else special_pairs()

    def many(self, count):
        drawn = self.operands(count, seed=1)
        return (drawn,) if self.numpy is np.sqrt else drawn


def divider(interval):
    return Unit(lambda: Divider(interval=interval), np.divide, quotient_pairs)


def root(interval):
    return Unit(lambda: Root(interval=interval), np.sqrt, radicands)


UNITS = {
    "adder": Unit(Adder, np.add, operand_pairs),
    "multiplier": Unit(Multiplier, np.multiply, operand_pairs),
    "comparer": Unit(Compared, np.greater, operand_pairs),
    "divider": divider(1),
    "divider_4": divider(4),
    "divider_28": divider(28),
    "root": root(1),
    "root_4": root(4),
    "root_28": root(28),
}

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


QUOTIENTS = [
    (THREE, TWO, 0x3FC00000),
    (ONE, THREE, 0x3EAAAAAB),  # rounds up
    (TWO, THREE | MINUS, 0xBF2AAAAB),
    (ONE - 1, ONE, ONE - 1),
    (ONE, ONE - 1, ONE | 1),  # 1 + 2^-24 + 2^-48: above what would be a tie
    (ONE, ONE | 1, ONE - 2),
    (LARGEST, HALF, INF),
    (LARGEST, ONE - 1, INF),  # from half a unit in the last place more on
    (LARGEST - 1, ONE - 1, LARGEST),
    (NORMAL, TWO, 0x00400000),
    (NORMAL, ONE | 1, SUBNORMAL),  # 2^23 - 1 + 2^-23 units
    (SUBNORMAL, ONE - 1, SUBNORMAL),  # 2^23 - 1/2 - 2^-25 units, and less: below the tie
    (SUBNORMAL, ONE - 2, NORMAL),  # rounds up out of the subnormals
    (1, TWO, 0),  # a tie, to even
    (3, TWO, 2),  # a tie, to even
    (1, TWO - 1, 1),  # above the tie
    (1, TWO | 1, 0),
    (1, 1, ONE),
    (SUBNORMAL, 1, 0x4AFFFFFE),
    (1, SUBNORMAL | MINUS, 0xB4000001),
    (1, LARGEST | MINUS, MINUS),
    (LARGEST, 1, INF),
    (ONE | MINUS, 0, INF | MINUS),
    (INF, MINUS, INF | MINUS),
    (INF, TWO | MINUS, INF | MINUS),
    (LARGEST, INF | MINUS, MINUS),
    (MINUS, ONE, MINUS),
    (0, MINUS, NAN),
    (INF | MINUS, INF, NAN),
    (0x7F800001, 0, NAN),
    (INF, 0xFFFFFFFF, NAN),
]
ROOTS = [
    (0x40800000, TWO),
    (0x41100000, THREE),
    (TWO, 0x3FB504F3),
    (ONE - 1, ONE - 1),  # 1 - 2^-25 - ...: above what would be a tie
    (ONE - 2, ONE - 1),
    (ONE | 1, ONE),
    (ONE | 2, ONE | 1),
    (LARGEST, 0x5F7FFFFF),
    (NORMAL, 0x20000000),
    (SUBNORMAL, 0x1FFFFFFF),
    (1, 0x1A3504F3),  # 2^-74.5
    (2, 0x1A800000),
    (0, 0),
    (MINUS, MINUS),
    (INF, INF),
    (ONE | MINUS, NAN),
    (1 | MINUS, NAN),
    (INF | MINUS, NAN),
    (0x7F800001, NAN),
    (0xFFFFFFFF, NAN),
]
COMPARISONS = [
    (TWO, ONE, 1),
    (ONE, TWO, 0),
    (ONE, ONE, 0),
    (ONE | 1, ONE, 1),
    (ONE | MINUS, TWO | MINUS, 1),
    (TWO | MINUS, ONE | MINUS, 0),
    (ONE | MINUS, ONE | MINUS, 0),
    (1, MINUS, 1),
    (MINUS, 1 | MINUS, 1),
    (1 | MINUS, 0, 0),
    (0, MINUS, 0),
    (MINUS, 0, 0),
    (0, 0, 0),
    (INF, LARGEST, 1),
    (LARGEST | MINUS, INF | MINUS, 1),
    (INF, INF, 0),
    (INF, NAN, 0),
    (NAN, INF | MINUS, 0),
    (NAN, NAN, 0),
    (0xFFFFFFFF, 0x7F800001, 0),
]
BY_HAND = {
    "adder": SUMS,
    "multiplier": PRODUCTS,
    "comparer": COMPARISONS,
    "divider": QUOTIENTS,
    "divider_4": QUOTIENTS,
    "divider_28": QUOTIENTS,
    "root": ROOTS,
    "root_4": ROOTS,
    "root_28": ROOTS,
}


def check(unit, operands, expected, *, simulator, folder):
    """Have the simulated unit work out all operands; raises on the first wrong bit."""
    columns = np.zeros((len(expected), 3), ">u4")
    columns[:, : len(operands)], columns[:, 2] = np.stack(operands, axis=1), expected
    columns.tofile(folder / "operands.bin")
    interval = getattr(unit, "interval", 1)
    latency = unit.latency if hasattr(unit, "latency") else unit.LATENCY
    header = f"`define UNIT unit\n`define LATENCY {latency}\n`define INTERVAL {interval}\n"
    header += "`define TWO\n" * hasattr(unit, "b") + "`define TAKES\n" * hasattr(unit, "take")
    model = Model(
        top="fp_bench",
        sources=(
            ("unit.v", to_verilog(unit, name="unit")),
            ("fp.v", header + BENCH.read_text()),
        ),
        simulator=simulator,
        ports=("done", "failed", "checked", "a", "b", "expected", "result"),
        fast=True,
    )
    parameters = {"count": len(expected), "interval": interval}
    model.run("tests.benches.fp", folder=folder, parameters=parameters)


@pytest.mark.parametrize("simulator", SIMULATORS)
@pytest.mark.parametrize(("name", "cases"), BY_HAND.items())
def test_by_hand(name, cases, simulator, tmp_path):
    *operands, expected = np.array(cases, np.uint32).T
    unit = UNITS[name].make()
    check(unit, operands, expected, simulator=simulator, folder=tmp_path)
    if UNITS[name].numpy in (np.add, np.multiply):
        check(unit, operands[::-1], expected, simulator=simulator, folder=tmp_path)


@pytest.mark.parametrize("simulator", SIMULATORS)
@pytest.mark.parametrize("name", UNITS)
def test_special_values(name, simulator, tmp_path):
    unit = UNITS[name]
    operands = unit.special()
    if simulator == "icarus" and name == "divider_28":  # 15 s otherwise
        operands = tuple(operand[::5] for operand in operands)
    expected = unit.expected(*operands)
    check(unit.make(), operands, expected, simulator=simulator, folder=tmp_path)


@pytest.mark.parametrize("interval", [2, 8, 13])
@pytest.mark.parametrize("kind", [divider, root])
def test_other_intervals(kind, interval, tmp_path):
    unit = kind(interval)
    operands = unit.many(20_000)
    expected = unit.expected(*operands)
    check(unit.make(), operands, expected, simulator="verilator", folder=tmp_path)


@pytest.mark.parametrize("name", UNITS)
def test_many_values(name, tmp_path):
    unit = UNITS[name]
    made = unit.make()
    count = max(20_000, PAIRS // getattr(made, "interval", 1))  # all take about as many cycles
    operands = unit.many(count)
    expected = unit.expected(*operands)
    check(made, operands, expected, simulator="verilator", folder=tmp_path)


@pytest.mark.parametrize("name", ["adder", "multiplier", "divider"])
def test_pairs_reach_the_edges(name):
    unit = UNITS[name]
    magnitude = unit.expected(*unit.many(100_000)) & 0x7FFFFFFF
    assert np.count_nonzero(magnitude == 0) > 300
    assert np.count_nonzero((magnitude > 0) & (magnitude < NORMAL)) > 1000
    assert np.count_nonzero((magnitude >= NORMAL) & (magnitude < NORMAL + 1000)) > 100
    assert np.count_nonzero((magnitude > LARGEST - 1000) & (magnitude <= LARGEST)) > 100
    assert np.count_nonzero(magnitude == INF) > 300
    assert np.count_nonzero(magnitude == NAN) > 1000


def test_pairs_follow_from_the_seed():
    for draw in (operand_pairs, quotient_pairs, radicands):
        one, same, other = (draw(20_000, seed=seed) for seed in (1, 1, 2))
        assert np.array_equal(one, same)
        assert not np.array_equal(one, other)


def test_too_few_pairs_are_refused():
    with pytest.raises(ValueError, match="count = 100: the special pairs alone are"):
        operand_pairs(100, seed=1)


@pytest.mark.parametrize(
    ("make", "latencies"),
    [
        (Divider, {1: 31, 2: 32, 4: 34, 8: 34, 25: 31, 28: 31}),
        (Root, {1: 28, 2: 28, 4: 28, 8: 28, 24: 28, 28: 28}),
    ],
)
def test_latencies_are_as_stated(make, latencies):
    assert {interval: make(interval=interval).latency for interval in latencies} == latencies


@pytest.mark.parametrize("make", [Divider, Root])
def test_an_interval_of_none_is_refused(make):
    with pytest.raises(ValueError, match="interval = 0: operands are taken at every edge at most"):
        make(interval=0)
