# SPDX-FileCopyrightText: castbag contributors
# SPDX-License-Identifier: BSD-2-Clause
"""WritePort: all writes of the engine, over one AXI4 write port."""

from dataclasses import dataclass
from typing import Any, NamedTuple

from amaranth.hdl import Array, Const, Module, Mux, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import exact_log2

from ..axi import INCR, AXI4WriteSignature
from ..config import EngineConfig
from ..layouts import RequestLayout, WriteBeatLayout
from ..queue import Queue
from .bursts import NORMAL, BurstLayout, byte_address
from .issuer import BurstIssuer, Client, FirstError, IssuedLayout, check_clients, error_members

RUN_AHEAD = 4
"""Bursts by which channels AW and W may be apart."""


@dataclass(frozen=True)
class WriteClient(Client):
    """One writer, with a buffer of its own for what it wants written."""


class WriteStreams(NamedTuple):
    """The two ends of a client."""

    request: stream.Interface
    data: stream.Interface


class WritePort(wiring.Component):
    """Every beat of each client goes to where its request says, in order; all are answered.

    A client's data are the beats of its requests one after the other; they may come before or
    after their request. A burst is issued only once all its beats are in the client's buffer. So
    W never pauses within a burst, and a client that brings no data keeps nobody else waiting: a
    client's complete burst waits for at most one burst of each other client, and for what has been
    issued before, at most `RUN_AHEAD + 2` bursts on each of AW and W.

    AW and W go ahead by themselves, up to `RUN_AHEAD` bursts apart: the memory may take the
    address first, the data first, or both at once. All bursts are INCR, of whole bus words, with
    id 0, so that answers come in order; at most `burst_beats` beats and never across 4 KiB.

    Throughput: a burst a cycle on AW, a beat a cycle on W. A client alone, with bursts of `n`
    beats, keeps a memory busy that answers `t` cycles after a burst's last beat was taken, as long
    as `t <= (bursts - 1) * n - 5` and `beats >= n + 4`.
    Latency: a burst's address is on AW 4 cycles after its request was taken or 4 cycles after its
    last beat was, whichever is later; its first beat is on W two cycles later.

    Errors: the first SLVERR or DECERR is kept, and nothing stops: whoever owns the port halts it,
    waits for `idle` and resets it.

    Args:
        config: The engine's.
        clients: Their names, buffers and limits, see `Client`.

    Members:
        axi: The bus.
        <name>_request: Stream in of requests of 1 to 256 beats.
        <name>_data: Stream in of their beats.
        halt: From the cycle it rises, until a reset, nothing more is written: no burst is issued
            any more, and of those that have been, at most `RUN_AHEAD + 2`, the beats go out with
            strobe 0 (one that stands on W stays as it is).
        idle: Whatever was issued has been answered.
        pending: For each client: 1 while a request that was taken from it is not answered.
        beat: For each client: pulse, a beat of its was taken on W.
        error, error_response, error_address, error_client: See `FirstError`.
    """

    def __init__(self, config: EngineConfig, *, clients: tuple[WriteClient, ...]):
        check_clients(config, clients)
        self.config = config
        self.clients = tuple(clients)
        bus = AXI4WriteSignature(address_bits=config.address_bits, data_bits=config.bus_bits)
        members = {"axi": Out(bus)}
        for client in clients:
            members[f"{client.name}_request"] = In(stream.Signature(RequestLayout(config)))
            members[f"{client.name}_data"] = In(stream.Signature(WriteBeatLayout(config)))
        count = len(clients)
        members |= {"halt": In(1), "idle": Out(1), "pending": Out(count), "beat": Out(count)}
        super().__init__(members | error_members(config, clients=count))

    axi: Any  # AXI4WriteSignature
    halt: Signal
    idle: Signal
    pending: Signal
    beat: Signal
    error: Signal
    error_response: Signal
    error_address: Signal
    error_client: Signal

    def client(self, name: str) -> WriteStreams:
        """The streams of the client of that name."""
        return WriteStreams(getattr(self, f"{name}_request"), getattr(self, f"{name}_data"))

    def elaborate(self, platform):
        m = Module()
        count = len(self.clients)
        m.submodules.issuer = issuer = BurstIssuer(
            self.config, clients=self.clients, credit_at_start=False
        )
        m.submodules.first_error = first_error = FirstError(self.config, clients=count)
        first_error.report(m, self)

        addresses = Queue(BurstLayout(self.config), depth=RUN_AHEAD)
        bursts = Queue(IssuedLayout(self.config, clients=count), depth=RUN_AHEAD)
        m.submodules.addresses, m.submodules.bursts = addresses, bursts
        issued = issuer.o
        m.d.comb += [
            issuer.halt.eq(self.halt),
            addresses.i.valid.eq(issued.valid & bursts.i.ready),
            addresses.i.payload.eq(issued.payload.burst),
            bursts.i.valid.eq(issued.valid & addresses.i.ready),
            bursts.i.payload.eq(issued.payload),
            issued.ready.eq(addresses.i.ready & bursts.i.ready),
        ]

        buffers = []
        for k, client in enumerate(self.clients):
            request, words = self.client(client.name)
            wiring.connect(m, wiring.flipped(request), issuer.requests[k])
            buffer = Queue(WriteBeatLayout(self.config), depth=client.beats)
            m.submodules[f"buffer_{client.name}"] = buffer
            buffers.append(buffer)
            wiring.connect(m, wiring.flipped(words), buffer.i)
            m.d.comb += issuer.credit[k].eq(words.valid & words.ready)

        self._send_addresses(m, addresses.o)
        self._send_data(m, bursts.o, [buffer.o for buffer in buffers])

        # A burst's origin is there before its answer, unless the memory takes less than 4 cycles.
        axi = self.axi
        answering = axi.bvalid & axi.bready
        m.d.comb += [
            axi.bready.eq(issuer.origin.valid),
            issuer.origin.ready.eq(answering),
            first_error.en.eq(answering),
            first_error.response.eq(axi.bresp),
            first_error.origin.eq(issuer.origin.payload),
            self.idle.eq(issuer.idle),
            self.pending.eq(issuer.pending),
        ]
        return m

    def _send_addresses(self, m: Module, bursts: stream.Interface) -> None:
        axi = self.axi
        m.d.comb += [
            bursts.ready.eq(axi.awready),
            axi.awvalid.eq(bursts.valid),
            axi.awaddr.eq(byte_address(self.config, bursts.payload.place)),
            axi.awlen.eq(bursts.payload.beats - 1),
            axi.awsize.eq(exact_log2(self.config.bus_bytes)),
            axi.awburst.eq(INCR),
            axi.awcache.eq(NORMAL),
        ]

    def _send_data(self, m: Module, bursts: stream.Interface, buffers: list) -> None:
        """The beats of the bursts, in their order, through a queue of two to channel W.

        Nothing here waits for data. A burst comes at the earliest 4 cycles after its last beat
        entered the buffer, whose latency is at most 3, and which then gives a beat every cycle.
        """
        axi = self.axi
        carrying = Signal()  # a burst is being sent
        client = Signal.like(bursts.payload.client)  # whose it is
        mine = Signal(len(buffers))  # the same, a bit a client
        left = Signal(range(self.config.burst_beats))  # beats of it after the next one
        queued = {"data": axi.wdata.shape(), "strobe": axi.wstrb.shape(), "last": 1}
        m.submodules.beats = beats = Queue(
            data.StructLayout(queued | {"client": client.shape()}), depth=2
        )
        free = beats.i.ready
        last = left == 0
        m.d.comb += bursts.ready.eq(~carrying | (free & last))
        with m.If(bursts.ready):
            m.d.sync += [
                carrying.eq(bursts.valid),
                client.eq(bursts.payload.client),
                mine.eq(Const(1) << bursts.payload.client),
                left.eq(bursts.payload.burst.beats - 1),
            ]
        with m.Elif(free):
            m.d.sync += left.eq(left - 1)

        for k, buffer in enumerate(buffers):
            m.d.comb += buffer.ready.eq(carrying & free & mine[k])
        given, sent = beats.i.payload, beats.o.payload
        beat = Signal(WriteBeatLayout(self.config))
        m.d.comb += [
            beat.eq(Array(buffer.payload for buffer in buffers)[client]),
            beats.i.valid.eq(carrying),
            given.data.eq(beat.data),
            given.strobe.eq(Mux(self.halt, 0, beat.strobe)),
            given.last.eq(last),
            given.client.eq(client),
            axi.wvalid.eq(beats.o.valid),
            axi.wdata.eq(sent.data),
            axi.wstrb.eq(sent.strobe),
            axi.wlast.eq(sent.last),
            beats.o.ready.eq(axi.wready),
        ]
        m.d.sync += self.beat.eq(0)
        with m.If(axi.wvalid & axi.wready):
            m.d.sync += self.beat.eq(Const(1) << sent.client)
