# SPDX-FileCopyrightText: castbag contributors
# SPDX-License-Identifier: BSD-2-Clause
"""HostLink: a host reads and writes a 32-bit address space over a UART."""

from fractions import Fraction
from typing import Any

from amaranth.hdl import Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out, connect, flipped

from ..axi import AXI4LiteSignature
from ..queue import Queue
from .frames import SILENCE, WORDS_SILENCES
from .requests import Requests
from .uart import BITS, Receiver, Transmitter, phase_step

ANSWER_DEPTH = 32
"""Bytes of answers that are read ahead, so that the wire never waits for the bus."""


class HostLink(wiring.Component):
    """Every whole request on `rx` is carried out on the bus and answered on `tx`, in order.

    Serves LiteX's UART-bone and a checked transfer of blocks beside it; see `frames` for both,
    and for how the two get in step again. The line is silent while `rx` is high and no byte is
    under way in either direction.

    Latency: from the stop bit's middle to the first access about 10 cycles. Throughput: the
    line's, in both directions, while an access takes less than 40 bits on average; an answer to
    a block leaves without a gap. The bus must answer each access; a watchdog is its own affair.

    Args:
        cycles_a_bit: Clock over baud rate, any fraction from 4 to 65536.
        silence: Cycles after which a block's request that stopped coming is dropped, and after
            which the device is in step again; at least three bytes' time.
        words_silences: Silences after which a request for words is dropped.
        depth: Bytes of requests that wait while others are carried out; a power of two. What
            does not find room is lost.

    Members:
        rx, tx: The wires, high when idle.
        bus: AXI4-Lite manager of byte addresses; accesses are of whole words.
    """

    rx: Signal
    tx: Signal
    bus: Any  # AXI4LiteSignature

    def __init__(
        self,
        *,
        cycles_a_bit: Fraction | float,
        silence: int,
        words_silences: int = WORDS_SILENCES,
        depth: int = 1024,
    ):
        phase_step(cycles_a_bit)  # refuses what it cannot make
        if silence < 3 * BITS * cycles_a_bit:
            raise ValueError(f"silence = {silence}: must be at least three bytes' time")
        if words_silences < 1:
            raise ValueError(f"words_silences = {words_silences}: must be at least 1")
        self.cycles_a_bit = cycles_a_bit
        self.silence = silence
        self.words_silences = words_silences
        self.depth = depth
        super().__init__(
            {
                "rx": In(1, init=1),  # pyright: ignore[reportCallIssue]  (stubs lack it)
                "tx": Out(1, init=1),  # pyright: ignore[reportCallIssue]
                "bus": Out(AXI4LiteSignature(address_bits=32)),
            }
        )

    @classmethod
    def at(
        cls, *, clock: int, baudrate: int, silence: float = SILENCE, depth: int = 1024
    ) -> "HostLink":
        """The link at a clock in Hz; `silence` in seconds, as the host side assumes it."""
        return cls(
            cycles_a_bit=Fraction(clock, baudrate), silence=round(silence * clock), depth=depth
        )

    def elaborate(self, platform):
        m = Module()
        m.submodules.receiver = receiver = Receiver(cycles_a_bit=self.cycles_a_bit)
        m.submodules.arrived = arrived = Queue(8, depth=self.depth)
        m.submodules.requests = requests = Requests()
        m.submodules.answers = answers = Queue(8, depth=ANSWER_DEPTH)
        m.submodules.transmitter = transmitter = Transmitter(cycles_a_bit=self.cycles_a_bit)
        m.d.comb += [
            receiver.rx.eq(self.rx),
            arrived.i.valid.eq(receiver.strobe),
            arrived.i.payload.eq(receiver.byte),
            self.tx.eq(transmitter.tx),
        ]
        connect(m, arrived.o, requests.i)
        connect(m, requests.o, answers.i)
        connect(m, answers.o, transmitter.i)
        connect(m, requests.bus, flipped(self.bus))

        cycles = Signal(range(self.silence))
        silences = Signal(range(self.words_silences + 1))
        m.d.comb += [
            requests.silent.eq(silences != 0),
            requests.long_silent.eq(silences == self.words_silences),
        ]
        with m.If(receiver.busy | ~transmitter.i.ready):
            m.d.sync += [cycles.eq(0), silences.eq(0)]
        with m.Elif(cycles == self.silence - 1):
            m.d.sync += cycles.eq(0)
            with m.If(~requests.long_silent):
                m.d.sync += silences.eq(silences + 1)
        with m.Else():
            m.d.sync += cycles.eq(cycles + 1)
        return m
