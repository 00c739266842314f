# SPDX-FileCopyrightText: castbag contributors
# SPDX-License-Identifier: BSD-2-Clause
"""What the units share that find a digit at a time: a step, and how steps are folded into stages.

They divide without restoring. A step subtracts, and where that was too much the digit is 0 and the
remainder is left negative: the next step adds instead. Here no step adds. A negative remainder `r`
is kept as its complement, `-r - 1`, beside the sign: then the same subtraction does for both, and
the digit is whether the sign is positive. So a digit costs a subtraction and its complement, and in
a folded recurrence the choice between a new number and the old one fits into the complement's LUTs.
"""

from amaranth.hdl import Const, Module, Mux, Signal, Value

__all__ = ["Turns", "digit", "settle"]


class Turns:
    """How `digits` steps are shared out, if operands are taken at every `interval`-th edge.

    Every stage does one step an edge, and keeps a number for `edges` of them. With `interval` 1 it
    has a stage for every digit; with more, that many times fewer; from `digits` on, one stage.

    Attributes:
        interval: Edges from operands to operands.
        stages: ceil(digits / interval).
        edges: ceil(digits / stages), at most `interval`.
        latency: Edges through all stages, and so digits that they find: `digits` or a few more.
    """

    def __init__(self, *, digits: int, interval: int):
        if interval < 1:
            raise ValueError(f"interval = {interval}: operands are taken at every edge at most")
        self.interval = interval
        self.stages = -(-digits // interval)
        self.edges = -(-digits // self.stages)
        self.latency = self.stages * self.edges
        self._phase = Signal(range(interval), name="phase", reset_less=True)

    def count(self, m: Module) -> None:
        """Add the counter of edges: operands are taken as it is 0."""
        # Whatever it starts from, it comes to count as it should.
        last = self._phase == self.interval - 1
        m.d.sync += self._phase.eq(Mux(last, 0, self._phase + 1))

    def due(self, m: Module, age: int, *, name: str) -> Value:
        """Whether what was taken `age` edges ago, or is taken now if that is 0, is to move on."""
        if self.interval == 1:
            return Const(1)
        phase = age % self.interval
        due = Signal(name=name, init=phase == 0, reset_less=True)
        m.d.sync += due.eq(self._phase == (phase - 1) % self.interval)
        return due


def digit(difference: Value, negative: Value) -> Value:
    """The digit that a step finds; the arguments are those of `settle`."""
    return ~(negative ^ difference[-1])


def settle(difference: Value, negative: Value) -> tuple[Value, Value]:
    """The remainder that a step leaves, and whether it is negative.

    `difference` is what the step's subtraction gave, in two's complement; `negative` tells whether
    the remainder was before.
    """
    borrow = difference[-1]
    remainder = difference[:-1] ^ borrow.replicate(len(difference) - 1)
    return remainder, negative ^ borrow
