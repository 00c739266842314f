# SPDX-FileCopyrightText: castbag contributors
# SPDX-License-Identifier: BSD-2-Clause
"""CommandReader: a descriptor's words become a command that is known to be legal."""

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import exact_log2

from ..config import WORD_BYTES, EngineConfig
from ..layouts import REQUEST_BITS
from .map import DESCRIPTOR, DESCRIPTOR_WORDS, Dataflow, Error, Mode, Optimizer, field

ADDRESSES = tuple(
    entry.name
    for entry in DESCRIPTOR
    if field("indices").word <= entry.word <= field("scratch").word
)
"""Names of the descriptor's address fields."""

ROOM_WORDS = (field("scratch_bytes").word, field("scratch_bytes").word + 1)
"""Words of `scratch_bytes`, which may be any number: of one above all addresses just that is
kept."""


class CommandLayout(data.StructLayout):
    """A command as the engine uses it; the names are those of the descriptor's fields."""

    def __init__(self, config: EngineConfig):
        super().__init__(
            {
                "forward": 1,
                "backward": 1,
                "dataflow": Dataflow,
                "optimizer": Optimizer,
                "mode": Mode,
                "wide_indices": 1,
                "wide_offsets": 1,
                "ignore_bounds": 1,
                "has_padding": 1,
                "lookups": config.lookup_bits,
                "bags": config.bag_bits + 1,
                "dim": range(config.max_dim + 1),
                "rows": config.index_bits + 1,
                "padding_index": config.index_bits,
                "learning_rate": 32,
                **dict.fromkeys(ADDRESSES, config.address_bits),
                "words": REQUEST_BITS,  # derived: bus beats of a row
                "scratch_half": range(_most_scratch(config) // 2 + 1),  # derived: half of its bytes
            }
        )


def _most_scratch(config: EngineConfig) -> int:
    """Bytes of scratch space that the longest batch would need in two halves."""
    packing = config.packing
    return 2 * packing.spilled_runs(config.max_lookups) * packing.run_bytes


class CommandReader(wiring.Component):
    """Takes a descriptor's words and judges it: each field, then each buffer's extent.

    A field must fit the engine's limits, addresses must lie on a beat, unused bits must be 0: else
    the error is FIELD, at the first wrong word. Then every buffer that the command will use must
    end inside the address space: else it is EXTENT, at the word of the first such buffer's
    address. Last, what a batch of so many lookups needs of the scratch space, see
    `Packing.scratch_bytes`, must not be more than `scratch_bytes`: else it is SCRATCH, at that
    word. So no unit behind needs to check an address, and none can write outside.

    Where the scratch space has two halves, the second one begins `scratch_half` bytes after the
    first; with one half alone it means nothing.

    Latency: `6 + sum(2 + pitch.bit_length())` cycles from the last word to `done`, over all
    buffers, the scratch space twice; `pitch` is the bytes of an entry, and of the scratch space
    those of a run. What is wrong is known sooner.

    Members:
        start: A descriptor is about to come; forgets the last one.
        i: Its words, one a payload, in order.
        command: The command; holds until the next start.
        done: It has been judged, and is legal.
        error: Code of what is wrong with it, else 0.
        position: The word that is wrong.
    """

    start: Signal
    i: stream.Interface
    command: data.View
    done: Signal
    error: Signal
    position: Signal

    def __init__(self, config: EngineConfig):
        self.config = config
        super().__init__(
            {
                "start": In(1),
                "i": In(stream.Signature(64)),
                "command": Out(CommandLayout(config)),
                "done": Out(1),
                "error": Out(Error),
                "position": Out(8),
            }
        )

    def elaborate(self, platform):
        m = Module()
        count = Signal(range(DESCRIPTOR_WORDS + 1))
        wrong = Signal(DESCRIPTOR_WORDS)  # words known to be illegal
        room = Signal(self.config.address_bits + 1)  # `scratch_bytes`; top bit: that or more
        come, content = Signal(), Signal(32)  # a word; a cycle later, for it goes far
        kept, place = Signal(), Signal.like(count)  # one has been, and which
        m.d.sync += [
            come.eq(self.i.valid & self.i.ready),
            content.eq(self.i.payload),
            kept.eq(come),
            place.eq(count),
        ]
        with m.If(come):
            m.d.sync += count.eq(count + 1)
        for word in range(DESCRIPTOR_WORDS):
            above = self._store(m, word, come & (count == word), content, room)
            with m.If(kept & (place == word) & above):
                m.d.sync += (room[-1] if word in ROOM_WORDS else wrong[word]).eq(1)
        m.d.comb += self.i.ready.eq(1)
        with m.If(self.start):
            m.d.sync += [count.eq(0), wrong.eq(0), room.eq(0)]

        faults = []  # of the fields as they were in the cycle before
        for word, fault in self._field_faults():
            faults.append((word, Signal(name=f"fault_{len(faults)}")))
            m.d.sync += faults[-1][1].eq(fault)

        index = Signal(range(len(ADDRESSES) + 2))  # buffer under judgement; the last: none is left
        buffer = self._buffer(m, index, room)
        with m.FSM():
            with m.State("receive words"):
                with m.If(~self.start & (count == DESCRIPTOR_WORDS)):
                    m.next = "judge fields"
            with m.State("judge fields"):
                m.d.sync += self.command.words.eq(
                    (self.command.dim + (self.config.lanes - 1)) >> exact_log2(self.config.lanes)
                )
                for word, fault in faults:
                    with m.If(fault):
                        m.d.sync += wrong[word].eq(1)
                m.next = "look for faults"
            with m.State("look for faults"):
                m.d.sync += self.position.eq(0)
                m.next = "choose buffer"
                with m.If(wrong.any()):
                    m.next = "find first fault"
            with m.State("find first fault"):  # a word a cycle: there is time enough
                m.d.sync += [wrong.eq(wrong >> 1), self.position.eq(self.position + 1)]
                with m.If(wrong[0]):
                    m.d.sync += [self.error.eq(Error.FIELD), self.position.eq(self.position)]
                    m.next = "judged"
            self._judge_extents(m, index, *buffer)
            with m.State("judged"):
                m.d.comb += self.done.eq(self.error == Error.NONE)
                with m.If(self.start):
                    m.d.sync += self.error.eq(Error.NONE)
                    m.next = "receive words"
        return m

    def _store(self, m: Module, word: int, now: Value, content: Signal, room: Signal) -> Signal:
        """Keep the parts of one descriptor word, `now`.

        Gives, a cycle later, whether it has bits that no field of ours can hold.
        """
        used = 0
        for entry in DESCRIPTOR:
            part = 32 * (word - entry.word)  # lowest bit of the field that this word holds
            if not 0 <= part < entry.bits:
                continue
            is_room = word in ROOM_WORDS
            bits = room[:-1] if is_room else Value.cast(self.command[entry.name])
            width = max(0, min(len(bits) - part, 32, entry.bits - part))
            with m.If(now):
                m.d.sync += bits[part : part + width].eq(content[entry.low :][:width])
            used |= ((1 << width) - 1) << entry.low
        above = Signal(name=f"above_{word}")
        unused = [content[bit] for bit in range(32) if not used >> bit & 1]
        m.d.sync += above.eq(Cat(Const(0, 1), *unused).any())
        return above

    def _field_faults(self) -> list:
        """(word, condition) of all values that a field can hold and that are illegal."""
        config, command = self.config, self.command
        beat_bits = exact_log2(config.bus_bytes)
        built_in = [Optimizer[name.upper()] for name in config.optimizers]
        faults = [
            ("forward", ~(command.forward | command.backward)),
            ("dataflow", ~_one_of(command.dataflow, Dataflow)),
            ("optimizer", ~_one_of(command.optimizer, built_in)),
            ("mode", ~_one_of(command.mode, Mode)),
            ("lookups", command.lookups > config.max_lookups),
            ("bags", command.bags > 1 << config.bag_bits),
            ("dim", (command.dim == 0) | (command.dim > config.max_dim)),
            ("rows", command.rows > 1 << config.index_bits),
            ("padding_index", command.has_padding & (command.padding_index >= command.rows)),
            *((name, command[name][:beat_bits].any()) for name in ADDRESSES),
        ]
        return [(field(name).word, fault) for name, fault in faults]

    def _buffer(self, m: Module, index: Signal, room: Signal) -> list[Signal]:
        """Of buffer `index`: whether it is used, its entries, bytes of one, address, limit of its
        end, error and word if it ends beyond.

        The last one is no buffer of its own: the scratch space again, as if at address 0.
        """
        config, command = self.config, self.command
        row = command.words << exact_log2(config.bus_bytes)
        index_bytes = Mux(command.wide_indices, 2 * WORD_BYTES, WORD_BYTES)
        offset_bytes = Mux(command.wide_offsets, 2 * WORD_BYTES, WORD_BYTES)
        kept = command.backward & (command.dataflow != Dataflow.FUSED)
        copied = command.backward & (command.dataflow == Dataflow.EXPAND_COALESCE)
        always, word = Const(1), Const(WORD_BYTES)
        spilled = (command.backward, self._spilled(m), Const(config.packing.run_bytes))
        buffers = {
            "indices": (always, command.lookups, index_bytes),
            "offsets": (always, command.bags + 1, offset_bytes),
            "table": (always, command.rows, row),
            "gradient": (command.backward, command.bags, row),
            "pooled": (command.forward, command.bags, row),
            "coalesced": (kept, command.lookups, row),
            "cast_table": (kept, command.lookups, word),
            "unique_rows": (kept, command.lookups, word),
            "expanded": (copied, command.lookups, row),
            "scratch": spilled,
        }
        assert tuple(buffers) == ADDRESSES
        space = Const(1 << config.address_bits)
        rows: list[tuple] = [
            (*buffer, command[name], space, Const(Error.EXTENT), Const(field(name).word))
            for name, buffer in buffers.items()
        ]
        need = Const(0), room, Const(Error.SCRATCH), Const(field("scratch_bytes").word)
        rows.append((*spilled, *need))
        chosen = [Signal(max(map(len, values))) for values in zip(*rows, strict=True)]
        with m.Switch(index):
            for number, values in enumerate(rows):
                with m.Case(number):
                    m.d.comb += [one.eq(value) for one, value in zip(chosen, values, strict=True)]
        return chosen

    def _spilled(self, m: Module) -> Value:
        """The runs that a batch of so many lookups spills, twice if they need both halves.

        They follow `lookups` two cycles later.
        """
        config, lookups = self.config, self.command.lookups
        runs = Signal(range(config.packing.spilled_runs(config.max_lookups) + 1))
        before_last, none = Signal.like(lookups), Signal()  # lookups before the last one
        m.d.sync += [
            before_last.eq(lookups - 1),
            none.eq(lookups == 0),
            runs.eq(Mux(none, 0, before_last[exact_log2(config.run_length) :])),
        ]
        return runs << (runs > config.merge_ways)

    def _judge_extents(
        self, m: Module, index, used, entries, pitch, address, limit, error, word
    ) -> None:
        """States that go through the buffers: each must end where it may."""
        longest = len(entries) + len(pitch)
        addend, pitch_left = Signal(longest), Signal.like(pitch)
        end = Signal(max(longest, len(address)) + 1)
        told = used, limit, error, word
        kept = [Signal.like(each) for each in told]
        outside = Signal()  # the buffer before ends beyond its limit
        with m.State("choose buffer"):
            m.d.sync += [end.eq(address), addend.eq(entries), pitch_left.eq(pitch)]
            m.d.sync += [one.eq(each) for one, each in zip(kept, told, strict=True)]
            m.next = "add extent"
            with m.If(outside | (index == len(ADDRESSES) + 1)):
                m.d.sync += [index.eq(0), outside.eq(0)]
                m.next = "judged"
            with m.If(outside):
                _, _, error, word = kept
                m.d.sync += [self.error.eq(error), self.position.eq(word)]
        with m.State("add extent"):  # entries * pitch, a bit of the pitch each cycle
            with m.If(pitch_left[0]):
                m.d.sync += end.eq(end + addend)
            m.d.sync += [addend.eq(addend << 1), pitch_left.eq(pitch_left >> 1)]
            with m.If(~pitch_left[1:].any()):
                m.next = "compare end"
        with m.State("compare end"):
            used, limit, _, _ = kept
            m.d.sync += [
                index.eq(index + 1),
                outside.eq(used & (end > limit)),
                self.command.scratch_half.eq(end >> 1),
            ]
            m.next = "choose buffer"


def _one_of(value, members):
    """Whether `value` is one of the numbers in `members`."""
    return Cat(value == member for member in members).any()
