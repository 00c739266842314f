# SPDX-FileCopyrightText: castbag contributors
# SPDX-License-Identifier: BSD-2-Clause
"""cocotb benches: what runs inside the simulator for the tests beside this folder."""
