# SPDX-FileCopyrightText: castbag contributors
# SPDX-License-Identifier: BSD-2-Clause
"""VectorWriter: finished vectors go to their places in a table."""

from amaranth.hdl import Const, Module, Mux, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import exact_log2

from .address import VectorAddress
from .config import EngineConfig
from .layouts import REQUEST_BITS, RequestLayout, VectorWordLayout, WriteBeatLayout
from .queue import Queue


class VectorWriter(wiring.Component):
    """For every vector, one request for its place, and its words as beats.

    The last word's pad, beyond column `dim - 1`, is masked: pad bytes are never written.
    Rate: a word a cycle. Latency: a cycle for the beats, 4 for the request.

    Members:
        base: Byte address of the table; steady while vectors are held.
        words: Words of a vector; steady likewise.
        dim: Elements of a vector, `words = ceil(dim / lanes)`; steady likewise.
        i: Words of finished vectors.
        request: Their places.
        data: Their beats.
        wrote: Pulse: a vector's last word has been handed over.
    """

    base: Signal
    words: Signal
    dim: Signal
    i: stream.Interface
    request: stream.Interface
    data: stream.Interface
    wrote: Signal

    def __init__(self, config: EngineConfig):
        self.config = config
        super().__init__(
            {
                "base": In(config.address_bits),
                "words": In(REQUEST_BITS),
                "dim": In(range(config.max_dim + 1)),
                "i": In(stream.Signature(VectorWordLayout(config))),
                "request": Out(stream.Signature(RequestLayout(config))),
                "data": Out(stream.Signature(WriteBeatLayout(config))),
                "wrote": Out(1),
            }
        )

    def elaborate(self, platform):
        m = Module()
        config = self.config
        m.submodules.address = address = VectorAddress(config)
        wiring.connect(m, address.o, wiring.flipped(self.request))

        # What gives the words is not asked by what takes them; and they go far.
        m.submodules.vectors = vectors = Queue(VectorWordLayout(config), depth=2)
        wiring.connect(m, wiring.flipped(self.i), vectors.i)
        inside = Signal()  # a vector's first word has passed
        word = vectors.o.payload
        names = ~inside  # the first word names the vector's place
        tail = self.dim[: exact_log2(config.lanes)]  # elements of the last word, 0 for all
        every = Const(-1, config.bus_bytes)
        mask = Mux(tail == 0, every, ~(every << (tail << 2))[: config.bus_bytes])
        m.d.comb += [
            address.base.eq(self.base),
            address.words.eq(self.words),
            address.i.payload.eq(word.target),
            address.i.valid.eq(vectors.o.valid & names & self.data.ready),
            self.data.payload.data.eq(word.data),
            self.data.payload.strobe.eq(Mux(word.end, mask, every)),
            self.data.valid.eq(vectors.o.valid & (~names | address.i.ready)),
            vectors.o.ready.eq(self.data.ready & (~names | address.i.ready)),
            self.wrote.eq(vectors.o.valid & vectors.o.ready & word.end),
        ]
        with m.If(vectors.o.valid & vectors.o.ready):
            m.d.sync += inside.eq(~word.end)
        return m
