# SPDX-FileCopyrightText: castbag contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Bursts of several clients: paid for with credits, issued in turn, answered in order.

What the read port and the write port have in common: all of it save the data.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from amaranth.hdl import Cat, Const, Module, Mux, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from ..config import EngineConfig
from ..layouts import RequestLayout
from ..onehot import chosen, encoded
from ..queue import Queue
from .arbiter import RoundRobin
from .bursts import PAGE_BYTES, BurstLayout, Splitter, byte_address


@dataclass(frozen=True)
class Client:
    """One user of a port.

    Attributes:
        name: Its streams are the port's members `<name>_request` and `<name>_data`.
        beats: Depth of its buffer: a power of two that holds two of the longest bursts.
        bursts: How many of its bursts may be on their way.
    """

    name: str
    beats: int
    bursts: int


def check_clients(config: EngineConfig, clients: Sequence[Client]) -> None:
    """Raise ValueError for clients that a port can't serve."""
    if not clients:
        raise ValueError("clients = (): a port has at least one")
    names = [client.name for client in clients]
    for client in clients:
        if not client.name.isidentifier() or names.count(client.name) > 1:
            raise ValueError(f"client {client.name!r}: must be an identifier, used once")
        least = 2 * config.burst_beats
        if client.beats < least or client.beats & (client.beats - 1):
            raise ValueError(
                f"client {client.name}: beats = {client.beats}:"
                f" must be a power of two of at least {least}, two bursts"
            )
        if client.bursts < 1:
            raise ValueError(f"client {client.name}: bursts = {client.bursts}: must be at least 1")


class IssuedLayout(data.StructLayout):
    """A burst and whose it is."""

    def __init__(self, config: EngineConfig, *, clients: int):
        super().__init__({"client": client_shape(clients), "burst": BurstLayout(config)})


class OriginLayout(data.StructLayout):
    """What is remembered of a burst until it is answered."""

    def __init__(self, config: EngineConfig, *, clients: int):
        place = BurstLayout(config)["place"].shape
        super().__init__({"client": client_shape(clients), "place": place})


def client_shape(clients: int) -> range:
    """Shape of a client's number; one bit at least, so that the port is there to look at."""
    return range(max(2, clients))


