# SPDX-FileCopyrightText: castbag contributors
# SPDX-License-Identifier: BSD-2-Clause
"""MemoryWindow: memory as an AXI4-Lite subordinate, for a host that reads and writes words."""

from typing import Any

from amaranth.hdl import Cat, Const, Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import exact_log2

from ..axi import INCR, AXI4LiteSignature, AXI4ReadSignature, AXI4WriteSignature

WORD_BYTES = 4


class MemoryWindow(wiring.Component):
    """Each access of a 32-bit word is one of a memory word, of which it reads or writes a part.

    Combinational: address, data and answers pass in the cycle; data of a write wait until its
    address is there. One access each way at a time: the manager must await an answer before it
    offers the next address, as `Decoder` does.

    Args:
        size: Bytes of memory that are seen, a power of two.
        address_bits: Of memory's port.
        data_bits: Of memory's port, a power of two of at least 64.

    Members:
        i: AXI4-Lite, its addresses memory's own.
        read, write: Memory's.
    """

    i: Any  # AXI4LiteSignature
    read: Any  # AXI4ReadSignature
    write: Any  # AXI4WriteSignature

    def __init__(self, *, size: int, address_bits: int, data_bits: int):
        if data_bits < 64 or data_bits & (data_bits - 1):
            raise ValueError(f"data_bits = {data_bits}: must be a power of two of at least 64")
        if size & (size - 1) or not data_bits // 8 < size <= 1 << address_bits:
            raise ValueError(
                f"size = {size}: must be a power of two, more than a memory word and at most"
                f" 2**{address_bits}"
            )
        self._data_bits = data_bits
        bus = {"address_bits": address_bits, "data_bits": data_bits}
        super().__init__(
            {
                "i": In(AXI4LiteSignature(address_bits=exact_log2(size))),
                "read": Out(AXI4ReadSignature(**bus)),
                "write": Out(AXI4WriteSignature(**bus)),
            }
        )

    def elaborate(self, platform):
        m = Module()
        host, read, write = self.i, self.read, self.write
        parts = self._data_bits // 32
        low = exact_log2(self._data_bits // 8)
        part = Signal(range(parts))  # of the word that is read
        with m.If(read.arvalid & read.arready):
            m.d.sync += part.eq(host.araddr[2:low])
        m.d.comb += [
            read.arvalid.eq(host.arvalid),
            read.araddr.eq(Cat(Const(0, low), host.araddr[low:])),
            read.arsize.eq(low),
            read.arburst.eq(INCR),
            host.arready.eq(read.arready),
            host.rvalid.eq(read.rvalid),
            host.rdata.eq(read.rdata.word_select(part, 32)),
            host.rresp.eq(read.rresp),
            read.rready.eq(host.rready),
        ]
        # The strobes need the address, which may pass before the data.
        addressed = Signal()  # it was there since the last answer
        last = Signal(range(parts))
        written = Signal(range(parts))
        known = host.awvalid | addressed
        with m.If(host.awvalid):
            m.d.comb += written.eq(host.awaddr[2:low])
            m.d.sync += [last.eq(written), addressed.eq(1)]
        with m.Else():
            m.d.comb += written.eq(last)
        with m.If(write.bvalid & write.bready):
            m.d.sync += addressed.eq(0)
        m.d.comb += [
            write.awvalid.eq(host.awvalid),
            write.awaddr.eq(Cat(Const(0, low), host.awaddr[low:])),
            write.awsize.eq(low),
            write.awburst.eq(INCR),
            host.awready.eq(write.awready),
            write.wvalid.eq(host.wvalid & known),
            write.wdata.eq(host.wdata.replicate(parts)),
            write.wstrb.word_select(written, WORD_BYTES).eq(host.wstrb),
            write.wlast.eq(1),
            host.wready.eq(write.wready & known),
            host.bvalid.eq(write.bvalid),
            host.bresp.eq(write.bresp),
            write.bready.eq(host.bready),
        ]
        return m
