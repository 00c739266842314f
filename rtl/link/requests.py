# SPDX-FileCopyrightText: castbag contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Requests: takes the host's bytes, does on the bus what they ask for, answers."""

from typing import Any

from amaranth.hdl import Cat, Module, Mux, Signal, Value
from amaranth.lib import enum, stream, wiring
from amaranth.lib.crc.catalog import CRC32_ISO_HDLC
from amaranth.lib.wiring import In, Out

from ..axi import AXI4LiteSignature
from .frames import (
    ANSWER,
    BLOCK_READ,
    BLOCK_WRITE,
    BUS_ERROR,
    DAMAGED,
    OK,
    WORDS_READ,
    WORDS_READ_FIXED,
    WORDS_WRITE,
    WORDS_WRITE_FIXED,
)


class Part(enum.Enum, shape=2):
    """What of an answer is being sent."""

    HEAD = 0  # marker and sequence number
    WORD = 1
    TAIL = 2  # status and place
    CRC = 3


class Requests(wiring.Component):
    """Every request is carried out and answered as `frames` says, in order, one at a time.

    One access of a whole word is on the bus at a time; the answer's bytes follow its data at one
    a cycle. From the last byte that an access needs to the access: a write 1 cycle, a read of
    words 2, a block's first read 6. A byte is taken each cycle except during accesses and answers,
    and for 1 more cycle a word.

    An access that is not answered stops everything: the bus must answer, an error at least.

    Members:
        i: Stream of bytes from the host.
        o: Stream of bytes to the host.
        silent: The line has been silent for a silence, and still is.
        long_silent: For as many as make requests for words welcome.
        bus: AXI4-Lite manager.
    """

    i: stream.Interface
    o: stream.Interface
    silent: Signal
    long_silent: Signal
    bus: Any  # AXI4LiteSignature

    def __init__(self):
        super().__init__(
            {
                "i": In(stream.Signature(8)),
                "o": Out(stream.Signature(8)),
                "silent": In(1),
                "long_silent": In(1),
                "bus": Out(AXI4LiteSignature(address_bits=32)),
            }
        )
        # The request.
        self.block = Signal()  # it is for a block, else for words
        self.writing = Signal()
        self.rising = Signal()  # each word is beside the last, else at the same place
        self.sequence = Signal(8)
        self.left = Signal(16)  # words
        self.place = Signal(30)  # address of the next word / 4
        # How it goes.
        self.word = Signal(32)  # bytes come in at its top, leave from its bottom
        self.count = Signal(2)  # bytes of whatever is being taken or sent
        self.failed = Signal()  # the bus answered a word of this block with an error
        self.damaged = Signal()
        self.part = Signal(Part)
        # How far the line is trusted.
        self.blocks_only = Signal()
        self.broken = Signal()  # no whole frame has come since the last that was not

    def elaborate(self, platform):
        m = Module()
        m.submodules.crc = crc = CRC32_ISO_HDLC(8).create()
        taken, sent = Signal(), Signal()
        m.d.comb += [
            taken.eq(self.i.valid & self.i.ready),
            sent.eq(self.o.valid & self.o.ready),
            self.o.payload.eq(self.word[:8]),
            crc.data.eq(Mux(self.o.valid, self.o.payload, self.i.payload)),
            crc.valid.eq(taken | sent),
        ]
        with m.If(taken | sent):
            m.d.sync += self.count.eq(self.count + 1)
        with m.FSM():
            self._header(m, crc)
            self._words(m)
            self._access(m)
            self._check(m, crc)
            self._answer(m, crc)
        return m

    def _take(self, m: Module) -> Value:
        """Take bytes; a request that stops coming is dropped. Returns: one is taken."""
        m.d.comb += self.i.ready.eq(1)
        with m.If(~self.i.valid & Mux(self.block, self.silent, self.long_silent)):
            m.next = "await a request"
        return self.i.valid

    def _take_last(self, m: Module) -> Value:
        """Take bytes. Returns: the fourth is taken."""
        return self._take(m) & (self.count == 3)

    def _header(self, m: Module, crc) -> None:
        byte = self.i.payload
        with m.State("await a request"):
            m.d.comb += [self.i.ready.eq(1), crc.start.eq(1)]
            m.d.sync += [
                self.count.eq(self.i.valid),
                self.failed.eq(0),
                self.damaged.eq(0),
            ]
            with m.If(self.i.valid):
                m.d.sync += self.broken.eq(1)
                m.next = "discard until silence"
                with m.Switch(byte):
                    with m.Case(BLOCK_WRITE, BLOCK_READ):
                        m.d.sync += [
                            self.block.eq(1),
                            self.rising.eq(1),
                            self.writing.eq(byte == BLOCK_WRITE),
                        ]
                        m.next = "take sequence number and words"
                    with m.Case(WORDS_WRITE, WORDS_READ, WORDS_WRITE_FIXED, WORDS_READ_FIXED):
                        m.d.sync += [
                            self.block.eq(0),
                            self.rising.eq((byte == WORDS_WRITE) | (byte == WORDS_READ)),
                            self.writing.eq((byte == WORDS_WRITE) | (byte == WORDS_WRITE_FIXED)),
                        ]
                        with m.If(~self.blocks_only):
                            m.next = "take words"
            with m.Elif(self.long_silent & ~self.broken):
                m.d.sync += self.blocks_only.eq(0)

        with m.State("take words"):
            with m.If(self._take(m)):
                m.d.sync += [self.left.eq(Cat(byte, byte == 0)), self.count.eq(0)]
                m.next = "take the address"

        with m.State("take sequence number and words"):
            with m.If(self._take(m)):
                m.d.sync += Cat(self.left, self.sequence).eq(Cat(byte, self.left))
            with m.If(self._take_last(m)):
                m.next = "take the address"

        with m.State("take the address"):
            with m.If(self._take(m)):
                m.d.sync += self.place.eq(Cat(byte, self.place))
            with m.If(self._take_last(m)):
                with m.If(self.block):
                    m.next = "take the header's check"
                with m.Else():
                    m.next = "turn to the next word"

        with m.State("take the header's check"):
            with m.If(self._take_last(m)):
                m.next = "judge the header"

        with m.State("judge the header"):
            m.d.comb += crc.start.eq(1)
            m.next = "discard until silence"
            with m.If(crc.match_detected):
                m.d.sync += [self.blocks_only.eq(1), self.broken.eq(self.writing)]
                with m.If(self.writing):
                    m.next = "turn to the next word"
                with m.Else():
                    m.next = "begin the answer"

        with m.State("discard until silence"):
            m.d.comb += self.i.ready.eq(1)
            with m.If(self.silent & ~self.i.valid):
                m.next = "await a request"

    def _words(self, m: Module) -> None:
        with m.State("turn to the next word"):
            m.d.sync += [self.left.eq(self.left - 1), self.part.eq(Part.WORD)]
            with m.If(self.left == 0):
                with m.If(~self.block):
                    m.next = "await a request"
                with m.Elif(self.writing):
                    m.next = "take the words' check"
                with m.Else():
                    m.next = "end the answer"
            with m.Elif(self.writing):
                m.next = "take a word"
            with m.Elif(self.failed):
                m.d.sync += self.word.eq(~0)
                m.next = "send"
            with m.Else():
                m.next = "read a word"

        with m.State("take a word"):
            with m.If(self._take(m)):
                m.d.sync += self.word.eq(Cat(self.word[8:], self.i.payload))
            with m.If(self._take_last(m)):
                with m.If(self.failed):
                    m.next = "turn to the next word"
                with m.Else():
                    m.next = "write a word"

    def _access(self, m: Module) -> None:
        bus = self.bus
        address_given, data_given = Signal(), Signal()
        m.d.comb += [
            bus.awaddr.eq(self.place << 2),
            bus.araddr.eq(self.place << 2),
            bus.wdata.eq(self._in_order(self.word)),
            bus.wstrb.eq(~0),
        ]

        def turn(error: Value) -> None:
            m.d.sync += [address_given.eq(0), data_given.eq(0)]
            with m.If(error & self.block):
                m.d.sync += self.failed.eq(1)
            with m.Else():
                m.d.sync += self.place.eq(self.place + self.rising)

        with m.State("write a word"):
            m.d.comb += [
                bus.awvalid.eq(~address_given),
                bus.wvalid.eq(~data_given),
                bus.bready.eq(1),
            ]
            m.d.sync += [
                address_given.eq(address_given | bus.awready),
                data_given.eq(data_given | bus.wready),
            ]
            with m.If(bus.bvalid):
                turn(bus.bresp[1])
                m.next = "turn to the next word"

        with m.State("read a word"):
            m.d.comb += [bus.arvalid.eq(~address_given), bus.rready.eq(1)]
            m.d.sync += address_given.eq(address_given | bus.arready)
            with m.If(bus.rvalid):
                turn(bus.rresp[1])
                m.d.sync += self.word.eq(
                    self._in_order(bus.rdata) | bus.rresp[1].replicate(len(self.word))
                )
                m.next = "send"

    def _in_order(self, word: Value) -> Value:
        """A word between the order of a block's bytes, little-endian, and that of the line."""
        return Mux(self.block, word, Cat(word.word_select(byte, 8) for byte in (3, 2, 1, 0)))

    def _check(self, m: Module, crc) -> None:
        with m.State("take the words' check"):
            with m.If(self._take_last(m)):
                m.next = "judge the words"

        with m.State("judge the words"):
            m.d.sync += [
                self.damaged.eq(~crc.match_detected),
                self.broken.eq(~crc.match_detected),
            ]
            m.next = "begin the answer"

    def _answer(self, m: Module, crc) -> None:
        with m.State("begin the answer"):
            m.d.comb += crc.start.eq(1)
            command = Mux(self.writing, BLOCK_WRITE + ANSWER, BLOCK_READ + ANSWER)
            m.d.sync += [
                self.part.eq(Part.HEAD),
                self.count.eq(2),
                self.word.eq(Cat(command[:8], self.sequence)),
            ]
            m.next = "send"

        with m.State("end the answer"):
            status = Signal(8)
            m.d.comb += status.eq(Mux(self.damaged, DAMAGED, Mux(self.failed, BUS_ERROR, OK)))
            m.d.sync += [
                self.part.eq(Part.TAIL),
                self.count.eq(1),
                self.word.eq(Cat(status, self.place[8:16], self.place[:8])),
            ]
            m.next = "send"

        with m.State("seal the answer"):
            m.d.sync += [self.part.eq(Part.CRC), self.word.eq(crc.crc)]
            m.next = "send"

        with m.State("send"):
            m.d.comb += self.o.valid.eq(1)
            with m.If(self.o.ready):
                m.d.sync += self.word.eq(self.word[8:])
                with m.If(self.count == 3):
                    with m.Switch(self.part):
                        with m.Case(Part.HEAD):
                            m.next = "turn to the next word"
                            with m.If(self.writing):
                                m.next = "end the answer"
                        with m.Case(Part.WORD):
                            m.next = "turn to the next word"
                        with m.Case(Part.TAIL):
                            m.next = "seal the answer"
                        with m.Case(Part.CRC):
                            m.next = "await a request"
                            with m.If(self.damaged):
                                m.next = "discard until silence"
