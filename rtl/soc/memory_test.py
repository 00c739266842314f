# SPDX-FileCopyrightText: castbag contributors
# SPDX-License-Identifier: BSD-2-Clause
"""MemoryTest: finds the capture phase, then writes and reads all of memory."""

from typing import Any

from amaranth.hdl import Array, Cat, Module, Mux, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import exact_log2

from ..axi import INCR, OKAY, AXI4ReadSignature, AXI4WriteSignature

WORD_BYTES = 8
BURST_WORDS = 16
UNIT_BYTES = 4096
"""Memory is tested in multiples of this."""

UNIT_BURSTS = UNIT_BYTES // (WORD_BYTES * BURST_WORDS)

SEED = 0x9E3779B97F4A7C15

PASSES = (0xFF, 0x55, 0xAA)
"""Byte strobes of each pass. The first writes the pattern, the others its inverse: the second to
half of the bytes and the third to the rest, so that each bit takes both values. To a byte that is
masked the inverse of what it holds is offered, so that a mask that masks nothing, or too much,
shows."""


def next_pattern(word: Value) -> Value:
    """The word after `word`: a xorshift generator of period 2**64 - 1 (Marsaglia 2003, 13-7-17)."""
    word = word ^ (word << 13)[:64]
    word = word ^ (word >> 7)
    return word ^ (word << 17)[:64]


