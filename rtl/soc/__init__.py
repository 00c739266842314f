# SPDX-FileCopyrightText: castbag contributors
# SPDX-License-Identifier: BSD-2-Clause
"""What stands around the engine on a board, whatever the board: how a host and memory get at it.

host's bytes -> link/ -> Decoder -> engine's registers
                                 -> board's registers (map.py) -> MemoryTest
                                 -> MemoryWindow -+
                                    Engine -------+-> MemoryJoin -> memory's controller
                                    MemoryTest ---+
"""