class BurstIssuer(wiring.Component):
    """Every burst of every client's requests, in each client's order, once it is paid for.

    A burst costs its client a credit for each beat and one of its `bursts`. What a credit stands
    for is the port's business: a free place in a read buffer, a beat that waits in a write buffer.
    A paid burst needs nothing more of anybody, so clients can't block each other: it is issued
    after at most one burst of each other client, each taking a cycle in which `o` is taken.

    One burst a cycle, from one client or from all: ::

        request -> split -> pay -> claimed -.
        request -> split -> pay -> claimed --+-> round robin -> o
        request -> split -> pay -> claimed -'                   '-> origins, until answered

    Latency: a burst is offered at `o` 3 cycles after its request is taken. Answers come in the
    order of issue; a burst's origin can be seen 2 cycles after its issue, or 4 cycles where more
    than 32 bursts can be on their way.

    Args:
        config: The engine's.
        clients: Whose bursts.
        credit_at_start: A client has a credit for each beat of its buffer from the start.
        span: No burst crosses a multiple of that many bytes, see `Splitter`.

    Members:
        requests: A stream for each client.
        credit: Pulse for each client: one credit more.
        halt: From now on nothing is issued, until a reset: an offer at `o` may be withdrawn.
        o: Bursts to issue.
        origin: The oldest burst that is not answered; taken by its answer.
        pending: For each client: something of its requests is not answered.
        idle: Whatever was issued has been answered.
    """

    def __init__(
        self,
        config: EngineConfig,
        *,
        clients: Sequence[Client],
        credit_at_start: bool,
        span: int = PAGE_BYTES,
    ):
        check_clients(config, clients)
        self.config = config
        self.span = span
        self.clients = tuple(clients)
        self.credit_at_start = credit_at_start
        count = len(clients)
        super().__init__(
            {
                "requests": In(stream.Signature(RequestLayout(config))).array(count),
                "credit": In(count),
                "halt": In(1),
                "o": Out(stream.Signature(IssuedLayout(config, clients=count))),
                "origin": Out(stream.Signature(OriginLayout(config, clients=count))),
                "pending": Out(count),
                "idle": Out(1),
            }
        )

    requests: Sequence[stream.Interface]
    credit: Signal
    halt: Signal
    o: stream.Interface
    origin: stream.Interface
    pending: Signal
    idle: Signal

    def elaborate(self, platform):
        m = Module()
        count = len(self.clients)
        m.submodules.turns = turns = RoundRobin(count)
        on_their_way = sum(client.bursts for client in self.clients)
        m.submodules.origins = origins = Queue(
            self.origin.payload.shape(), depth=max(2, 1 << (on_their_way - 1).bit_length())
        )
        # What takes them is not heard of by the RAM in the cycle.
        m.submodules.oldest = oldest = Queue(self.origin.payload.shape(), depth=2)
        # From afar, so they count a cycle later.
        answering, answered = Signal(count), Signal(count)
        credited = Signal(count)
        m.d.sync += [answered.eq(answering), credited.eq(self.credit)]
        claims = []
        for k, client in enumerate(self.clients):
            splitter = Splitter(self.config, span=self.span)
            m.submodules[f"split_{client.name}"] = splitter
            wiring.connect(m, wiring.flipped(self.requests[k]), splitter.i)
            burst = splitter.o.payload

            claimed = Queue(BurstLayout(self.config), depth=2)
            m.submodules[f"claimed_{client.name}"] = claimed
            claims.append(claimed.o.payload)
            initial = client.beats if self.credit_at_start else 0
            credit = Signal(range(client.beats + 1), init=initial, name=f"credit_{client.name}")
            bursts = range(client.bursts + 1)
            allowed = Signal(bursts, init=client.bursts, name=f"allowed_{client.name}")
            affordable = (credit >= burst.beats) & (allowed != 0)
            claiming = Signal(name=f"claiming_{client.name}")
            unpaid = Signal.like(credit, init=0)
            m.d.comb += unpaid.eq(burst.beats - 1)
            # Both sums, for what chooses between them comes late.
            kept, paid = (Signal.like(credit, attrs={"keep": True}, init=0) for _ in range(2))
            m.d.comb += [
                splitter.o.ready.eq(affordable & claimed.i.ready),
                claiming.eq(splitter.o.valid & splitter.o.ready),
                claimed.i.valid.eq(splitter.o.valid & affordable),
                claimed.i.payload.eq(burst),
                turns.valid[k].eq(claimed.o.valid),
                claimed.o.ready.eq(turns.grant[k] & turns.taken),
                self.pending[k].eq(splitter.busy | (allowed != client.bursts)),
                kept.eq(credit + credited[k]),
                # In one sum, with a carry in: -beats is ~(beats - 1).
                paid.eq((Cat(1, credit) + Cat(credited[k], ~unpaid))[1:]),
            ]
            m.d.sync += [
                credit.eq(Mux(claiming, paid, kept)),
                allowed.eq(allowed + answered[k] - claiming),
            ]

        # Origins never fill up: each client's share is bounded by its `bursts`. They are noted a
        # cycle later; what they are needed for is further away.
        origin = self.origin.payload
        noting, noted = Signal(), Signal.like(origin, reset_less=True)
        m.d.sync += [
            noting.eq(turns.taken),
            noted.client.eq(self.o.payload.client),
            noted.place.eq(self.o.payload.burst.place),
        ]
        m.d.comb += [
            self.o.valid.eq((turns.valid != 0) & ~self.halt),
            self.o.payload.burst.eq(chosen(turns.grant, claims)),
            self.o.payload.client.eq(encoded(turns.grant)),
            turns.taken.eq(self.o.valid & self.o.ready),
            origins.i.valid.eq(noting),
            origins.i.payload.eq(noted),
            self.idle.eq((origins.level == 0) & ~oldest.o.valid & ~noting),
        ]
        wiring.connect(m, origins.o, oldest.i)
        wiring.connect(m, oldest.o, wiring.flipped(self.origin))
        with m.If(self.origin.valid & self.origin.ready):
            m.d.comb += answering.eq(Const(1) << origin.client)
        return m


class FirstError(wiring.Component):
    """Remembers the first burst that was answered by an error.

    Members:
        en: A response is taken in this cycle.
        response: It, as on the bus; SLVERR and DECERR are errors.
        origin: The burst that it answers.
        error: An error was seen; the three below belong to the first.
        error_response, error_address, error_client: Response, byte address of the burst's first
            beat, and number of its client.
    """

    def __init__(self, config: EngineConfig, *, clients: int):
        self.config = config
        super().__init__(
            {
                "en": In(1),
                "response": In(2),
                "origin": In(OriginLayout(config, clients=clients)),
                **error_members(config, clients=clients),
            }
        )

    en: Signal
    response: Signal
    origin: data.View
    error: Signal
    error_response: Signal
    error_address: Signal
    error_client: Signal

    def elaborate(self, platform):
        m = Module()
        with m.If(self.en & self.response[1] & ~self.error):
            m.d.sync += [
                self.error.eq(1),
                self.error_response.eq(self.response),
                self.error_address.eq(byte_address(self.config, self.origin.place)),
                self.error_client.eq(self.origin.client),
            ]
        return m

    def report(self, m: Module, port: wiring.Component) -> None:
        """Drive the error members of `port`."""
        for name in ("error", "error_response", "error_address", "error_client"):
            m.d.comb += getattr(port, name).eq(getattr(self, name))


def error_members(config: EngineConfig, *, clients: int) -> dict:
    """The members by which a port tells of its first error, see `FirstError`."""
    return {
        "error": Out(1),
        "error_response": Out(2),
        "error_address": Out(config.address_bits),
        "error_client": Out(client_shape(clients)),
    }
