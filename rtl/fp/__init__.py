# SPDX-FileCopyrightText: castbag contributors
# SPDX-License-Identifier: BSD-2-Clause
"""IEEE-754 binary32 arithmetic: pipelined units that take operands every cycle, or more rarely.

All units round to nearest even, keep subnormals going in and coming out, honour infinities, and
give every NaN as the canonical `0x7FC00000`. They have no valid bit: one clock enable moves a whole
pipeline, a result follows its operands by exactly `LATENCY` enabled edges, and whoever owns the
unit carries what belongs to the operands alongside.

The divider and the root find a digit at a time. Their `interval` says how many enabled edges are
from operands to operands: 1 as for the others; with more, they take that many times fewer of the
subtractors that make up most of them. When they take operands is theirs to say, by `take`, and
their `latency` depends on the interval. The comparer has no register at all.
"""

from .add import Adder
from .compare import Comparer
from .divide import Divider
from .multiply import Multiplier
from .root import Root

__all__ = ["Adder", "Comparer", "Divider", "Multiplier", "Root"]
