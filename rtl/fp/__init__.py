# SPDX-FileCopyrightText: castbag contributors
# SPDX-License-Identifier: BSD-2-Clause
"""IEEE-754 binary32 arithmetic: pipelined units that take a pair of operands every cycle.

Both units round to nearest even, keep subnormals going in and coming out, honour infinities, and
give every NaN as the canonical `0x7FC00000`. They have no valid bit: one clock enable moves a whole
pipeline, a result follows its operands by exactly `LATENCY` enabled edges, and whoever owns the
unit carries what belongs to the operands alongside.
"""

from .add import Adder
from .multiply import Multiplier

__all__ = ["Adder", "Multiplier"]
