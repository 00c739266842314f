# SPDX-FileCopyrightText: castbag contributors
# SPDX-License-Identifier: BSD-2-Clause
"""MergeTree: the least of many heads, every step."""

from itertools import pairwise

from amaranth.hdl import Cat, Module, Mux, Signal
from amaranth.lib import data, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from ..config import EngineConfig
from ..onehot import chosen

PLACES = 4
"""Places of a child in the level above it: one is looked at; three are being refilled, each in
another step of the level below, or of the reading of a way."""


class MergeItemLayout(data.StructLayout):
    """A pair of a run; or a place without one, which goes before all pairs or behind them."""

    def __init__(self, config: EngineConfig):
        super().__init__(
            {
                "row": config.index_bits,  # the key
                "source": config.source_bits,  # carried along
                "empty": 1,  # nothing left: goes behind pairs
                "filled": 1,  # 0: a hole, goes before pairs; the rest means nothing
            }
        )


class PlaceLayout(data.StructLayout):
    """A place that is to be refilled by the next item of its child."""

    def __init__(self, children: int):
        super().__init__(
            {
                "valid": 1,  # there is one
                "child": range(max(2, children)),  # node of the level below, or way
                "place": range(PLACES),
            }
        )


class MergeLevel(wiring.Component):
    """The lesser of a node's two heads leaves, the first one of equals; its place is refilled.

    The next items of a node's child, which is a node of the level below or a way, lie in `PLACES`
    places here, taken in turn. A node that is asked in one step answers two steps later: its
    winner leaves, and the place of the winner is asked for below, where the same happens. What
    comes of that in the third step after is the child's next item but those in the other places.

    Members:
        step: The level moves on.
        clear, place: Make a hole of this place, on each side; no step in that cycle.
        asked: The node that is asked, and the place above that is to be refilled.
        given, winner: That place three steps later, and the item for it.
        ask: The place here that a winner leaves.
        refilled, item: That place three steps later, and the item for it.
    """

    step: Signal
    clear: Signal
    place: Signal
    asked: data.View
    given: data.View
    winner: data.View
    ask: data.View
    refilled: data.View
    item: data.View

    def __init__(self, config: EngineConfig, *, nodes: int):
        self.nodes = nodes
        self.places = nodes * PLACES  # on each side
        self.shape = MergeItemLayout(config)
        above, below = PlaceLayout(nodes), PlaceLayout(2 * nodes)
        super().__init__(
            {
                "step": In(1),
                "clear": In(1),
                "place": In(range(self.places)),
                "asked": In(above),
                "given": Out(above),
                "winner": Out(self.shape),
                "ask": Out(below),
                "refilled": In(below),
                "item": In(self.shape),
            }
        )

    def elaborate(self, platform):
        m = Module()
        turning = Signal.like(self.asked)  # the node whose turns are looked up
        answering = Signal.like(self.asked)  # the node whose heads are compared
        with m.If(self.step):
            m.d.sync += [
                turning.eq(self.asked),
                answering.eq(turning),
                self.given.eq(answering),
            ]
        with m.If(self.clear):
            m.d.sync += [turning.valid.eq(0), answering.valid.eq(0), self.given.valid.eq(0)]

        from_b = Signal()
        a, turn_a = self._side(m, "a", turning, answering, wins=~from_b)
        b, turn_b = self._side(m, "b", turning, answering, wins=from_b)
        m.d.comb += [
            from_b.eq(Cat(b.row, b.empty, b.filled) < Cat(a.row, a.empty, a.filled)),
            self.ask.valid.eq(answering.valid),
            self.ask.child.eq(Cat(from_b, answering.child)),
            self.ask.place.eq(Mux(from_b, turn_b, turn_a)),
        ]
        with m.If(self.step):
            m.d.sync += self.winner.eq(Mux(from_b, b, a))
        return m

    def _side(self, m: Module, side: str, turning, answering, *, wins):
        """The head of one of the answering node's children, and its place."""
        m.submodules[f"items_{side}"] = items = Memory(shape=self.shape, depth=self.places, init=[])
        m.submodules[f"turns_{side}"] = turns = Memory(
            shape=range(PLACES), depth=max(2, self.nodes), init=[]
        )
        head, refill = items.read_port(domain="comb"), items.write_port()
        turn, turned = turns.read_port(domain="comb"), turns.write_port()
        place = Signal(range(PLACES), name=f"place_{side}")  # of the head
        after = Signal.like(place, name=f"after_{side}")  # of the one after it
        same = answering.valid & (answering.child == turning.child)
        refilling = self.step & self.refilled.valid & (self.refilled.child[0] == (side == "b"))
        m.d.comb += [
            after.eq(place + 1),
            turn.addr.eq(turning.child),
            turned.en.eq(self.step & answering.valid & wins),
            turned.addr.eq(answering.child),
            turned.data.eq(after),
            head.addr.eq(Cat(place, answering.child)),
            refill.en.eq(self.clear | refilling),
            refill.addr.eq(
                Mux(self.clear, self.place, Cat(self.refilled.place, self.refilled.child[1:]))
            ),
            refill.data.eq(self.item),
            refill.data.filled.eq(~self.clear & self.item.filled),
        ]
        # Not by conditions: a synthesiser would make a clock enable of the place that stays, and
        # what wins comes last.
        following = chosen(Cat(~same, same & wins, same & ~wins), (turn.data, after, place))
        with m.If(self.step):
            m.d.sync += place.eq(following)
        return head.data, place


