# SPDX-FileCopyrightText: castbag contributors
# SPDX-License-Identifier: BSD-2-Clause
"""What all tests share."""

import pytest

LONGEST = (
    "tests/test_netlist.py",
    "tests/test_memory_path.py",
    "tests/test_board.py",
    "tests/test_cycles.py",
    "tests/test_sort_cost.py",
    "tests/test_faults.py",
)
"""What builds the largest models, or synthesises; it begins first, so that workers end together.

The first worker has these, one after the other, so none waits for a model that another builds.
"""


def pytest_configure(config):
    config.addinivalue_line("markers", "bench: runs RTL in a simulator")


def pytest_collection_modifyitems(items):
    """Whatever is run on a simulator is a bench: `make sim` runs just those."""
    for item in items:
        if "simulator" in getattr(item, "callspec", item).__dict__.get("params", {}):
            item.add_marker(pytest.mark.bench)
    places = {name: place for place, name in enumerate(LONGEST)}
    items.sort(key=lambda item: places.get(item.nodeid.partition("::")[0], len(LONGEST)))
