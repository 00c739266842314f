# SPDX-FileCopyrightText: castbag contributors
# SPDX-License-Identifier: BSD-2-Clause
"""RegisterFile: the registers of the map behind an AXI4-Lite port."""

from collections.abc import Mapping, Sequence
from typing import Any

from amaranth.hdl import Const, Module, Mux, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out
from amaranth.utils import exact_log2

from ..axi import OKAY, AXI4LiteSignature
from .counters import COUNTER_BITS
from .map import COUNTER_BASE, COUNTERS, REGISTER_SPACE, REGISTERS, Register

ADDRESS_BITS = (REGISTER_SPACE - 1).bit_length()
"""Of the engine's own."""


class RegisterFile(wiring.Component):
    """Every register of a table at its offset; what it is made of is another's affair.

    A read gives the word at the address rounded down to 4, or 0 where there is no register.
    A write sets the bytes that are strobed; one to a read-only register or to none is answered
    OKAY and does nothing. One access at a time each way: a read is answered 3 cycles after its
    address, but the lower half of a counter once it was asked for; a write 2 cycles after its
    address, or after its data, if those come later. The halves of a wide register are two accesses;
    a counter's upper half is the lower one's.

    Args:
        registers: The table: the engine's, or another; with counters as the engine has them, or
            without.
        space: Bytes of the window, a power of two.
        constants: Values, by name, of read-only registers that never change. They lie in a block
            RAM, so that nothing else of a design differs, its placing neither, where they do.

    Members, by the access of a register NAME that is no constant:
        NAME (ro, w1c): In, its value; counters have none.
        NAME (rw): Out, its value; `reset` after reset.
        NAME_clear (w1c): Out, pulse: the bits that were written as 1.
        ask, index: The count that is wanted, until `count_valid`; where there are counters.
        count_valid, count: It.
    """

    bus: Any  # AXI4LiteSignature
    ask: Signal
    index: Signal
    count_valid: Signal
    count: Signal

    def __init__(
        self,
        *,
        registers: Sequence[Register] = REGISTERS,
        space: int = REGISTER_SPACE,
        constants: Mapping[str, int] | None = None,
    ):
        constants = constants or {}
        self._has_counters = any(entry.counter for entry in registers)
        self._plain = [
            entry for entry in registers if not entry.counter and entry.name not in constants
        ]
        self._rom = [0] * (space // 4 if constants else 0)
        for entry in registers:
            if entry.name in constants:
                if entry.access != "ro" or entry.wide or entry.counter:
                    raise ValueError(f"{entry.name}: not a read-only word, so no constant")
                self._rom[entry.offset // 4] = constants[entry.name]
        unknown = sorted(set(constants) - {entry.name for entry in registers})
        if unknown:
            raise ValueError(f"constants: there is no register {', '.join(unknown)}")
        self._address_bits = exact_log2(space)
        members = {"bus": In(AXI4LiteSignature(address_bits=self._address_bits))}
        if self._has_counters:
            members |= {
                "ask": Out(1),
                "index": Out(range(len(COUNTERS))),
                "count_valid": In(1),
                "count": In(COUNTER_BITS),
            }
        for entry in self._plain:
            width = 64 if entry.wide else 32
            rw = Out(width, init=entry.reset)  # pyright: ignore[reportCallIssue]  (stubs lack it)
            members[entry.name] = rw if entry.access == "rw" else In(width)
            if entry.access == "w1c":
                members[f"{entry.name}_clear"] = Out(width)
        super().__init__(members)

    def value(self, entry: Register) -> Signal:
        """The member that holds the register."""
        return getattr(self, entry.name)

    def elaborate(self, platform):
        m = Module()
        self._reads(m)
        self._writes(m)
        return m

    def _words(self):
        """(offset, register, its part) of each 32-bit word."""
        for entry in self._plain:
            for part in range(2 if entry.wide else 1):
                yield entry.offset + 4 * part, entry, slice(32 * part, 32 * part + 32)

    def _reads(self, m: Module) -> None:
        bus = self.bus
        address = Signal(self._address_bits)
        taken = Signal()  # an address waits for its data
        chosen = Signal()  # a cycle later: its word is one of two, below and above the middle
        below, above = (Signal(32, reset_less=True) for _ in range(2))
        m.d.comb += [bus.arready.eq(~taken & ~bus.rvalid), bus.rresp.eq(OKAY)]
        with m.If(bus.arvalid & bus.arready):
            m.d.sync += [address.eq(bus.araddr), taken.eq(1)]
        words = {offset >> 2: self.value(entry)[part] for offset, entry, part in self._words()}
        index, middle = address[2:-1], 1 << (len(address) - 3)
        m.d.sync += [
            chosen.eq(taken),
            below.eq(_select(words, index)),
            above.eq(_select(words, index, middle)),
        ]
        word = Mux(address[-1], above, below)
        if self._rom:
            style = {"ram_style": "block", "rom_style": "block"}
            m.submodules.rom = rom = Memory(
                shape=32, depth=len(self._rom), init=self._rom, attrs=style
            )
            constant = rom.read_port(domain="sync")
            m.d.comb += [constant.addr.eq(address[2:]), constant.en.eq(1)]
            word = word | constant.data  # 0 where the register is none
        answered = [taken.eq(0), chosen.eq(0), bus.rvalid.eq(1), bus.rdata.eq(word)]
        if self._has_counters:
            self._counters(m, address, chosen, answered)
        else:
            with m.If(chosen):
                m.d.sync += answered
        with m.If(bus.rvalid & bus.rready):
            m.d.sync += bus.rvalid.eq(0)

    def _counters(self, m: Module, address: Signal, chosen: Signal, answered: list) -> None:
        """A read that may be of a counter: it waits for the count; any other is `answered`."""
        bus = self.bus
        # Counters are the upper half of the space: their base has one bit, above all other offsets.
        place, upper = address[3 : exact_log2(COUNTER_BASE)], address[2]
        is_counter = Signal()
        m.d.sync += is_counter.eq(address[exact_log2(COUNTER_BASE)] & (place < len(COUNTERS)))
        asked_upper = Signal(COUNTER_BITS - 32)
        m.d.comb += [
            self.ask.eq(chosen & is_counter & ~upper),
            self.index.eq(place),
        ]
        with m.If(chosen & (~self.ask | self.count_valid)):
            m.d.sync += answered
            with m.If(self.ask):
                m.d.sync += [bus.rdata.eq(self.count), asked_upper.eq(self.count[32:])]
            with m.Elif(is_counter):
                m.d.sync += bus.rdata.eq(asked_upper)

    def _writes(self, m: Module) -> None:
        bus = self.bus
        address, data, strobe = Signal(self._address_bits), Signal(32), Signal(4)
        have_address, have_data = Signal(), Signal()
        both = have_address & have_data
        m.d.comb += [
            bus.awready.eq(~have_address & ~bus.bvalid),
            bus.wready.eq(~have_data & ~bus.bvalid),
            bus.bresp.eq(OKAY),
        ]
        with m.If(bus.awvalid & bus.awready):
            m.d.sync += [address.eq(bus.awaddr), have_address.eq(1)]
        with m.If(bus.wvalid & bus.wready):
            m.d.sync += [data.eq(bus.wdata), strobe.eq(bus.wstrb), have_data.eq(1)]
        with m.If(both):
            m.d.sync += [have_address.eq(0), have_data.eq(0), bus.bvalid.eq(1)]
        with m.If(bus.bvalid & bus.bready):
            m.d.sync += bus.bvalid.eq(0)

        for offset, entry, part in self._words():
            chosen = both & (address[2:] == offset >> 2)
            for byte in range(4):
                bits = data.word_select(byte, 8)
                written = chosen & strobe[byte]
                place = slice(part.start + 8 * byte, part.start + 8 * byte + 8)
                if entry.access == "rw":
                    with m.If(written):
                        m.d.sync += self.value(entry)[place].eq(bits)
                elif entry.access == "w1c":
                    clear = getattr(self, f"{entry.name}_clear")
                    m.d.comb += clear[place].eq(bits & written.replicate(8))


def _select(words: dict[int, Value], index: Value, first: int = 0) -> Value:
    """The word of number `first + index`, 0 where there is none.

    A tree of two-way choices: a switch over all words is a third larger on ECP5.
    """
    if len(index) == 0:
        return words.get(first, Const(0, 32))
    below, top = index[:-1], index[-1]
    upper = _select(words, below, first + (1 << len(below)))
    return Mux(top, upper, _select(words, below, first))
