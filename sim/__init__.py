# SPDX-FileCopyrightText: castbag contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Simulation: models built once, benches that check the rules, memory and device simulated."""
