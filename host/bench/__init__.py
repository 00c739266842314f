# SPDX-FileCopyrightText: castbag contributors
# SPDX-License-Identifier: BSD-2-Clause
"""What `make bench` measures on the simulated engine: a table to read, JSON in build/bench."""
