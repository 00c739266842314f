# SPDX-FileCopyrightText: castbag contributors
# SPDX-License-Identifier: BSD-2-Clause
"""The merge cell and the queue do what they must, whatever enters; with a fault they do not."""

import pytest
from amaranth.hdl import Module, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In

from castbag.rtl.queue import Queue
from castbag.rtl.sort.merge import Merge
from tests.formal.merge import CONFIG, StableMerge
from tests.formal.prove import ProofFailed, missing_tools, prove
from tests.formal.queue import EveryItemLeaves

pytestmark = pytest.mark.skipif(
    bool(missing_tools()), reason=f"not installed: {', '.join(missing_tools())}"
)

WIDTH = 3


def test_merge():
    prove(StableMerge(Merge(CONFIG)), name="merge", depth=2)


@pytest.mark.parametrize("depth", [2, 4, 32, 64])  # LUT RAM up to 32, then block RAM
def test_queue(depth):
    prove(EveryItemLeaves(Queue(WIDTH, depth=depth)), name=f"queue_{depth}", depth=2)


class Altered(wiring.Component):
    """A unit, and statements that drive some port of it otherwise than it does itself."""

    def __init__(self, unit, alter):
        super().__init__(unit.signature)
        self._unit = unit
        self._alter = alter
        for name, value in vars(unit).items():  # its state and figures, which are looked at
            vars(self).setdefault(name, value)

    def elaborate(self, platform):
        m = Module()
        m.submodules.unit = unit = self._unit
        for (_, member, outer), (_, _, inner) in zip(
            self.signature.flatten(self), unit.signature.flatten(unit), strict=True
        ):
            target, source = (inner, outer) if member.flow is In else (outer, inner)
            m.d.comb += Value.cast(target).eq(source)
        m.d.comb += self._alter(self, unit)
        return m


class Unstable(Merge):
    """Equal rows of `b` go first."""

    def less(self, row, other):
        return row <= other


class Unsorted(Merge):
    """Rows that differ in their lowest bit alone count as equal."""

    def less(self, row, other):
        return row[1:] < other[1:]


def merge_but(alter):
    return lambda: Altered(Merge(CONFIG), alter)


MERGE_FAULTS = {
    "unstable": lambda: Unstable(CONFIG),
    "unsorted": lambda: Unsorted(CONFIG),
    "changed": merge_but(lambda o, i: o.o.payload.source[0].eq(i.o.payload.row[0])),
    "lost": merge_but(lambda o, i: o.o.valid.eq(i.o.valid & (i.o.payload.row != 3))),
    "doubled": merge_but(lambda o, i: i.o.ready.eq(o.o.ready & (i.o.payload.row != 3))),
    "endless": merge_but(lambda o, i: o.o.payload.end.eq(0)),
    "shy": merge_but(lambda o, i: o.o.valid.eq(i.o.valid & o.o.ready)),
    "stuck": merge_but(lambda o, i: [i.b.valid.eq(o.b.valid & ~o.a.payload.last)]),
}

QUEUE_FAULTS = {
    "changed": lambda o, i: o.o.payload.eq(i.o.payload | (i.level == 2)),
    "lost": lambda o, i: i.i.valid.eq(o.i.valid & (o.i.payload != 3)),
    "doubled": lambda o, i: i.o.ready.eq(o.o.ready & (i.o.payload != 3)),
    "overfull": lambda o, i: o.i.ready.eq(1),
    "idle": lambda o, i: o.i.ready.eq(i.level < 3),
    "shy": lambda o, i: o.o.valid.eq(i.o.valid & o.o.ready),
}


@pytest.mark.parametrize("fault", MERGE_FAULTS)
def test_a_faulty_merge_fails(fault):
    spec = StableMerge(MERGE_FAULTS[fault](), fit=False)
    with pytest.raises(ProofFailed, match="Assert failed in"):
        prove(spec, name=f"merge_{fault}", depth=7, bounded=True)


@pytest.mark.parametrize("fault", QUEUE_FAULTS)
def test_a_faulty_queue_fails(fault):
    spec = EveryItemLeaves(Altered(Queue(WIDTH, depth=4), QUEUE_FAULTS[fault]), fit=False)
    with pytest.raises(ProofFailed, match="Assert failed in"):
        prove(spec, name=f"queue_{fault}", depth=7, bounded=True)
