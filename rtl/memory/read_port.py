# SPDX-FileCopyrightText: castbag contributors
# SPDX-License-Identifier: BSD-2-Clause
"""ReadPort: all reads of the engine, over one AXI4 read port or several."""

from dataclasses import dataclass
from typing import Any, NamedTuple

from amaranth.hdl import Const, Module, Signal, Value
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from ..axi import AXI4ReadSignature, numbered
from ..config import EngineConfig
from ..layouts import RequestLayout
from ..queue import Queue
from .bursts import PAGE_BYTES, BurstLayout, byte_address, drive_constants
from .issuer import BurstIssuer, Client, FirstError, check_clients, error_members
from .stripes import ReadStripes, port_of


@dataclass(frozen=True)
class ReadClient(Client):
    """One reader, with a buffer of its own for what it has asked for."""


class ReadStreams(NamedTuple):
    """The two ends of a client."""

    request: stream.Interface
    data: stream.Interface


class ReadPort(wiring.Component):
    """For every request its beats, in order, each client's for itself.

    A burst is issued only once the client's buffer has room for all of it. So whatever comes is
    taken at once, RREADY never waits for a client, and a client that does not take its data keeps
    nobody else waiting. A client's burst waits for room, then for at most one burst of each other
    client on AR; its data come behind those of at most `sum(bursts)` bursts of the others, which
    is what may be on its way for them.

    All bursts are INCR, of whole bus words, with id 0, so that data return in order; at most
    `burst_beats` beats and never across 4 KiB. With several ports, none leaves its stripe, each
    goes to the port that its address says, and beats are given in the order of issue, see
    `ReadStripes`: a port that is slow delays all clients, but none of the other ports' beats has
    to wait on its bus.

    Throughput: a burst a cycle and a beat a cycle. A client alone, with bursts of `n` beats, keeps
    a memory busy whose first beat is on R `t` cycles after the burst was taken from AR, as long as
    `t <= beats - n - 7` and `t <= (bursts - 1) * n - 3`. Several ports take 5 cycles off both
    bounds, or 3 if `vector_beats` is at most 32, and each has a bound of its own, see `StripePort`;
    slow ones add up, see `ReadStripes`.
    Latency: a request taken in cycle 0 is on AR in cycle 4; a beat taken from R in cycle 0 is at
    its client in cycle 2, or 4 if `beats` is more than 32. With several ports 2 cycles more to AR,
    and 3 from R (1 if `vector_beats` is at most 32).
    Bound: each client has at most `bursts` bursts and `beats` beats on their way; of several
    ports, each at most `vector_beats` beats.

    Errors: the first SLVERR or DECERR is kept, and nothing stops: whoever owns the port halts it,
    waits for `idle` and resets it.

    Args:
        config: The engine's: `read_ports` and `read_stripe` say how many ports there are.
        clients: Their names, buffers and limits, see `Client`.

    Members:
        axi: The bus; of several ports also axi1, axi2, ...
        <name>_request: Stream in of requests of 1 to 256 beats.
        <name>_data: Stream out of bus words.
        halt: From the cycle it rises, until a reset, no burst is issued (one that stands on AR
            stays until it is taken), and what returns is taken and dropped.
        idle: Whatever was issued has returned.
        beat: For each client: pulse, a beat of its was taken from R; of several ports, in its turn.
        error, error_response, error_address, error_client: See `FirstError`.
    """

    def __init__(self, config: EngineConfig, *, clients: tuple[ReadClient, ...]):
        check_clients(config, clients)
        self.config = config
        self.clients = tuple(clients)
        bus = AXI4ReadSignature(address_bits=config.address_bits, data_bits=config.bus_bits)
        members = {name: Out(bus) for name in numbered("axi", config.read_ports)}
        for client in clients:
            members[f"{client.name}_request"] = In(stream.Signature(RequestLayout(config)))
            members[f"{client.name}_data"] = Out(stream.Signature(config.bus_bits))
        members |= {"halt": In(1), "idle": Out(1), "beat": Out(len(clients))}
        super().__init__(members | error_members(config, clients=len(clients)))

    axi: Any  # AXI4ReadSignature
    halt: Signal
    idle: Signal
    beat: Signal
    error: Signal
    error_response: Signal
    error_address: Signal
    error_client: Signal

    def client(self, name: str) -> ReadStreams:
        """The streams of the client of that name."""
        return ReadStreams(getattr(self, f"{name}_request"), getattr(self, f"{name}_data"))

    def elaborate(self, platform):
        m = Module()
        several = self.config.read_ports > 1
        m.submodules.issuer = issuer = BurstIssuer(
            self.config,
            clients=self.clients,
            credit_at_start=True,
            span=self.config.read_stripe if several else PAGE_BYTES,
        )
        m.submodules.first_error = first_error = FirstError(self.config, clients=len(self.clients))
        first_error.report(m, self)
        m.d.comb += issuer.halt.eq(self.halt)

        axi, returned_all = self._stripes(m, issuer) if several else (self.axi, issuer.idle)
        self._issue(m, issuer, axi)

        # A burst's origin is there before its data, unless the memory takes less than 4 cycles.
        origin = issuer.origin.payload
        taking = Signal()
        m.d.comb += [
            axi.rready.eq(issuer.origin.valid),
            taking.eq(axi.rvalid & axi.rready),
            issuer.origin.ready.eq(taking & axi.rlast),
            first_error.en.eq(taking),
            first_error.response.eq(axi.rresp),
            first_error.origin.eq(origin),
        ]
        returned = Signal(self.config.bus_bits, reset_less=True)
        m.d.sync += [returned.eq(axi.rdata), self.beat.eq(0)]
        with m.If(taking):
            m.d.sync += self.beat.eq(Const(1) << origin.client)
        m.d.comb += self.idle.eq(returned_all & ~self.beat.any())

        for k, client in enumerate(self.clients):
            request, words = self.client(client.name)
            wiring.connect(m, wiring.flipped(request), issuer.requests[k])
            buffer = Queue(self.config.bus_bits, depth=client.beats)
            m.submodules[f"buffer_{client.name}"] = buffer
            m.d.comb += [
                buffer.i.valid.eq(self.beat[k] & ~self.halt),
                buffer.i.payload.eq(returned),
                issuer.credit[k].eq(words.valid & words.ready),
            ]
            wiring.connect(m, buffer.o, wiring.flipped(words))
        return m

    def _stripes(self, m: Module, issuer: BurstIssuer) -> tuple[Any, Value]:
        """The one bus that several ports make, and whether all that they issued has returned."""
        m.submodules.stripes = stripes = ReadStripes(self.config)
        for name in stripes.names:
            wiring.connect(m, getattr(stripes, name), wiring.flipped(getattr(self, name)))
        m.d.comb += [
            stripes.halt.eq(self.halt),
            stripes.oldest.eq(port_of(self.config, issuer.origin.payload.place)),
        ]
        # Once halted, bursts that wait to be issued are forgotten.
        return stripes.bus, issuer.idle | (self.halt & stripes.idle)

    def _issue(self, m: Module, issuer: BurstIssuer, axi) -> None:
        """A queue between the issuer and channel AR: nobody waits for ARREADY in the cycle."""
        drive_constants(m, self.config, axi)
        m.submodules.bursts = bursts = Queue(BurstLayout(self.config), depth=2)
        m.d.comb += [
            issuer.o.ready.eq(bursts.i.ready),
            bursts.i.valid.eq(issuer.o.valid),
            bursts.i.payload.eq(issuer.o.payload.burst),
            axi.arvalid.eq(bursts.o.valid),
            axi.araddr.eq(byte_address(self.config, bursts.o.payload.place)),
            axi.arlen.eq(bursts.o.payload.beats - 1),
            bursts.o.ready.eq(axi.arready),
        ]
