# SPDX-FileCopyrightText: castbag contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Lists in memory: elements of four or eight bytes, one after the other from a bus word on."""

from amaranth.hdl import Array, Cat, Const, Module, Mux, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out, connect, flipped
from amaranth.utils import exact_log2

from ..config import WORD_BYTES, EngineConfig
from ..layouts import RequestLayout, WriteBeatLayout
from ..queue import Queue
from .bursts import Splitter

ELEMENT_BITS = 64


class ListStartLayout(data.StructLayout):
    """Where a list lies that is to be read."""

    def __init__(self, config: EngineConfig):
        super().__init__(
            {
                "address": config.address_bits,  # of the first element; lies on a beat
                "count": config.vector_index_bits + 1,  # elements; may be 0
                "wide": 1,  # elements of 8 bytes, else of 4
            }
        )


class ListItemLayout(data.StructLayout):
    """An element of a list that is written."""

    def __init__(self):
        super().__init__({"data": 8 * WORD_BYTES, "end": 1})  # end: of the list


class ListReader(wiring.Component):
    """Every element of a list, in order, and not a beat read beyond the one that holds the last.

    In NumPy, with `memory` as bytes and `size` 8 if `wide` else 4:
    `o = memory[address:][: count * size].view(f"<i{size}").astype("<i8")`.

    Requests are `ceil(count * size / bus_bytes)` beats in all, in runs of at most `burst_beats`
    that are one burst each, so that other clients of the port get their turns between.
    One element a cycle; the first leaves a cycle after its beat is there. A request is made every
    cycle from the third cycle after the start, whether or not data return.

    Members:
        start: Stream of lists, taken when the last one is done.
        request: Stream out to a read port's client.
        data: Stream in from there.
        o: Stream out of elements; those of 4 bytes are sign-extended.
        busy: From the cycle after a start until the last element has left.
    """

    def __init__(self, config: EngineConfig):
        self.config = config
        super().__init__(
            {
                "start": In(stream.Signature(ListStartLayout(config))),
                "request": Out(stream.Signature(RequestLayout(config))),
                "data": In(stream.Signature(config.bus_bits)),
                "o": Out(stream.Signature(ELEMENT_BITS)),
                "busy": Out(1),
            }
        )

    start: stream.Interface
    request: stream.Interface
    data: stream.Interface
    o: stream.Interface
    busy: Signal

    def elaborate(self, platform):
        m = Module()
        lanes = self.config.lanes
        start = self.start.payload
        begun = Signal.like(start, reset_less=True)
        beginning = Signal()  # its beats are being counted
        asking = Signal()  # and are not asked for yet
        needed = Mux(begun.wide, _beats(begun.count, lanes // 2), _beats(begun.count, lanes))
        beats = Signal.like(needed, reset_less=True)
        m.submodules.requests = requests = Splitter(self.config, beats_bits=len(beats))
        m.d.sync += [beginning.eq(0), asking.eq(beginning), beats.eq(needed)]
        m.d.comb += [
            self.start.ready.eq(~self.busy),
            # The splitter is free: the last list's elements have all come.
            requests.i.valid.eq(asking),
            requests.i.payload.address.eq(begun.address),
            requests.i.payload.beats.eq(beats),
            self.request.valid.eq(requests.o.valid),
            self.request.payload.address.eq(
                Cat(Const(0, exact_log2(self.config.bus_bytes)), requests.o.payload.place)
            ),
            self.request.payload.beats.eq(requests.o.payload.beats),
            requests.o.ready.eq(self.request.ready),
        ]

        left = Signal.like(start.count, reset_less=True)  # elements that have not left
        last = Signal()  # that is one
        lane = Signal(range(lanes))  # of the next one
        # What takes the elements is not asked by what gives the beats.
        m.submodules.arrived = arrived = Queue(self.config.bus_bits, depth=2)
        connect(m, flipped(self.data), arrived.i)
        words = [arrived.o.payload.word_select(k, 32) for k in range(lanes)]
        low = Array(words)[lane]
        high = Array(words[1::2])[lane >> 1]
        wide = begun.wide
        step = Mux(wide, 2, 1)
        whole = lane >= lanes - step  # nothing is left in the beat
        leaving = self.o.valid & self.o.ready
        m.d.comb += [
            self.o.valid.eq(self.busy & arrived.o.valid),
            self.o.payload.eq(Cat(low, Mux(wide, high, low[-1].replicate(32)))),
            arrived.o.ready.eq(leaving & (last | whole)),
        ]
        with m.If(leaving):
            m.d.sync += [
                left.eq(left - 1),
                last.eq(left == 2),
                lane.eq(Mux(last, 0, lane + step)),
                self.busy.eq(~last),
            ]
        with m.If(self.start.valid & self.start.ready):
            m.d.sync += [
                begun.eq(start),
                beginning.eq(start.count != 0),
                left.eq(start.count),
                last.eq(start.count == 1),
                self.busy.eq(start.count != 0),
            ]
        return m


def _beats(count, elements: int):
    """Beats that hold `count` elements, `elements` a beat."""
    return (count + (elements - 1)) >> exact_log2(elements)


class ListWriter(wiring.Component):
    """Every element of a list, in order, to where the list starts, and nothing beside them.

    In NumPy, with `memory` as bytes: `memory[address:][: 4 * n].view("<u4")[:] = data`.

    Beats go out full, the last one with strobes for what is there. Requests follow their beats and
    end where the address is a multiple of `burst_beats` beats, so that each is one burst.
    One element a cycle. A list has at least one element: none may be started for nothing.

    Members:
        start: Stream of list addresses, each on a beat; taken when the last list is done.
        i: Stream of elements; `end` marks the last of the list.
        request, data: Streams out to a write port's client.
        busy: From the cycle after a start until the last beat and request have been taken.
    """

    def __init__(self, config: EngineConfig):
        self.config = config
        super().__init__(
            {
                "start": In(stream.Signature(config.address_bits)),
                "i": In(stream.Signature(ListItemLayout())),
                "request": Out(stream.Signature(RequestLayout(config))),
                "data": Out(stream.Signature(WriteBeatLayout(config))),
                "busy": Out(1),
            }
        )

    start: stream.Interface
    i: stream.Interface
    request: stream.Interface
    data: stream.Interface
    busy: Signal

    def elaborate(self, platform):
        m = Module()
        size, lanes = exact_log2(self.config.bus_bytes), self.config.lanes
        longest = exact_log2(self.config.burst_beats)
        open_ = Signal()  # the list's end has not come
        # Whether a request is to come is not asked before there is room for it.
        m.submodules.requests = requests = Queue(RequestLayout(self.config), depth=2)
        connect(m, requests.o, flipped(self.request))
        m.d.comb += [
            self.busy.eq(open_ | requests.o.valid),
            self.start.ready.eq(~self.busy),
        ]

        # The beat: elements that have come, and the one that completes it.
        lane = Signal(range(lanes))
        held = Array(Signal(32, name=f"held_{k}") for k in range(lanes - 1))
        complete = self.i.payload.end | (lane == lanes - 1)
        words = [Mux(lane == k, self.i.payload.data, held[k]) for k in range(lanes - 1)]
        strobes = [(lane >= k).replicate(WORD_BYTES) for k in range(lanes)]
        m.d.comb += [
            self.data.payload.data.eq(Cat(words, self.i.payload.data)),
            self.data.payload.strobe.eq(Cat(strobes)),
        ]

        # The request: beats from `first` to `beat` in the block of `burst_beats` beats.
        block = Signal(self.config.address_bits - size - longest)
        first = Signal(longest)
        beat = Signal(longest)
        closing = complete & (self.i.payload.end | beat.all())
        able = open_ & requests.i.ready
        entering = self.i.valid & self.i.ready
        m.d.comb += [
            self.data.valid.eq(self.i.valid & complete & able),
            self.i.ready.eq(able & (~complete | self.data.ready)),
            requests.i.valid.eq(entering & closing),
            requests.i.payload.address.eq(Cat(Const(0, size), first, block)),
            requests.i.payload.beats.eq(beat - first + 1),
        ]
        with m.If(entering):
            m.d.sync += [lane.eq(Mux(complete, 0, lane + 1)), held[lane].eq(self.i.payload.data)]
            with m.If(complete):
                m.d.sync += beat.eq(beat + 1)
            with m.If(closing):
                m.d.sync += [
                    first.eq(0),
                    block.eq(block + 1),
                    open_.eq(~self.i.payload.end),
                ]
        with m.If(self.start.valid & self.start.ready):
            place = self.start.payload[size:]
            m.d.sync += [
                open_.eq(1),
                first.eq(place[:longest]),
                beat.eq(place[:longest]),
                block.eq(place[longest:]),
            ]
        return m
