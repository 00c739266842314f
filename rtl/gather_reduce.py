# SPDX-FileCopyrightText: castbag contributors
# SPDX-License-Identifier: BSD-2-Clause
"""GatherReduce: the one path that serves the forward pass and the casted backward pass."""

from amaranth.hdl import Cat, Module, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out, connect, flipped

from .config import EngineConfig
from .fetch import VectorFetch
from .interleave import Interleaver
from .layouts import (
    REQUEST_BITS,
    LookupLayout,
    RequestLayout,
    VectorWordLayout,
)
from .queue import Queue
from .reduce import Reducer


class GatherReduce(wiring.Component):
    """For every segment of lookups the sum of the vectors that they name.

    In NumPy, in float32, additions in order: `out[target] = +0.0 + table[source_0] + ...`

        lookups -> Interleaver -> VectorFetch -> Reducer -> sums
                                    |      ^
                              requests    vectors

    Sums leave as they are finished, so not in the order of their segments where vectors are
    shorter than `SLOTS` words; `closing` gives that order ahead of time. Rate: see `Interleaver`.

    Members:
        base: Byte address of the source table; steady while busy, as are the next three,
            and for two cycles before.
        words: Words of a vector.
        ordered: Keep all lookups in their order (for lookups marked `again`).
        announce: Give each segment's target on `closing`.
        i: Lookups.
        request, data: To a read client, or to any other store of vectors.
        closing: Targets, once their segment's last vector is requested.
        o: Words of sums.
        valid, ready: Of the streams into the three units, for counters.
    """

    base: Signal
    words: Signal
    ordered: Signal
    announce: Signal
    i: stream.Interface
    request: stream.Interface
    data: stream.Interface
    closing: stream.Interface
    o: stream.Interface
    valid: Signal
    ready: Signal

    def __init__(self, config: EngineConfig):
        self.config = config
        super().__init__(
            {
                "base": In(config.address_bits),
                "words": In(REQUEST_BITS),
                "ordered": In(1),
                "announce": In(1),
                "i": In(stream.Signature(LookupLayout(config))),
                "request": Out(stream.Signature(RequestLayout(config))),
                "data": In(stream.Signature(config.bus_bits)),
                "closing": Out(stream.Signature(config.vector_index_bits)),
                "o": Out(stream.Signature(VectorWordLayout(config))),
                "valid": Out(3),
                "ready": Out(3),
            }
        )

    def elaborate(self, platform):
        m = Module()
        m.submodules.interleaver = interleaver = Interleaver(self.config)
        m.submodules.fetch = fetch = VectorFetch(self.config)
        m.submodules.reducer = reducer = Reducer(self.config)
        # Sources of lookups do not hear in the cycle whether there is room.
        m.submodules.lookups = lookups = Queue(LookupLayout(self.config), depth=2)
        connect(m, flipped(self.i), lookups.i)
        connect(m, lookups.o, interleaver.i)
        connect(m, interleaver.o, fetch.i)
        connect(m, fetch.request, flipped(self.request))
        connect(m, flipped(self.data), fetch.data)
        connect(m, fetch.closing, flipped(self.closing))
        connect(m, fetch.o, reducer.i)
        connect(m, reducer.o, flipped(self.o))
        inputs = (interleaver.i, fetch.data, reducer.i)
        m.d.comb += [
            self.valid.eq(Cat(each.valid for each in inputs)),
            self.ready.eq(Cat(each.ready for each in inputs)),
            interleaver.words.eq(self.words),
            interleaver.ordered.eq(self.ordered),
            fetch.base.eq(self.base),
            fetch.words.eq(self.words),
            fetch.announce.eq(self.announce),
            reducer.words.eq(self.words),
        ]
        return m
