# SPDX-FileCopyrightText: castbag contributors
# SPDX-License-Identifier: BSD-2-Clause
"""The way to memory at the limit of the bus: cycles against beats, on every width of the bus.

Cycles are exact; the limits are what the machine is held to.
"""

import pytest

from castbag.host.activity import bound
from castbag.host.bench.memory import BUSES, DIMS, engine, gather, phases, run
from castbag.host.bench.traffic import Case, measure
from castbag.rtl.control.map import Phase

FORWARD, BACKWARD = 1.05, 1.08
"""Cycles over the beats of the busier direction, at most."""


@pytest.mark.parametrize(("row_bytes", "most"), [(64, 4.3), (256, 16.5)])
def test_gathering_a_row(row_bytes, most):
    assert gather(row_bytes)["cycles_a_row"] <= most


@pytest.mark.parametrize("dim", DIMS)
@pytest.mark.parametrize("name", BUSES)
def test_passes_are_bound_by_the_bus(name, dim):
    forward, backward = phases(name, dim)
    assert forward["of_bound"] <= FORWARD
    assert backward["of_bound"] <= BACKWARD


@pytest.mark.parametrize(("row_bytes", "least"), [(64, 0.64), (256, 0.89)])
def test_rows_out_of_ddr3(row_bytes, least):
    assert engine("ddr3-800-x16", row_bytes)["fraction_of_peak"] >= least


def test_reading_and_writing_back_on_ddr3():
    """What traffic alone gets of the memory."""
    cases = [Case(pattern="write back", row_bytes=256)]
    (figure,) = measure(memory="ddr3-800-x16", ports=1, cases=cases)
    assert figure["fraction_of_peak"] >= 0.75


def test_a_window_of_one_waits_for_every_bank():
    """The more a controller may choose, the more of a DRAM one gets."""
    cases = [Case(pattern="random", row_bytes=64)]
    shares = [
        measure(memory=f"ddr3-800-x16,window={window}", ports=1, cases=cases)[0]["fraction_of_peak"]
        for window in (1, 8, 32)
    ]
    assert shares == sorted(shares)
    # One access at a time: of each row, 16 clocks of data and the 12 of tRP and tRCD before them.
    assert shares[0] == pytest.approx(16 / 28, rel=0.02)
    assert shares[2] > 0.9


def test_a_slow_memory_is_seen():
    """A rate of a quarter: the bus is idle, and what is waited for is memory."""
    done, _ = run("base", dim=64, memory="ideal,rate=4,latency=300", lookups=512)
    assert done.activity is not None
    why = bound(Phase.FORWARD, done.activity.of_phase(Phase.FORWARD))
    assert why.by == "starved: latency"
    assert done.registers["FORWARD_CYCLES"] >= 4 * done.registers["FORWARD_READ_BEATS"]
