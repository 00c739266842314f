# SPDX-FileCopyrightText: castbag contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Real devices: synthesis, the budget that every unit is held to, place and route."""
