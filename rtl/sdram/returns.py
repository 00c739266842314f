# SPDX-FileCopyrightText: castbag contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Returns: what comes from the chip, put together into words and given in order."""

from typing import Any

from amaranth.hdl import Array, Cat, Module, Mux, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from .chips import BURST, SdramChip
from .layouts import DATA_BITS, PAD_STAGES, PHASE_BITS, TagLayout

DEPTH = 16
"""Words that may be on their way or wait to be taken."""

CHOSEN_TO_PADS = 2
"""Cycles from a command's choice until it stands at the pads' inputs."""


class Returns(wiring.Component):
    """For every word asked for its data, in order; never more than DEPTH words are under way.

    A place is taken for each word when it is asked for, and a word is put into it by when it comes,
    counted from its command. So nothing that comes is ever lost.

    Latency: with phase p, the word of a command that `read` tells of in cycle 0 can be taken from
    `o` in cycle 8 + CL + p // 2: two cycles to the chip, its latency, one from the pads, four
    transfers, and a register.

    Members:
        tag: Beside each word asked for, with `asked`.
        may_ask: There is a place; right again in the cycle after the next once one was taken.
        read: Pulse: a read command stands at the pads' inputs in the next cycle.
        phase: The sample that is taken, in half clocks. 1 is the edge of the chip's clock at which
            its data sheet has data sampled, if all wires took no time and its clock were the
            inverse of ours. Stands while reads are under way.
        rise, fall: As the pads give them.
        o, o_tag: Stream out of words, and the tag beside each.
    """

    tag: Any  # TagLayout
    o_tag: Any  # TagLayout
    asked: Signal
    may_ask: Signal
    read: Signal
    phase: Signal
    rise: Signal
    fall: Signal

    def __init__(self, *, chip: SdramChip, cl: int):
        self.chip = chip
        # The chip samples half a cycle behind the pads' flip-flop; phase 1 adds the other half.
        # What was sampled in a cycle is seen PAD_STAGES later.
        self.first = 1 + 2 * PAD_STAGES + cl
        super().__init__(
            {
                "tag": In(TagLayout()),
                "asked": In(1),
                "may_ask": Out(1),
                "read": In(1),
                "phase": In(PHASE_BITS),
                "rise": In(chip.data_bits),
                "fall": In(chip.data_bits),
                "o": Out(stream.Signature(DATA_BITS)),
                "o_tag": Out(TagLayout()),
            }
        )

    o: stream.Interface

    def elaborate(self, platform):
        m = Module()
        m.submodules.tags = tags = Memory(shape=TagLayout(), depth=DEPTH, init=[])
        m.submodules.words = words = Memory(shape=DATA_BITS, depth=DEPTH, init=[])
        put_tag, put_word = tags.write_port(), words.write_port()
        get_tag = tags.read_port(domain="comb")
        get_word = words.read_port(domain="comb")
        asked = Signal(range(2 * DEPTH))
        come = Signal.like(asked)
        given = Signal.like(asked)

        # Each transfer moves on through the word; a word is there when its last one is.
        taken = Signal(self.chip.data_bits)
        before = Signal(DATA_BITS - self.chip.data_bits)
        m.d.sync += [
            taken.eq(Mux(self.phase[0], self.fall, self.rise)),
            before.eq(Cat(before, taken)[self.chip.data_bits :]),
        ]
        # `read` in cycle 0: the first transfer is in `taken` in cycle first + 1 + phase // 2.
        since = self.read
        cycles = self.first + BURST - 1
        for k in range(cycles):
            moved = Signal(name=f"read_{k + 1}")
            m.d.sync += moved.eq(since)
            since = moved
        taps = [since]
        for k in range((1 << (PHASE_BITS - 1)) - 1):
            moved = Signal(name=f"read_{cycles + k + 1}")
            m.d.sync += moved.eq(taps[-1])
            taps.append(moved)
        complete = Signal()
        m.d.sync += complete.eq(Array(taps)[self.phase[1:]])

        m.d.comb += [
            put_tag.en.eq(self.asked),
            put_tag.addr.eq(asked),
            put_tag.data.eq(self.tag),
            put_word.en.eq(complete),
            put_word.addr.eq(come),
            put_word.data.eq(Cat(before, taken)),
            get_tag.addr.eq(given),
            get_word.addr.eq(given),
            self.o.valid.eq(come != given),
            self.o.payload.eq(get_word.data),
            self.o_tag.eq(get_tag.data),
        ]
        m.d.sync += self.may_ask.eq(asked != given ^ DEPTH)
        with m.If(self.asked):
            m.d.sync += asked.eq(asked + 1)
        with m.If(complete):
            m.d.sync += come.eq(come + 1)
        with m.If(self.o.valid & self.o.ready):
            m.d.sync += given.eq(given + 1)
        return m
