# SPDX-FileCopyrightText: castbag contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Tests: `pytest` from the root, after `make setup`, or `make test`."""
