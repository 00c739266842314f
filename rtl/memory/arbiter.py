# SPDX-FileCopyrightText: castbag contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Whose turn it is."""

from amaranth.hdl import Cat, Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from ..onehot import lowest


class RoundRobin(wiring.Component):
    """Grants one of those that ask, each at the latest after one grant of each other.

    The grant is given in the cycle; the turn passes on to those above the granted one, around to
    the lowest, when it is taken.

    Args:
        count: How many may ask.

    Members:
        valid: Who asks.
        grant: Who is granted: one bit, or none if nobody asks.
        taken: The grant is used up.
    """

    def __init__(self, count: int):
        self.count = count
        super().__init__({"valid": In(count), "grant": Out(count), "taken": In(1)})

    valid: Signal
    grant: Signal
    taken: Signal

    def elaborate(self, platform):
        m = Module()
        above = Signal(self.count)  # those above the one granted last
        favoured = self.valid & above
        m.d.comb += self.grant.eq(Mux(favoured.any(), lowest(favoured), lowest(self.valid)))
        with m.If(self.taken):
            m.d.sync += above.eq(Cat(self.grant[:k].any() for k in range(self.count)))
        return m
