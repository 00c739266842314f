# SPDX-FileCopyrightText: castbag contributors
# SPDX-License-Identifier: BSD-2-Clause
"""What a host sees: registers, descriptors, error codes. Declared here, once.

The RTL's register file and descriptor reader, the Python driver, `castbag.h` and the
reference page `MAP.md` are all made from these tables (`castbag.host.reference` writes the
last two; a test holds the committed copies to this file). Plain data: no Amaranth here.
"""

from dataclasses import dataclass
from enum import IntEnum

IDENTITY = 0x43424147
"""The word "CBAG": what a driver looks for first."""

VERSION = 0x0002_0000
"""Major and minor version of this map, 16 bits each."""


class Phase(IntEnum):
    """Phases of a command, each with counters of its own."""

    FORWARD = 0  # gather-reduce of the table by bag
    CAST = 1  # sort the pairs by row; runs beside FORWARD
    EXPAND = 2  # a gradient copy a lookup (`expand-coalesce` only)
    BACKWARD = 3  # (casted) gather-reduce: the coalesced gradient; in `fused` with the update
    UPDATE = 4  # scatter: optimizer over the unique rows (`cast`, `expand-coalesce`)


class Dataflow(IntEnum):
    """How a backward pass is carried out."""

    EXPAND_COALESCE = 0
    CAST = 1
    FUSED = 2


class Optimizer(IntEnum):
    """How a row is updated."""

    SGD = 0


class Mode(IntEnum):
    """How a bag is pooled."""

    SUM = 0


class Error(IntEnum):
    """Why a command stopped; `position` says where."""

    NONE = 0  # no error
    FIELD = 1  # a descriptor field is not legal here; position: the field's word
    EXTENT = 2  # a buffer ends beyond the address space; position: its address field's word
    INDEX = 3  # a row index outside the table; position: the lookup
    OFFSET_START = 4  # the first offset is not 0; position: 0
    OFFSET_FALL = 5  # a bag ends before it starts; position: the bag
    OFFSET_END = 6  # offsets end off the number of lookups, or beyond it; position: the bag
    READ = 7  # the memory answered a read with an error; position: the burst's address
    WRITE = 8  # the memory answered a write with an error; position: the burst's address
    SCRATCH = 9  # less scratch space than the batch needs; position: the word of `scratch_bytes`
    WATCHDOG = 10  # nothing moved for WATCHDOG cycles; position: what was awaited, see Awaited


class Awaited(IntEnum):
    """Bits of the position of a WATCHDOG error: what the engine had offered or asked for."""

    READ_ADDRESS = 1  # a read burst stood on AR
    READ_DATA = 2  # a read burst was not answered on R
    WRITE_ADDRESS = 4  # a write burst stood on AW
    WRITE_DATA = 8  # a beat stood on W
    WRITE_ANSWER = 16  # a write burst was not answered on B


@dataclass(frozen=True)
class Register:
    """A 32-bit register; `wide` ones take the next word too, for their upper half."""

    name: str
    offset: int
    access: str  # "ro", "rw"; "w1c": a 1 written clears the bit
    meaning: str
    wide: bool = False
    reset: int = 0  # of an "rw" one
    counter: bool = False  # kept by Counters


READ_CLIENTS = (
    ("entries", "the main path's lists: indices, cast table, unique rows"),
    ("offsets", "the forward pass's offsets"),
    ("vectors", "rows or gradients to be summed"),
    ("rows", "rows to be updated"),
    ("cast_entries", "the cast's indices"),
    ("cast_offsets", "the cast's offsets"),
    ("runs", "spilled runs, to be merged"),
)
"""Who reads memory, in the order of the read port's clients, and what."""

MAIN_READERS = [name for name, _ in READ_CLIENTS].index("cast_entries")
"""The first so many of them belong to the main path, the others to the cast."""

WRITE_CLIENTS = (
    ("vectors", "sums and rows"),
    ("cast_table", "the cast table"),
    ("unique_rows", "the unique rows"),
    ("runs", "runs that are spilled"),
)
"""Who writes memory, and what."""

MAIN_WRITERS = 1
"""Likewise."""

UNITS = (
    ("interleave", "lookups into the interleaver"),
    ("fetch", "vectors' beats into the fetch"),
    ("reduce", "terms into the lanes"),
    ("update", "gradients into the update"),
    ("write", "words into the vector writer"),
    ("sort", "pairs into the sorter"),
    ("cast", "sorted pairs into the caster"),
)
"""Units that are watched, each at its input; the last two belong to the cast."""

