# SPDX-FileCopyrightText: castbag contributors
# SPDX-License-Identifier: BSD-2-Clause
"""AXI4 and AXI4-Lite as bus signatures, with the standard's own signal names.

Source: Arm IHI 0022, AMBA AXI and ACE protocol specification.
"""

from amaranth.lib.wiring import In, Out, Signature

INCR = 0b01
"""Burst type: the address rises by a beat's bytes each beat."""

OKAY, EXOKAY, SLVERR, DECERR = range(4)
"""Responses."""


def numbered(name: str, count: int) -> tuple[str, ...]:
    """Names of that many buses of a kind: `name` if there is one, else also `name1`, `name2`..."""
    return (name, *(f"{name}{k}" for k in range(1, count)))


class AXI4ReadSignature(Signature):
    """The read half of an AXI4 manager: channels AR and R."""

    def __init__(self, *, address_bits: int, data_bits: int):
        super().__init__(
            {
                "arid": Out(1),
                "araddr": Out(address_bits),
                "arlen": Out(8),
                "arsize": Out(3),
                "arburst": Out(2),
                "arlock": Out(1),
                "arcache": Out(4),
                "arprot": Out(3),
                "arqos": Out(4),
                "arvalid": Out(1),
                "arready": In(1),
                "rid": In(1),
                "rdata": In(data_bits),
                "rresp": In(2),
                "rlast": In(1),
                "rvalid": In(1),
                "rready": Out(1),
            }
        )


class AXI4WriteSignature(Signature):
    """The write half of an AXI4 manager: channels AW, W and B."""

    def __init__(self, *, address_bits: int, data_bits: int):
        super().__init__(
            {
                "awid": Out(1),
                "awaddr": Out(address_bits),
                "awlen": Out(8),
                "awsize": Out(3),
                "awburst": Out(2),
                "awlock": Out(1),
                "awcache": Out(4),
                "awprot": Out(3),
                "awqos": Out(4),
                "awvalid": Out(1),
                "awready": In(1),
                "wdata": Out(data_bits),
                "wstrb": Out(data_bits // 8),
                "wlast": Out(1),
                "wvalid": Out(1),
                "wready": In(1),
                "bid": In(1),
                "bresp": In(2),
                "bvalid": In(1),
                "bready": Out(1),
            }
        )


class AXI4LiteSignature(Signature):
    """An AXI4-Lite manager with 32-bit data; a subordinate has it flipped (`In`)."""

    def __init__(self, *, address_bits: int):
        super().__init__(
            {
                "awaddr": Out(address_bits),
                "awprot": Out(3),
                "awvalid": Out(1),
                "awready": In(1),
                "wdata": Out(32),
                "wstrb": Out(4),
                "wvalid": Out(1),
                "wready": In(1),
                "bresp": In(2),
                "bvalid": In(1),
                "bready": Out(1),
                "araddr": Out(address_bits),
                "arprot": Out(3),
                "arvalid": Out(1),
                "arready": In(1),
                "rdata": In(32),
                "rresp": In(2),
                "rvalid": In(1),
                "rready": Out(1),
            }
        )
