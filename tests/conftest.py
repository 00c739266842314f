# SPDX-FileCopyrightText: castbag contributors
# SPDX-License-Identifier: BSD-2-Clause
"""What all tests share."""

import pytest


def pytest_configure(config):
    config.addinivalue_line("markers", "bench: runs RTL in a simulator")


def pytest_collection_modifyitems(items):
    """Whatever is run on a simulator is a bench: `make sim` runs just those."""
    for item in items:
        if "simulator" in getattr(item, "callspec", item).__dict__.get("params", {}):
            item.add_marker(pytest.mark.bench)
