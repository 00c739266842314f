# SPDX-FileCopyrightText: castbag contributors
# SPDX-License-Identifier: BSD-2-Clause
"""What sorting costs in the engine: the same for every lookup, and hidden by the forward pass."""

import pytest

from castbag.host.bench.sort import (
    HIDDEN_LOOKUPS,
    KINDS,
    POOLINGS,
    cast_cost,
    hidden_cost,
)
from castbag.rtl.config import preset

BASE = preset("base")


def test_a_lookup_costs_the_same_in_every_batch():
    """Two cycles, one in and one out, within 10 %; an extra pass takes one more, at 0.98 a cycle.

    In 2^17 lookups there are 32 runs, which are too many for one merge of 16.
    """
    costs = {n: cast_cost(BASE, "random", n) for n in (1 << k for k in (10, 12, 14, 16, 17))}
    assert [cost["extra_passes"] for cost in costs.values()] == [0, 0, 0, 0, 1]
    each = [cost["sort_cycles_a_lookup"] for cost in costs.values()]
    assert max(each) <= 1.1 * min(each)
    assert max(each) <= 2.15
    longest = costs[1 << 17]
    passed = longest["spilled_runs"] * BASE.run_length
    extra = longest["cycles"] - costs[1 << 16]["sort_cycles_a_lookup"] * longest["lookups"]
    assert extra <= passed / 0.98


def test_no_rows_are_slow():
    cycles = [cast_cost(BASE, kind, 1 << 14)["cycles"] for kind in KINDS]
    assert max(cycles) <= 1.01 * min(cycles)


@pytest.mark.parametrize("pooling", POOLINGS)
@pytest.mark.parametrize("dataflow", ["fused", "cast"])
def test_the_forward_pass_hides_the_cast(dataflow, pooling):
    cost = hidden_cost(BASE, dataflow, pooling, HIDDEN_LOOKUPS)
    assert cost["ratio"] <= 1.05
    assert cost["cast_cycles"] <= cost["forward_cycles"]