class MemoryTest(wiring.Component):
    """Each word of memory takes pseudo-random bits and their inverse, and gives them back.

    With `phases`, each capture phase first has `UNIT_BYTES` tested with it; the middle one of the
    first run of right ones is kept. Then so many bytes as asked are tested, in the three `PASSES`,
    each written whole and then read whole, so that an address line that is stuck shows. The pass
    with the first word that is wrong is the last: `address`, `expected`, `got` hold it until the
    next test. A word takes six beats in all.

    An answer to a read that is an error counts as a wrong word; one to a write is not looked at,
    for what became of the write shows when it is read. Memory must answer every burst.

    Args:
        address_bits: Of the port; data are 64 bits.
        memory_bytes: There are, a multiple of `UNIT_BYTES`.
        phase: The capture phase at first, and all the time without `phases`.
        phases: How many there are to try, at most 16; 0: none.

    Members:
        start: In; a pulse starts a test; one while it runs is lost.
        size: In; bytes to test, rounded down to `UNIT_BYTES`; 0 or too many: all there are.
        running, passed, failed: Out; of the last test.
        phase: Out, for memory's controller.
        least, most: Out; the phases that were found right.
        none_right: Out; none was.
        address, expected, got: Out; the first wrong word.
        read, write: Memory's port.
    """

    start: Signal
    size: Signal
    running: Signal
    passed: Signal
    failed: Signal
    phase: Signal
    least: Signal
    most: Signal
    none_right: Signal
    address: Signal
    expected: Signal
    got: Signal
    read: Any  # AXI4ReadSignature
    write: Any  # AXI4WriteSignature

    def __init__(self, *, address_bits: int, memory_bytes: int, phase: int = 0, phases: int = 0):
        if memory_bytes % UNIT_BYTES or not 0 < memory_bytes <= 1 << address_bits:
            raise ValueError(
                f"memory_bytes = {memory_bytes}: must be a multiple of {UNIT_BYTES}, at most"
                f" 2**{address_bits}"
            )
        if not 0 <= phases <= 16:
            raise ValueError(f"phases = {phases}: must be 0 to 16")
        if not 0 <= phase < 16:
            raise ValueError(f"phase = {phase}: must be 0 to 15")
        self._phases, self._bursts = phases, memory_bytes // (WORD_BYTES * BURST_WORDS)
        self._offered = Signal(range(self._bursts + 1))
        self._answered = Signal.like(self._offered)
        self._words = Signal(range(self._bursts * BURST_WORDS + 1))
        # Whether they are all that there are.
        self._all_offered, self._all_answered, self._all_moved = Signal(), Signal(), Signal()
        self._pattern = Signal(64, init=SEED)
        bus = {"address_bits": address_bits, "data_bits": 8 * WORD_BYTES}
        super().__init__(
            {
                "start": In(1),
                "size": In(32),
                "running": Out(1),
                "passed": Out(1),
                "failed": Out(1),
                "phase": Out(4, init=phase),  # pyright: ignore[reportCallIssue]  (stubs lack it)
                "least": Out(4),
                "most": Out(4),
                "none_right": Out(1),
                "address": Out(address_bits),
                "expected": Out(64),
                "got": Out(64),
                "read": Out(AXI4ReadSignature(**bus)),
                "write": Out(AXI4WriteSignature(**bus)),
            }
        )

    def elaborate(self, platform):
        m = Module()
        bursts = Signal(range(self._bursts + 1))  # to be tested now
        whole = Signal.like(bursts)  # to be tested in the end
        asked = self.size >> exact_log2(UNIT_BYTES)
        units = self._bursts // UNIT_BURSTS
        asked_bursts = Mux((asked == 0) | (asked > units), self._bursts, asked * UNIT_BURSTS)
        number = Signal(range(len(PASSES)))
        m.d.comb += [self.read.rready.eq(1), self.write.bready.eq(1)]
        begin, wrong, trying, found, closed = (Signal() for _ in range(5))
        with m.FSM() as fsm:
            m.d.comb += self.running.eq(~fsm.ongoing("IDLE"))
            with m.State("IDLE"):
                m.d.sync += [found.eq(0), closed.eq(0), trying.eq(bool(self._phases))]
                m.d.sync += whole.eq(asked_bursts)
                m.d.sync += bursts.eq(UNIT_BURSTS if self._phases else asked_bursts)
                with m.If(self.start):
                    m.d.sync += [self.passed.eq(0), self.failed.eq(0), self.none_right.eq(0)]
                    if self._phases:
                        m.d.sync += self.phase.eq(0)
                    m.next = "RESTART"
            with m.State("RESTART"):
                m.d.sync += [number.eq(0), wrong.eq(0)]
                m.d.comb += begin.eq(1)
                m.next = "WRITE"
            with m.State("WRITE"):
                with m.If(self._write(m, number)):
                    m.d.comb += begin.eq(1)
                    m.next = "READ"
            with m.State("READ"):
                with m.If(self._read(m, number, wrong)):
                    m.next = "PASS IS OVER"
            with m.State("PASS IS OVER"):
                m.d.comb += begin.eq(1)
                m.d.sync += number.eq(number + 1)
                m.next = "WRITE"
                with m.If(wrong | (number == len(PASSES) - 1)):
                    m.next = "PHASE IS TRIED"
                    with m.If(~trying):
                        m.d.sync += [self.passed.eq(~wrong), self.failed.eq(wrong)]
                        m.next = "IDLE"
            with m.State("PHASE IS TRIED"):
                with m.If(wrong):
                    m.d.sync += closed.eq(found)
                with m.Elif(~closed):
                    m.d.sync += [found.eq(1), self.most.eq(self.phase)]
                    with m.If(~found):
                        m.d.sync += self.least.eq(self.phase)
                m.d.sync += self.phase.eq(self.phase + 1)
                m.next = "RESTART"
                with m.If(self.phase == max(self._phases, 1) - 1):
                    m.next = "PHASE IS CHOSEN"
            with m.State("PHASE IS CHOSEN"):
                m.d.sync += [
                    trying.eq(0),
                    bursts.eq(whole),
                    self.phase.eq((self.least + self.most) >> 1),
                ]
                m.next = "RESTART"
                with m.If(~found):
                    m.d.sync += [self.none_right.eq(1), self.failed.eq(1)]
                    m.next = "IDLE"
        self._advance(m, begin, bursts)
        return m

    def _advance(self, m: Module, begin: Value, bursts: Signal) -> None:
        """Go through memory from its first word on."""
        moved = (self.write.wvalid & self.write.wready) | self.read.rvalid
        offered = (self.write.awvalid & self.write.awready) | (
            self.read.arvalid & self.read.arready
        )
        last_burst, last_word = Signal.like(bursts), Signal.like(self._words)
        m.d.sync += [
            last_burst.eq(bursts - 1),
            last_word.eq((bursts << exact_log2(BURST_WORDS)) - 1),
        ]
        for count, event, last, over in (
            (self._offered, offered, last_burst, self._all_offered),
            (self._answered, self.write.bvalid, last_burst, self._all_answered),
            (self._words, moved, last_word, self._all_moved),
        ):
            with m.If(event):
                m.d.sync += [count.eq(count + 1), over.eq(over | (count == last))]
            with m.If(begin):
                m.d.sync += [count.eq(0), over.eq(0)]
        with m.If(moved):
            m.d.sync += self._pattern.eq(next_pattern(self._pattern))
        with m.If(begin):
            m.d.sync += self._pattern.eq(SEED)
        address = self._offered << exact_log2(WORD_BYTES * BURST_WORDS)
        for bus, kind in ((self.read, "ar"), (self.write, "aw")):
            m.d.comb += [
                getattr(bus, f"{kind}addr").eq(address),
                getattr(bus, f"{kind}len").eq(BURST_WORDS - 1),
                getattr(bus, f"{kind}size").eq(exact_log2(WORD_BYTES)),
                getattr(bus, f"{kind}burst").eq(INCR),
            ]

    def _write(self, m: Module, number: Signal) -> Value:
        """Write a pass; true once all of it is answered."""
        write = self.write
        inverse = Array([0, _bits(0xFF), _bits(PASSES[2])])[number]
        m.d.comb += [
            write.awvalid.eq(~self._all_offered),
            write.wvalid.eq(~self._all_moved),
            write.wdata.eq(self._pattern ^ inverse),
            write.wstrb.eq(Array(PASSES)[number]),
            write.wlast.eq(self._words[: exact_log2(BURST_WORDS)].all()),
        ]
        return self._all_answered

    def _read(self, m: Module, number: Signal, wrong: Signal) -> Value:
        """Read a pass and compare, two cycles behind; true once all of it is compared.

        What is told stands still from the first word that is wrong on.
        """
        read = self.read
        inverse = Array([0, _bits(PASSES[1]), _bits(PASSES[1] | PASSES[2])])[number]
        came, compared, refused, bad = Signal(), Signal(), Signal(), Signal()
        address, expected, got = (Signal.like(x) for x in (self.address, self.expected, self.got))
        unequal = Signal(WORD_BYTES + 1)  # by bytes; and that it was refused

        def by_byte(word: Signal) -> list[Value]:
            return [word.word_select(k, 8) for k in range(WORD_BYTES)]

        m.d.comb += [
            read.arvalid.eq(~self._all_offered),
            bad.eq(compared & unequal.any()),
        ]
        m.d.sync += [
            came.eq(read.rvalid),
            expected.eq(self._pattern ^ inverse),
            got.eq(read.rdata),
            refused.eq(read.rresp != OKAY),
            address.eq(self._words << exact_log2(WORD_BYTES)),
            compared.eq(came),
            unequal.eq(
                Cat((e != g for e, g in zip(by_byte(expected), by_byte(got), strict=True)), refused)
            ),
            wrong.eq(wrong | bad),
        ]
        with m.If(~(wrong | bad)):
            m.d.sync += [
                self.expected.eq(expected),
                self.got.eq(got),
                self.address.eq(address),
            ]
        return self._all_moved & ~came & ~compared


def _bits(strobes: int) -> int:
    """The bits of the bytes that are strobed."""
    return sum(0xFF << 8 * byte for byte in range(WORD_BYTES) if strobes >> byte & 1)
