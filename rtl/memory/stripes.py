# SPDX-FileCopyrightText: castbag contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Several AXI4 read ports behind one: an address says whose it is, and order is kept."""

from collections.abc import Sequence
from typing import Any

from amaranth.hdl import Array, Cat, Module, Mux, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import exact_log2

from ..axi import AXI4ReadSignature, numbered
from ..config import EngineConfig
from ..queue import LUT_RAM_DEPTH, Queue
from .bursts import BurstLayout, byte_address, drive_constants


def port_of(config: EngineConfig, place: Value) -> Value:
    """The read port of a place that is counted in beats."""
    first = exact_log2(config.read_stripe // config.bus_bytes)
    return place[first : first + exact_log2(config.read_ports)]


class AddressLayout(data.StructLayout):
    """A burst, as channel AR has it."""

    def __init__(self, config: EngineConfig):
        place = BurstLayout(config)["place"].shape
        super().__init__({"place": place, "length": range(config.burst_beats)})  # beats - 1


class ReturnLayout(data.StructLayout):
    """A beat, as channel R has it."""

    def __init__(self, config: EngineConfig):
        super().__init__({"word": config.bus_bits, "response": 2, "last": 1})


class StripePort(wiring.Component):
    """Every burst is read, in order; all that comes is taken at once.

    A burst waits, with up to `LUT_RAM_DEPTH` of them, until the return queue of `vector_beats` has
    places for a longest burst that no burst on its way will fill. So RREADY never waits for `o`,
    and at most `vector_beats` beats, in at most as many bursts, are on their way.

    Throughput: a burst a cycle and a beat a cycle, with bursts of `n` beats out of at most `most`,
    from a memory whose first beat is on R `t` cycles after the burst was taken from AR, as long as
    `t <= vector_beats - most - 4`.
    Latency: a burst taken in cycle 0 is on AR in cycle 2. A beat taken from R in cycle 0 is at `o`
    in cycle 3, or 1 if `vector_beats` is at most 32.

    Members:
        axi: The bus.
        i: Bursts.
        o: Their beats.
        halt: From the cycle it rises, until a reset, no burst is issued (one that stands on AR
            stays until it is taken), and what returns is still taken.
        idle: Whatever was issued has returned.
    """

    def __init__(self, config: EngineConfig):
        self.config = config
        bus = AXI4ReadSignature(address_bits=config.address_bits, data_bits=config.bus_bits)
        super().__init__(
            {
                "axi": Out(bus),
                "i": In(stream.Signature(AddressLayout(config))),
                "o": Out(stream.Signature(ReturnLayout(config))),
                "halt": In(1),
                "idle": Out(1),
            }
        )

    axi: Any  # AXI4ReadSignature
    i: stream.Interface
    o: stream.Interface
    halt: Signal
    idle: Signal

    def elaborate(self, platform):
        m = Module()
        config, axi = self.config, self.axi
        depth = config.vector_beats
        most = min(config.burst_beats, config.read_stripe // config.bus_bytes)
        drive_constants(m, config, axi)
        m.submodules.bursts = bursts = Queue(self.i.payload.shape(), depth=LUT_RAM_DEPTH)
        m.submodules.returned = returned = Queue(self.o.payload.shape(), depth=depth)
        wiring.connect(m, wiring.flipped(self.i), bursts.i)
        wiring.connect(m, returned.o, wiring.flipped(self.o))

        places = Signal(range(depth + 1), init=depth)  # that no burst has claimed
        on_their_way = Signal(range(depth + 1))  # bursts
        burst = bursts.o.payload
        roomy = places[exact_log2(most) :].any()
        free, allowed, issuing, ending = Signal(), Signal(), Signal(), Signal()
        m.d.comb += [
            free.eq(~axi.arvalid | axi.arready),
            allowed.eq(roomy & free & ~self.halt),
            bursts.o.ready.eq(allowed),
            issuing.eq(bursts.o.valid & allowed),
            axi.rready.eq(returned.i.ready),  # always, while something is on its way
            returned.i.valid.eq(axi.rvalid),
            returned.i.payload.word.eq(axi.rdata),
            returned.i.payload.response.eq(axi.rresp),
            returned.i.payload.last.eq(axi.rlast),
            ending.eq(axi.rvalid & axi.rready & axi.rlast),
            self.idle.eq(on_their_way == 0),
        ]
        leaving = self.o.valid & self.o.ready
        m.d.sync += [
            places.eq(places + leaving - Mux(issuing, burst.length + 1, 0)),
            on_their_way.eq(on_their_way + issuing - ending),
        ]
        with m.If(free):
            m.d.sync += [
                axi.arvalid.eq(issuing),
                axi.araddr.eq(byte_address(config, burst.place)),
                axi.arlen.eq(burst.length),
            ]
        return m


class ReadStripes(wiring.Component):
    """One AXI4 read port out of `read_ports`: all bursts of `bus` are answered in order.

    A burst goes to the port that its address says, `port_of`, and must not leave its stripe. Ports
    are independent: each has its own id 0 and its own order, and takes what returns at once,
    whatever the others do. What comes before its turn waits in its port's return queue. ::

        bus AR -> by address -+-> bursts -> axi  AR    axi  R -> return queue -+-> oldest -> bus R
                              '-> bursts -> axi1 AR    axi1 R -> return queue -'

    It can't come to a stop by itself: the oldest burst that is not answered is also its port's
    oldest, so that nothing before it keeps a place in that port's return queue; it is issued, and
    its beats are next at `bus`. A port that keeps its bursts waiting holds up `bus` once its turn
    comes, or once `LUT_RAM_DEPTH` of them wait.

    Throughput: a burst a cycle and a beat a cycle. Ports that each need `c` cycles for a burst of
    `n` beats give `min(1, read_ports * n / c)` beats a cycle together, if bursts come to them in
    turn; with bursts at random, as many fewer as those on their way are spread unevenly.
    Latency: AR and R of a port alone, see `StripePort`.
    Bound: of each port, what `StripePort` lets be on its way.

    Members:
        bus: Where bursts come from.
        oldest: Port of the oldest burst of `bus` that is not answered, as whoever issued it
            remembers; of use with `bus.rready`.
        halt: As of each port; from the cycle it rises, `bus` gives no beat.
        idle: Whatever the ports have issued has returned.
        axi, axi1, axi2, ...: The ports.
    """

    def __init__(self, config: EngineConfig):
        self.config = config
        self.names = numbered("axi", config.read_ports)
        bus = AXI4ReadSignature(address_bits=config.address_bits, data_bits=config.bus_bits)
        super().__init__(
            {
                "bus": In(bus),
                "oldest": In(range(config.read_ports)),
                "halt": In(1),
                "idle": Out(1),
                **{name: Out(bus) for name in self.names},
            }
        )

    bus: Any  # AXI4ReadSignature
    oldest: Signal
    halt: Signal
    idle: Signal

    def elaborate(self, platform):
        m = Module()
        bus = self.bus
        place = bus.araddr[exact_log2(self.config.bus_bytes) :]
        target = port_of(self.config, place)
        ports: Sequence[StripePort] = [StripePort(self.config) for _ in self.names]
        for k, (name, port) in enumerate(zip(self.names, ports, strict=True)):
            m.submodules[f"port{k}"] = port
            wiring.connect(m, port.axi, wiring.flipped(getattr(self, name)))
            m.d.comb += [
                port.halt.eq(self.halt),
                port.i.payload.place.eq(place),
                port.i.payload.length.eq(bus.arlen),
            ]
            with m.If(target == k):
                m.d.comb += port.i.valid.eq(bus.arvalid)
            with m.If(self.oldest == k):
                m.d.comb += port.o.ready.eq(bus.rready & ~self.halt)
        beat = Signal(ReturnLayout(self.config))
        m.d.comb += [
            bus.arready.eq(Array(port.i.ready for port in ports)[target]),
            beat.eq(Array(port.o.payload for port in ports)[self.oldest]),
            bus.rvalid.eq(Array(port.o.valid for port in ports)[self.oldest] & ~self.halt),
            bus.rdata.eq(beat.word),
            bus.rresp.eq(beat.response),
            bus.rlast.eq(beat.last),
            self.idle.eq(Cat(port.idle for port in ports).all()),
        ]
        return m
