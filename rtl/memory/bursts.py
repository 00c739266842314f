# SPDX-FileCopyrightText: castbag contributors
# SPDX-License-Identifier: BSD-2-Clause
"""A request, cut into bursts that AXI4 allows."""

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import exact_log2

from ..axi import INCR
from ..config import EngineConfig
from ..layouts import REQUEST_BITS
from ..queue import Queue

PAGE_BYTES = 4096
"""No burst crosses a multiple of this (Arm IHI 0022, section A3.4.1)."""

NORMAL = 0b0011
"""Memory type of all that is read and written: Normal, Non-cacheable, Bufferable."""


class BurstLayout(data.StructLayout):
    """A run of beats that one burst may carry."""

    def __init__(self, config: EngineConfig):
        super().__init__(
            {
                "place": config.address_bits - exact_log2(config.bus_bytes),  # address in beats
                "beats": range(config.burst_beats + 1),  # 1 to burst_beats
            }
        )


class Splitter(wiring.Component):
    """Every beat of each request, in order, in the fewest bursts that follow the rules.

    The rules: at most `burst_beats` beats, none across a multiple of `span` bytes.
    Throughput: a burst a cycle. Latency: 2 cycles. Nothing long hangs on `i.ready`.

    Args:
        config: The engine's.
        beats_bits: Width of a request's beat count.
        span: A power of two, from a beat to a 4 KiB page.

    Members:
        i: Requests of at least 1 beat: `address`, on a beat, and `beats`.
        o: Bursts.
        busy: A request is being split.
    """

    def __init__(
        self, config: EngineConfig, *, beats_bits: int = REQUEST_BITS, span: int = PAGE_BYTES
    ):
        self.config = config
        self.span = span
        request = data.StructLayout({"address": config.address_bits, "beats": beats_bits})
        super().__init__(
            {
                "i": In(stream.Signature(request)),
                "o": Out(stream.Signature(BurstLayout(config))),
                "busy": Out(1),
            }
        )

    i: stream.Interface
    o: stream.Interface
    busy: Signal

    def elaborate(self, platform):
        m = Module()
        size = exact_log2(self.config.bus_bytes)
        most = min(self.config.burst_beats, self.span // self.config.bus_bytes)
        longest = exact_log2(most)
        span = exact_log2(self.span) - size
        blocks = 1 << span - longest  # blocks of `most` beats in a span
        busy = Signal()
        place = Signal.like(self.o.payload.place, reset_less=True)  # of the next burst
        # Beats from there to the request's end.
        left = Signal.like(self.i.payload.beats, reset_less=True)
        limit = Signal.like(self.o.payload.beats, reset_less=True)  # most of a burst from there
        last = Signal()  # one burst may have them all

        def meets_end(place: Value, *, before: int = 0) -> Value:
            """A burst from there may: `before` blocks on lies the last block of a span."""
            block = place[longest:span]
            return (block == (blocks - 1 - before) % blocks) if blocks > 1 else Const(1)

        def limit_at(place: Value, meets: Value) -> Value:
            return Mux(meets, most - place[:longest], most)

        def fits(beats: Value, place: Value, meets: Value) -> Value:
            """`beats <= limit_at(place, meets)`, beside that and not after it."""
            few = beats[: len(limit)]
            return ~beats[len(limit) :].any() & (few + Mux(meets, place[:longest], 0) <= most)

        # In the place of a register: what takes the bursts is not asked in the cycle.
        m.submodules.bursts = bursts = Queue(self.o.payload.shape(), depth=2)
        wiring.connect(m, bursts.o, wiring.flipped(self.o))
        free = bursts.i.ready
        m.d.comb += [
            self.i.ready.eq(~busy | (free & last)),
            self.busy.eq(busy | self.o.valid),
            bursts.i.valid.eq(busy),
            bursts.i.payload.place.eq(place),
            bursts.i.payload.beats.eq(Mux(last, left, limit)),
        ]
        start = self.i.payload.address[size:]
        first_limit, next_limit = Signal.like(limit), Signal.like(limit)
        # Past a span's end lies a whole block; else it is the place's own next one.
        meets, will_meet = meets_end(start), meets_end(place, before=1) & (limit == most)
        # Each comparison by itself, for what chooses between them comes late.
        first_fits, next_fits = Signal(attrs={"keep": True}), Signal(attrs={"keep": True})
        m.d.comb += [
            first_limit.eq(limit_at(start, meets)),
            next_limit.eq(limit_at(place, will_meet)),
            first_fits.eq(fits(self.i.payload.beats, start, meets)),
            next_fits.eq(fits((left - limit)[: len(left)], place, will_meet)),
        ]
        with m.If(self.i.ready):
            m.d.sync += [
                busy.eq(self.i.valid),
                place.eq(start),
                left.eq(self.i.payload.beats),
                limit.eq(first_limit),
                last.eq(first_fits),
            ]
        with m.Elif(free):
            m.d.sync += [
                place.eq(place + limit),
                left.eq(left - limit),
                limit.eq(next_limit),
                last.eq(next_fits),
            ]
        return m


def drive_constants(m: Module, config: EngineConfig, axi) -> None:
    """What all bursts on the channel AR of `axi` have in common."""
    m.d.comb += [
        axi.arsize.eq(exact_log2(config.bus_bytes)),
        axi.arburst.eq(INCR),
        axi.arcache.eq(NORMAL),
    ]


def byte_address(config: EngineConfig, place: Value) -> Value:
    """The byte address of a place that is counted in beats."""
    return Cat(Const(0, exact_log2(config.bus_bytes)), place)