CAST_UNITS = 2
"""So many."""

UNIT_STATES = (
    ("busy", "one went in"),
    ("starved", "it would have taken one, and there was none, while its path was active"),
    ("blocked", "one stood there, and it did not take it"),
)

COUNTER_BASE = 0x200
"""Offset of the first counter; each takes two words."""

COUNTERS = (
    ("TOTAL_CYCLES", "Cycles of the last command, from launch to last answer"),
    *(
        (f"{phase.name}_{counter}", meaning.format(phase.name.lower()))
        for phase in Phase
        for counter, meaning in (
            ("CYCLES", "Cycles of its {} phase"),
            ("READ_BEATS", "Beats that its {} phase read"),
            ("WRITE_BEATS", "Beats that its {} phase wrote"),
        )
    ),
    *((f"READ_{name.upper()}_BEATS", f"Beats read: {what}") for name, what in READ_CLIENTS),
    *((f"WRITE_{name.upper()}_BEATS", f"Beats written: {what}") for name, what in WRITE_CLIENTS),
    *(
        (f"{name.upper()}_{state.upper()}", f"Of {what}: cycles in which {condition}")
        for name, what in UNITS
        for state, condition in UNIT_STATES
    ),
)
"""Counters by name, and what they count of the last command; those of clients and units in it."""

REGISTERS = (
    Register("IDENTITY", 0x00, "ro", 'The word "CBAG", 0x43424147'),
    Register("VERSION", 0x04, "ro", "Version of this map: major << 16 | minor"),
    Register("BUS_BYTES", 0x08, "ro", "Bytes of a beat: buffers and row pitches are multiples"),
    Register("ADDRESS_BITS", 0x0C, "ro", "Width of a byte address"),
    Register("INDEX_BITS", 0x10, "ro", "A table has at most 1 << INDEX_BITS rows"),
    Register("BAG_BITS", 0x14, "ro", "A batch has at most 1 << BAG_BITS bags"),
    Register("MAX_LOOKUPS", 0x18, "ro", "Most lookups of a batch"),
    Register("MAX_DIM", 0x1C, "ro", "Most elements of a row"),
    Register("OPTIMIZERS", 0x20, "ro", "Bit k: optimizer k is built in"),
    Register("CONTROL", 0x24, "rw", "Bit 0: run; commands are taken from the ring while it is 1"),
    Register(
        "STATUS",
        0x28,
        "ro",
        "Bit 0: busy; bit 1: stopped by an error, see ERROR; bit 2: memory still owes answers",
    ),
    Register("IRQ_ENABLE", 0x2C, "rw", "Bit 0: command done; bit 1: command failed"),
    Register("IRQ", 0x30, "w1c", "Same bits: events since they were last cleared"),
    Register("RING_BASE", 0x34, "rw", "Byte address of the descriptor ring", wide=True),
    Register("RING_SIZE", 0x3C, "rw", "Descriptors in the ring, less one: 0 to 65535"),
    Register("TAIL", 0x40, "rw", "Slot after the last descriptor that the host has written"),
    Register("HEAD", 0x44, "ro", "Slot of the next descriptor to be taken"),
    Register(
        "ERROR",
        0x48,
        "w1c",
        "Code of the error that stopped the ring; a write of 1 resumes, once memory has answered",
    ),
    Register("ERROR_POSITION", 0x4C, "ro", "Where: a word, lookup, bag or address", wide=True),
    Register(
        "ERROR_PHASE", 0x54, "ro", "The phase that it happened in; 0 too while a descriptor is read"
    ),
    Register("VALID_LOOKUPS", 0x58, "ro", "Lookups of the last command that took part"),
    Register("DROPPED_LOOKUPS", 0x5C, "ro", "Its lookups dropped: out of bounds or padding"),
    Register("UNIQUE_ROWS", 0x60, "ro", "Its distinct rows"),
    Register("RUN_LENGTH", 0x6C, "ro", "L: more lookups are sorted in runs of L, through memory"),
    Register("MERGE_WAYS", 0x70, "ro", "K: runs that are merged at a time"),
    Register("RUN_BYTES", 0x74, "ro", "R: bytes of a spilled run"),
    Register(
        "WATCHDOG",
        0x78,
        "rw",
        "A command in which nothing moves for so many cycles is broken off; 0: never",
        reset=1 << 20,
    ),
    Register("READ_PORTS", 0x7C, "ro", "AXI4 read ports, among which addresses are dealt out"),
    *(
        Register(name, COUNTER_BASE + 8 * place, "ro", meaning, wide=True, counter=True)
        for place, (name, meaning) in enumerate(COUNTERS)
    ),
)

