# SPDX-FileCopyrightText: castbag contributors
# SPDX-License-Identifier: BSD-2-Clause
"""SdramController: an AXI4 memory out of one SDR SDRAM chip."""

from typing import Any

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from ..axi import DECERR, OKAY, AXI4ReadSignature, AXI4WriteSignature
from ..queue import Queue
from .bursts import BurstWords
from .chips import BURST, SdramChip, Timings
from .layouts import DATA_BITS, PHASE_BITS, BeatLayout, SdramPadsSignature
from .returns import Returns
from .scheduler import Scheduler
from .turns import Turns

BEATS = 16
"""Beats to write that are held."""

BEGIN = 8
"""Beats of a burst that must be there to begin it, or all of them."""


class SdramController(wiring.Component):
    """Every burst is carried out, word by word; reads are answered in order, and so are writes.

    The order of words that the chip sees is one: a write is answered once its last word has its
    place in it, so a read that is issued behind the answer sees what was written.

    Bursts are INCR, of whole 64-bit words (a first address inside a word counts as that word's),
    and within 4 KiB; the id is given back. A burst that does not lie in the chip, or leaves its
    4 KiB, is answered DECERR in its turn, on each beat or on B, and touches nothing.
    Address map: see `PlaceLayout`.

    Throughput, in cycles a word: 4 within pages and from page to page in order; 8 or 9 for two
    words behind one another in different rows of one bank; 3 more where a read is followed by a
    write. A refresh costs about 14 every 780 (at 100 MHz).
    Latency: a read burst taken in cycle 0 has its first word on R in cycle 16 + CL if its row is
    open, with phase 0 or 1.
    Bounds: 16 words read are under way or wait for RREADY; two bursts a direction are held beside
    the one under way, and 16 beats to write.

    Args:
        chip: The chip, see `CHIPS`.
        mhz: Clock, of the controller and of the chip.
        address_bits: Width of a byte address.
        phase: Initial value of `phase`, for whoever does not drive it.
        timings: The chip's at that clock, unless given: tests give wrong ones.

    Members:
        read, write: The port.
        pads: See `SdramPadsSignature`.
        phase: When data are sampled, see `Returns`; stands while reads are under way.
        ready: The chip is up. Whatever comes before waits.
    """

    read: Any  # AXI4ReadSignature, flipped
    write: Any  # AXI4WriteSignature, flipped
    pads: Any  # SdramPadsSignature
    phase: Signal
    ready: Signal

    def __init__(
        self,
        *,
        chip: SdramChip,
        mhz: float,
        address_bits: int = 32,
        phase: int = 1,
        timings: Timings | None = None,
    ):
        if not 12 <= address_bits <= 64:
            raise ValueError(f"address_bits = {address_bits}: must be 12 to 64")
        if not 0 <= phase < 1 << PHASE_BITS:
            raise ValueError(f"phase = {phase}: must be 0 to {(1 << PHASE_BITS) - 1}")
        self.chip = chip
        self.address_bits = address_bits
        self.timings = chip.timings(mhz) if timings is None else timings
        bus = {"address_bits": address_bits, "data_bits": DATA_BITS}
        super().__init__(
            {
                "read": In(AXI4ReadSignature(**bus)),
                "write": In(AXI4WriteSignature(**bus)),
                "pads": Out(SdramPadsSignature(chip)),
                "phase": In(PHASE_BITS, init=phase),  # pyright: ignore[reportCallIssue]  (stubs lack it)
                "ready": Out(1),
            }
        )

    def elaborate(self, platform):
        m = Module()
        chip, timings = self.chip, self.timings
        sizes = {"chip": chip, "address_bits": self.address_bits}
        m.submodules.reads = reads = BurstWords(**sizes)
        m.submodules.writes = writes = BurstWords(**sizes)
        m.submodules.turns = turns = Turns(chip=chip)
        m.submodules.scheduler = scheduler = Scheduler(chip=chip, timings=timings)
        m.submodules.returns = returns = Returns(chip=chip, cl=timings.cl)
        m.submodules.beats = beats = Queue(BeatLayout(), depth=BEATS)
        wiring.connect(m, reads.o, turns.reads)
        wiring.connect(m, writes.o, turns.writes)
        wiring.connect(m, turns.o, scheduler.i)

        read = self.read
        m.d.comb += [
            reads.i.valid.eq(read.arvalid),
            read.arready.eq(reads.i.ready),
            reads.i.payload.address.eq(read.araddr),
            reads.i.payload.length.eq(read.arlen),
            reads.i.payload.id.eq(read.arid),
            turns.read_may.eq(returns.may_ask),
            returns.asked.eq(turns.took_read),
            returns.tag.last.eq(reads.o.payload.last),
            returns.tag.id.eq(reads.o.payload.id),
            returns.tag.error.eq(reads.o.payload.error),
            returns.read.eq(scheduler.read),
            returns.phase.eq(self.phase),
            returns.rise.eq(self.pads.dq_i_rise),
            returns.fall.eq(self.pads.dq_i_fall),
            read.rvalid.eq(returns.o.valid),
            returns.o.ready.eq(read.rready),
            read.rdata.eq(returns.o.payload),
            read.rid.eq(returns.o_tag.id),
            read.rlast.eq(returns.o_tag.last),
            read.rresp.eq(Mux(returns.o_tag.error, DECERR, OKAY)),
            self.ready.eq(scheduler.ready),
        ]
        self._take_writes(m, writes, turns, beats)
        self._drive(m, scheduler, beats)
        return m

    def _take_writes(self, m: Module, writes, turns, beats) -> None:
        """Channels AW, W and B; how many beats are there for words that have no place yet."""
        write = self.write
        unplaced = Signal(range(BEATS + 1))
        whole = Signal(range(BEATS + 1))  # bursts with all their beats, but no last place
        last = writes.o.payload.last
        comes = write.wvalid & write.wready
        comes_whole = comes & write.wlast
        goes = turns.took_write
        goes_whole = goes & last
        m.d.comb += [
            writes.i.valid.eq(write.awvalid),
            write.awready.eq(writes.i.ready),
            writes.i.payload.address.eq(write.awaddr),
            writes.i.payload.length.eq(write.awlen),
            writes.i.payload.id.eq(write.awid),
            beats.i.valid.eq(write.wvalid),
            write.wready.eq(beats.i.ready),
            beats.i.payload.data.eq(write.wdata),
            beats.i.payload.strobe.eq(write.wstrb),
            turns.answer_may.eq(~write.bvalid),
        ]
        m.d.sync += [
            turns.write_may.eq(unplaced != 0),
            turns.write_may_begin.eq((whole != 0) | (unplaced >= BEGIN)),
        ]
        for count, up, down in ((unplaced, comes, goes), (whole, comes_whole, goes_whole)):
            with m.If(up & ~down):
                m.d.sync += count.eq(count + 1)
            with m.If(down & ~up):
                m.d.sync += count.eq(count - 1)
        with m.If(goes_whole):
            m.d.sync += [
                write.bvalid.eq(1),
                write.bid.eq(writes.o.payload.id),
                write.bresp.eq(Mux(writes.o.payload.error, DECERR, OKAY)),
            ]
        with m.Elif(write.bready):
            m.d.sync += write.bvalid.eq(0)

    def _drive(self, m: Module, scheduler, beats) -> None:
        """The command and, in the same cycles, the data of a write."""
        pads = self.pads
        beat = beats.o.payload
        lane, mask = self.chip.data_bits, self.chip.data_bits // 8
        # No reset: a burst that the chip has begun to take is given to its end, and clock enable is
        # not taken from a chip in use.
        data = Signal(lane * BURST, reset_less=True)
        masks = Signal(mask * BURST, reset_less=True)
        driven = Signal(BURST, reset_less=True)
        enabled = Signal(reset_less=True)
        m.d.comb += [
            *(
                getattr(pads, name).eq(getattr(scheduler, name))
                for name in ("cs", "ras", "cas", "we", "ba", "a")
            ),
            beats.o.ready.eq(scheduler.write),
            pads.cke.eq(enabled),
            pads.dq_o.eq(data[:lane]),
            pads.dqm.eq(masks[:mask]),
            pads.dq_oe.eq(driven[0]),
        ]
        none_written = Mux(scheduler.ready, 0, (1 << mask) - 1)  # until it is up, as sheets ask
        m.d.sync += [
            enabled.eq(1),
            data.eq(Mux(scheduler.write, beat.data, data[lane:])),
            masks.eq(Mux(scheduler.write, ~beat.strobe, masks[mask:] | none_written)),
            driven.eq(Mux(scheduler.write, (1 << BURST) - 1, driven[1:])),
        ]
