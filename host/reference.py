# SPDX-FileCopyrightText: castbag contributors
# SPDX-License-Identifier: BSD-2-Clause
"""`castbag.h` and `MAP.md`: the map of registers for a C driver, and for a reader.

Both are made from `castbag.rtl.control.map` and, for what a board adds, `castbag.rtl.soc.map`,
meanings included, and committed in `host/generated/`; a test holds the copies fresh.
`python -m castbag.host.reference` rewrites them.
"""

import inspect
import re
from collections.abc import Iterator, Sequence
from enum import IntEnum
from pathlib import Path

from castbag.rtl.control import map as control
from castbag.rtl.control.map import Register
from castbag.rtl.soc import map as board

ENUMS = (
    *(control.Phase, control.Dataflow, control.Optimizer, control.Mode),
    *(control.Error, control.Awaited),
)

BASES = (
    ("ENGINE_BASE", board.ENGINE_BASE, "The engine's registers"),
    ("BOARD_BASE", board.BOARD_BASE, "The board's registers"),
    ("MEMORY_BASE", board.MEMORY_BASE, "Memory, MEMORY_BYTES of it: the engine's address 0"),
)
"""Name, byte address and meaning of what lies in a board's address space."""

FOLDER = Path(__file__).parent / "generated"


def meanings(enum: type[IntEnum]) -> dict[str, str]:
    """The comment beside each member, which is where the map keeps its meaning."""
    found = dict(re.findall(r"^    (\w+) = \d+  # (.+)$", inspect.getsource(enum), re.MULTILINE))
    return {member.name: found.get(member.name, "") for member in enum}


def header() -> str:
    """The text of `castbag.h`: C99, and C++, without dependencies."""
    return "\n".join(_header_lines()) + "\n"


def _header_lines() -> Iterator[str]:
    yield "/* SPDX-FileCopyrightText: castbag contributors"
    yield " * SPDX-License-Identifier: BSD-2-Clause"
    yield " *"
    yield " * Registers and descriptors of the castbag engine, and what a board has around it."
    yield " * Made by castbag.host.reference from rtl/control/map.py and rtl/soc/map.py: change"
    yield " * those, not this. */"
    yield "#ifndef CASTBAG_H"
    yield "#define CASTBAG_H"
    yield ""
    yield "#include <stdint.h>"
    yield ""
    yield from _definitions(
        [
            ("CASTBAG_IDENTITY_VALUE", f"{control.IDENTITY:#010x}", "What IDENTITY reads"),
            ("CASTBAG_VERSION_VALUE", f"{control.VERSION:#010x}", "What VERSION reads"),
            ("CASTBAG_REGISTER_SPACE", f"{control.REGISTER_SPACE:#x}", "Bytes of the window"),
            ("CASTBAG_DESCRIPTOR_BYTES", str(control.DESCRIPTOR_BYTES), "Pitch of the ring"),
            ("CASTBAG_DESCRIPTOR_WORDS", str(control.DESCRIPTOR_WORDS), "Words that are read"),
        ]
    )
    yield ""
    yield "/* Registers: byte offsets; a wide one takes the next word too, for its upper half. */"
    yield from _register_definitions("CASTBAG_REG", control.REGISTERS)
    for enum in ENUMS:
        yield from _enum_definitions("CASTBAG", enum)
    yield ""
    yield "/* Descriptor fields, for castbag_put: word, lowest bit in it, bits. */"
    yield from _definitions(
        (f"CASTBAG_FIELD_{e.name.upper()}", f"{e.word}, {e.low}, {e.bits}", e.meaning)
        for e in control.DESCRIPTOR
    )
    yield ""
    yield "/* Put a value into a descriptor that was zeroed, for instance"
    yield " * castbag_put(descriptor, CASTBAG_FIELD_TABLE, address). A descriptor lies on a"
    yield " * multiple of CASTBAG_DESCRIPTOR_BYTES; its words are little-endian. */"
    yield "static inline void castbag_put(uint32_t *descriptor, unsigned word, unsigned low,"
    yield "                               unsigned bits, uint64_t value)"
    yield "{"
    yield "    descriptor[word] |= (uint32_t)(value << low);"
    yield "    if (bits > 32)"
    yield "        descriptor[word + 1] |= (uint32_t)(value >> 32);"
    yield "}"
    yield ""
    yield "/* Bytes of scratch space that a command with `backward` over so many lookups needs; the"
    yield " * other arguments are the registers of these names. */"
    yield "static inline uint64_t castbag_scratch_bytes(uint32_t lookups, uint32_t run_length,"
    yield "                                             uint32_t merge_ways, uint32_t run_bytes)"
    yield "{"
    yield "    uint32_t runs = lookups ? (lookups - 1) / run_length : 0;"
    yield "    return (uint64_t)runs * run_bytes * (runs > merge_ways ? 2 : 1);"
    yield "}"
    yield ""
    yield "/* A board: its address space, all of which its host reaches. */"
    yield from _definitions((f"CASTBAG_{name}", f"{at:#010x}", what) for name, at, what in BASES)
    yield from _definitions(
        [
            ("CASTBAG_BOARD_IDENTITY_VALUE", f"{board.IDENTITY:#010x}", "What its IDENTITY reads"),
            ("CASTBAG_BOARD_VERSION_VALUE", f"{board.VERSION:#010x}", "What its VERSION reads"),
            ("CASTBAG_BOARD_REGISTER_SPACE", f"{board.REGISTER_SPACE:#x}", "Bytes of the window"),
        ]
    )
    yield ""
    yield "/* A board's registers: byte offsets from CASTBAG_BOARD_BASE. */"
    yield from _register_definitions("CASTBAG_BOARD_REG", board.REGISTERS)
    yield from _enum_definitions("CASTBAG_BOARD", board.Test)
    yield ""
    yield "#endif"