class MergeTree(wiring.Component):
    """Sorted runs, one a way, leave as one: sorted, equal rows by their ways, a pair a step.

    A tournament whose levels work on one item each::

        step t           level 0    the lesser of its heads leaves; its place is asked for
        step t + 2       level 1    the item for that place leaves; its place is asked for
        …
        step t + 2k - 1  the ways   the next pair of one way is asked for

    A level is one comparator, whatever the number of its nodes: of `ways` runs only one is asked
    for a pair in a step. All move in the same step, or none do: while the way that is asked has
    no pair yet, or there is no room for the winner. A way that has come to its end gives empty
    items.

    A merge begins with a reset. Then all places become holes, which go before all pairs: they
    leave as items do, so that places fill up by themselves. `latency` is the cycles from the
    reset to the first pair, if the ways never wait: one for each place on a side of the largest
    level, to clear it, one for each hole, and four until the first hole leaves.

    Members:
        room: There is room for one winner, and for the one of the step before.
        step: Of the ways, too: what is asked for counts in this cycle.
        asked: The way of which the next item is wanted, steady until the step.
        following: The way that will be asked after this step; its lowest bit comes late.
        ready: That item can be had.
        item: The item that was asked for two steps before.
        winner, valid: A pair leaves in this cycle.
        over: All pairs have left.
    """

    room: Signal
    step: Signal
    asked: data.View
    following: data.View
    ready: Signal
    item: data.View
    winner: data.View
    valid: Signal
    over: Signal

    def __init__(self, config: EngineConfig):
        self.config = config
        ways = config.merge_ways
        self.levels = [MergeLevel(config, nodes=2**depth) for depth in range(ways.bit_length() - 1)]
        holes = 2 * sum(level.places for level in self.levels)
        self.latency = self.levels[-1].places + holes + 4
        super().__init__(
            {
                "room": In(1),
                "step": Out(1),
                "asked": Out(PlaceLayout(ways)),
                "following": Out(PlaceLayout(ways)),
                "ready": In(1),
                "item": In(MergeItemLayout(config)),
                "winner": Out(MergeItemLayout(config)),
                "valid": Out(1),
                "over": Out(1),
            }
        )

    def elaborate(self, platform):
        m = Module()
        clearing = Signal(init=1)
        place = Signal(range(self.levels[-1].places))
        with m.If(clearing):
            m.d.sync += [place.eq(place + 1), clearing.eq(place != self.levels[-1].places - 1)]
        m.d.comb += self.step.eq(~clearing & self.room & self.ready)

        for depth, level in enumerate(self.levels):
            m.submodules[f"level_{depth}"] = level
            m.d.comb += [
                level.step.eq(self.step),
                level.clear.eq(clearing),
                level.place.eq(place),
            ]
        for above, below in pairwise(self.levels):
            m.d.comb += [
                below.asked.eq(above.ask),
                above.refilled.eq(below.given),
                above.item.eq(below.winner),
            ]

        # The root is asked in every step; what it gives leaves the tree.
        root, bottom = self.levels[0], self.levels[-1]
        m.d.comb += [
            root.asked.valid.eq(1),
            self.winner.eq(root.winner),
            self.valid.eq(self.step & root.given.valid & root.winner.filled & ~root.winner.empty),
            self.over.eq(root.given.valid & root.winner.filled & root.winner.empty),
        ]

        # The place of a way, while its pair is looked for, read, and stored.
        places = [
            Signal(PlaceLayout(self.config.merge_ways), name=f"asked_{k}")
            for k in range(PLACES - 1)
        ]
        with m.If(self.step):
            m.d.sync += [after.eq(before) for before, after in pairwise([bottom.ask, *places])]
        with m.If(clearing):
            m.d.sync += [one.valid.eq(0) for one in places]
        m.d.comb += [
            self.asked.eq(places[0]),
            self.following.eq(bottom.ask),
            bottom.refilled.eq(places[-1]),
            bottom.item.eq(self.item),
        ]
        return m
