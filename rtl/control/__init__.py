# SPDX-FileCopyrightText: castbag contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Control: the register and descriptor map, the AXI4-Lite port, commands, phases, counters."""