def _register_definitions(prefix: str, registers: Sequence[Register]) -> Iterator[str]:
    return _definitions(
        (
            f"{prefix}_{entry.name}",
            f"{entry.offset:#05x}",
            f"{entry.access}{', wide' if entry.wide else ''}: {entry.meaning}",
        )
        for entry in registers
    )


def _enum_definitions(prefix: str, enum: type[IntEnum]) -> Iterator[str]:
    yield ""
    yield f"/* {inspect.getdoc(enum)} */"
    meaning = meanings(enum)
    yield from _definitions(
        (f"{prefix}_{enum.__name__.upper()}_{m.name}", str(m.value), meaning[m.name]) for m in enum
    )


def _definitions(rows) -> Iterator[str]:
    for name, value, meaning in rows:
        comment = f" /* {meaning} */" if meaning else ""
        yield f"#define {name} {value}{comment}"


def page() -> str:
    """The text of `MAP.md`, in Markdown."""
    return "\n".join(_page_lines()) + "\n"


def _page_lines() -> Iterator[str]:
    yield "<!-- SPDX-FileCopyrightText: castbag contributors -->"
    yield "<!-- SPDX-License-Identifier: BSD-2-Clause -->"
    yield "<!-- Made by castbag.host.reference from rtl/control/map.py and rtl/soc/map.py: change"
    yield "     those, not this. -->"
    yield ""
    yield "# What a host sees"
    yield ""
    yield "A host writes descriptors into a ring in memory, moves `TAIL`, and waits for the"
    yield "interrupt. All words are 32 bits, little-endian."
    yield ""
    yield "## Registers"
    yield ""
    yield "A wide register takes two words, the upper half in the second."
    yield ""
    yield from _register_rows(control.REGISTERS)
    yield ""
    yield f"The window has {control.REGISTER_SPACE:#x} bytes; an unused offset reads 0."
    yield "`ro` is read-only, `rw` is read and written; a 1 written to a bit of `w1c` clears it."
    yield f"Those from {control.COUNTER_BASE:#x} on count exactly, once a command has ended; the"
    yield "upper half of one is that of when its lower half was last read. After a reset all `rw`"
    yield f"registers are 0, but {_resets()}."
    yield ""
    yield "## Descriptor"
    yield ""
    yield f"A descriptor lies on a multiple of {control.DESCRIPTOR_BYTES} bytes; its first"
    yield f"{control.DESCRIPTOR_WORDS} words are read. Buffers and row pitches are multiples of"
    yield "`BUS_BYTES`."
    yield ""
    yield from _rows("word | bits | name | meaning", "-:|---|---|---")
    for entry in control.DESCRIPTOR:
        high = entry.low + entry.bits - 1
        bits = str(entry.low) if high == entry.low else f"{high}:{entry.low}"
        yield f"| {entry.word} | {bits} | `{entry.name}` | {entry.meaning} |"
    yield ""
    yield from control.SCRATCH_SPACE
    for enum in ENUMS:
        yield ""
        yield from _enum_lines(f"## {enum.__name__}", enum)
    yield ""
    yield "## A board"
    yield ""
    yield "A board's host reaches the engine's registers, the board's own and memory in one address"
    yield "space of 32 bits, a word at a time."
    yield ""
    yield from _rows("base | name | what lies there", "-:|---|---")
    yield from (f"| {at:#010x} | `{name}` | {what} |" for name, at, what in BASES)
    yield ""
    yield "### A board's registers"
    yield ""
    yield "Offsets are from `BOARD_BASE`."
    yield ""
    yield from _register_rows(board.REGISTERS)
    yield ""
    yield f"The window has {board.REGISTER_SPACE:#x} bytes; an unused offset reads 0, and so does"
    yield "every `rw` register after a reset. A 1 written to bit 0 of a `w1c` register starts what"
    yield "its meaning says. A text ends with its first zero byte, or with its last register."
    yield ""
    yield from _enum_lines(f"### {board.Test.__name__}", board.Test)


def _register_rows(registers: Sequence[Register]) -> Iterator[str]:
    yield from _rows("offset | name | access | meaning", "-:|---|---|---")
    for entry in registers:
        access = f"{entry.access}, wide" if entry.wide else entry.access
        meaning = entry.meaning.replace("|", "\\|")
        yield f"| {entry.offset:#05x} | `{entry.name}` | {access} | {meaning} |"


def _enum_lines(title: str, enum: type[IntEnum]) -> Iterator[str]:
    yield title
    yield ""
    yield f"{inspect.getdoc(enum)}"
    yield ""
    meaning = meanings(enum)
    if not any(meaning.values()):
        yield from _rows("value | name", "-:|---")
        yield from (f"| {member.value} | `{member.name}` |" for member in enum)
        return
    yield from _rows("value | name | meaning", "-:|---|---")
    for member in enum:
        text = meaning[member.name]
        yield f"| {member.value} | `{member.name}` | {text[:1].upper() + text[1:]} |"


def _resets() -> str:
    return ", ".join(f"`{e.name}`, {e.reset}" for e in control.REGISTERS if e.reset)


def _rows(titles: str, rule: str) -> tuple[str, str]:
    return f"| {titles} |", f"|{rule}|"


def generated() -> dict[Path, str]:
    """Each committed file and the text that it must hold."""
    return {FOLDER / "castbag.h": header(), FOLDER / "MAP.md": page()}


if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    for path, text in generated().items():
        path.write_text(text)
        print(f"wrote {path}")