REGISTER_SPACE = 0x400
"""Bytes of the register window; a read of an unused offset gives 0."""

DESCRIPTOR_BYTES = 256
"""Pitch of the ring; a descriptor lies on a multiple of it."""


@dataclass(frozen=True)
class Field:
    """Bits of a descriptor: `bits` from bit `low` of 32-bit word `word` on (64: two words)."""

    name: str
    word: int
    low: int
    bits: int
    meaning: str


DESCRIPTOR = (
    Field("forward", 0, 0, 1, "Run the forward pass"),
    Field("backward", 0, 1, 1, "Run the backward pass and the update"),
    Field("dataflow", 0, 4, 4, "A Dataflow"),
    Field("optimizer", 0, 8, 4, "An Optimizer"),
    Field("mode", 0, 12, 4, "A Mode"),
    Field("wide_indices", 0, 16, 1, "Indices are 64-bit, else 32-bit; signed both"),
    Field("wide_offsets", 0, 17, 1, "Offsets are 64-bit, else 32-bit; signed both"),
    Field("ignore_bounds", 0, 18, 1, "Drop lookups outside the table instead of stopping"),
    Field("has_padding", 0, 19, 1, "Drop lookups of row `padding_index`"),
    Field("lookups", 1, 0, 32, "n: entries of `indices`"),
    Field("bags", 2, 0, 32, "B: `offsets` has B + 1 entries"),
    Field("dim", 3, 0, 32, "D: elements of a row"),
    Field("rows", 4, 0, 64, "N: rows of the table"),
    Field("padding_index", 6, 0, 32, "Row whose lookups are dropped"),
    Field("learning_rate", 8, 0, 32, "binary32"),
    Field("indices", 16, 0, 64, "Address of the row indices, n entries"),
    Field("offsets", 18, 0, 64, "Address of the offsets, B + 1 entries"),
    Field("table", 20, 0, 64, "Address of the table, N rows"),
    Field("gradient", 22, 0, 64, "Address of the bags' gradients, B rows"),
    Field("pooled", 24, 0, 64, "Address that takes the pooled bags, B rows"),
    Field("coalesced", 26, 0, 64, "Takes the coalesced gradient, up to n rows (not `fused`)"),
    Field("cast_table", 28, 0, 64, "Takes the cast table, up to n words (not `fused`)"),
    Field("unique_rows", 30, 0, 64, "Takes the unique rows, up to n words (not `fused`)"),
    Field("expanded", 32, 0, 64, "Takes the expanded gradient, n rows (`expand-coalesce`)"),
    Field("scratch", 34, 0, 64, "Takes the runs that a backward pass of n > L lookups spills"),
    Field("scratch_bytes", 36, 0, 64, "Bytes there, as many as are needed or more"),
)

DESCRIPTOR_WORDS = 38
"""Words of a descriptor that are read."""

SCRATCH_SPACE = (
    "With L = `RUN_LENGTH`, K = `MERGE_WAYS`, R = `RUN_BYTES`, a command with `backward` over n",
    "lookups, dropped ones counted too, spills up to `s = (n - 1) / L` runs (in whole numbers; 0",
    "if n is 0). It needs `s * R` bytes of scratch space; twice that, a half to read and a half",
    "to write, if `s > K`. Other commands need none: `scratch_bytes` may be 0 then.",
)
"""Lines of Markdown: how much scratch space a command needs."""


def field(name: str) -> Field:
    """The descriptor field of that name."""
    return next(entry for entry in DESCRIPTOR if entry.name == name)


def register(name: str) -> Register:
    """The register of that name."""
    return next(entry for entry in REGISTERS if entry.name == name)


def encode_descriptor(**values: int) -> bytes:
    """A descriptor's bytes, little-endian; fields not named are 0.

    Raises ValueError for a value that its field cannot hold.
    """
    words = [0] * (DESCRIPTOR_BYTES // 4)
    for name, value in values.items():
        entry = field(name)
        if not 0 <= value < 1 << entry.bits:
            raise ValueError(f"{name} = {value}: must fit {entry.bits} bits")
        for part in range(0, entry.bits, 32):
            words[entry.word + part // 32] |= (value >> part & 0xFFFF_FFFF) << entry.low
    return b"".join(word.to_bytes(4, "little") for word in words)
