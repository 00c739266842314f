# SPDX-FileCopyrightText: castbag contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Decoder: one AXI4-Lite manager's accesses, each to the subordinate that its address names."""

from collections.abc import Iterator, Mapping
from typing import Any

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from ..axi import DECERR, SLVERR, AXI4LiteSignature


class Decoder(wiring.Component):
    """Each access goes to the region that it lies in; one that lies in none is answered DECERR.

    One access at a time, reads before writes; an access is passed on two cycles after it is taken,
    its answer the one after it came. While `abandon` is high a waiting access is answered SLVERR:
    all subordinates are being reset, and will not answer.

    Args:
        regions: By name, (base, bytes) of each: bytes is a power of two, base a multiple of it,
            no two overlap, and all lie within the manager's addresses.
        address_bits: Of the manager's addresses.

    Members:
        i: The manager's.
        abandon: In.
        (name): To each subordinate, with the address from its region's base on.
    """

    i: Any  # AXI4LiteSignature
    abandon: Signal

    def __init__(self, *, regions: Mapping[str, tuple[int, int]], address_bits: int = 32):
        for name, (base, size) in regions.items():
            if size < 8 or size & (size - 1) or base % size:
                raise ValueError(
                    f"region {name}: {size:#x} bytes at {base:#x}: must be a power of two of at"
                    " least 8 bytes, on a multiple of it"
                )
            if base + size > 1 << address_bits:
                raise ValueError(
                    f"region {name}: {size:#x} bytes at {base:#x}: beyond {address_bits} bits of"
                    " address"
                )
        spans = sorted((base, base + size, name) for name, (base, size) in regions.items())
        for (_, end, first), (start, _, second) in zip(spans, spans[1:], strict=False):
            if end > start:
                raise ValueError(f"regions {first} and {second} overlap at {start:#x}")
        self._regions = dict(regions)
        self._address_bits = address_bits
        super().__init__(
            {
                "i": In(AXI4LiteSignature(address_bits=address_bits)),
                "abandon": In(1),
                **{
                    name: Out(AXI4LiteSignature(address_bits=(size - 1).bit_length()))
                    for name, (_, size) in regions.items()
                },
            }
        )

    def elaborate(self, platform):
        m = Module()
        bus = self.i
        address = Signal(self._address_bits)
        word, strobe, answer = Signal(32), Signal(4), Signal(2)
        reading = Signal()
        # Each subordinate, and whether it is the one.
        ports = [(getattr(self, name), Signal(name=f"{name}_chosen")) for name in self._regions]
        m.d.comb += [
            bus.rdata.eq(word),
            bus.rresp.eq(answer),
            bus.bresp.eq(answer),
        ]
        # What is offered comes straight from flip-flops.
        for port, _ in ports:
            for valid, ready in (
                (port.arvalid, port.arready),
                (port.awvalid, port.awready),
                (port.wvalid, port.wready),
            ):
                with m.If(ready | self.abandon):
                    m.d.sync += valid.eq(0)
            for ready, valid in ((port.rready, port.rvalid), (port.bready, port.bvalid)):
                with m.If(valid | self.abandon):
                    m.d.sync += ready.eq(0)
        with m.FSM():
            with m.State("IDLE"):
                m.d.sync += [
                    answer.eq(DECERR),
                    word.eq(bus.wdata),
                    strobe.eq(bus.wstrb),
                    address.eq(Mux(bus.arvalid, bus.araddr, bus.awaddr)),
                    reading.eq(bus.arvalid),
                ]
                with m.If(bus.arvalid):
                    m.d.comb += bus.arready.eq(1)
                    m.next = "CHOOSE"
                with m.Elif(bus.awvalid & bus.wvalid):
                    m.d.comb += [bus.awready.eq(1), bus.wready.eq(1)]
                    m.next = "CHOOSE"
            with m.State("CHOOSE"):
                for (base, size), (port, chosen) in zip(self._regions.values(), ports, strict=True):
                    low = size.bit_length() - 1
                    meant = address[low:] == base >> low
                    m.d.sync += [
                        chosen.eq(meant),
                        port.arvalid.eq(reading & meant),
                        port.rready.eq(reading & meant),
                        port.awvalid.eq(~reading & meant),
                        port.wvalid.eq(~reading & meant),
                        port.bready.eq(~reading & meant),
                    ]
                m.next = "WRITE"
                with m.If(reading):
                    m.next = "READ"
            with m.State("READ"):
                m.next = "READ ANSWER"  # unless there is somebody to wait for
                for port in self._chosen(m, ports):
                    m.d.sync += [answer.eq(port.rresp), word.eq(port.rdata)]
                    with m.If(~port.rvalid):
                        m.next = "READ"
                self._abandoned(m, answer, "READ ANSWER")
            with m.State("READ ANSWER"):
                m.d.comb += bus.rvalid.eq(1)
                with m.If(bus.rready):
                    m.next = "IDLE"
            with m.State("WRITE"):
                m.next = "WRITE ANSWER"
                for port in self._chosen(m, ports):
                    m.d.sync += answer.eq(port.bresp)
                    with m.If(~port.bvalid):
                        m.next = "WRITE"
                self._abandoned(m, answer, "WRITE ANSWER")
            with m.State("WRITE ANSWER"):
                m.d.comb += bus.bvalid.eq(1)
                with m.If(bus.bready):
                    m.next = "IDLE"
        for port, _ in ports:
            m.d.comb += [
                port.araddr.eq(address),
                port.awaddr.eq(address),
                port.wdata.eq(word),
                port.wstrb.eq(strobe),
            ]
        return m

    def _chosen(self, m: Module, ports: list[tuple[Any, Signal]]) -> Iterator[Any]:
        """Each subordinate's port, inside a condition that it is the one."""
        for port, chosen in ports:
            with m.If(chosen):
                yield port

    def _abandoned(self, m: Module, answer: Signal, state: str) -> None:
        with m.If(self.abandon):
            m.d.sync += answer.eq(SLVERR)
            m.next = state
