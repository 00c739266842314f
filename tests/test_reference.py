# SPDX-FileCopyrightText: castbag contributors
# SPDX-License-Identifier: BSD-2-Clause

"""`castbag.h` and `MAP.md`: fresh, complete, and right in the eyes of a C compiler."""

import re
import shutil
import subprocess

import pytest

from castbag.host.reference import FOLDER, generated, header, meanings, page
from castbag.rtl.control.map import DESCRIPTOR, REGISTERS, Error, Phase, encode_descriptor
from castbag.rtl.soc import map as board


def test_the_committed_copies_are_fresh():
    assert {path.name: path.read_text() for path in sorted(FOLDER.iterdir())} == {
        path.name: text for path, text in sorted(generated().items())
    }, "run: python -m castbag.host.reference"


def test_every_register_and_field_is_there():
    text, markdown = header(), page()
    for entry in REGISTERS:
        assert f"#define CASTBAG_REG_{entry.name} {entry.offset:#05x} " in text
        assert f"| {entry.offset:#05x} | `{entry.name}` | {entry.access}" in markdown
    for entry in DESCRIPTOR:
        value = f"{entry.word}, {entry.low}, {entry.bits}"
        assert f"#define CASTBAG_FIELD_{entry.name.upper()} {value} " in text
        assert f"| `{entry.name}` | {entry.meaning} |" in markdown


def test_a_boards_space_and_every_register_and_bit_is_there():
    text = header()
    markdown = page()[page().index("\n## A board\n") :]
    for name in ("ENGINE_BASE", "BOARD_BASE", "MEMORY_BASE"):
        base = getattr(board, name)
        assert f"#define CASTBAG_{name} {base:#010x} " in text
        assert f"| {base:#010x} | `{name}` |" in markdown
    for entry in board.REGISTERS:
        assert f"#define CASTBAG_BOARD_REG_{entry.name} {entry.offset:#05x} " in text
        assert f"| {entry.offset:#05x} | `{entry.name}` | {entry.access}" in markdown
    for bit in board.Test:
        assert f"#define CASTBAG_BOARD_TEST_{bit.name} {bit.value} " in text
        assert f"| {bit.value} | `{bit.name}` |" in markdown


def test_every_phase_and_error_has_a_meaning():
    for enum in (Phase, Error, board.Test):
        assert all(meanings(enum).values())


def test_no_name_is_defined_twice():
    names = re.findall(r"^#define (\w+)", header(), re.MULTILINE)
    assert len(names) == len(set(names))


PROGRAM = """
#include <stdio.h>
#include "castbag.h"

int main(void)
{
    uint32_t descriptor[CASTBAG_DESCRIPTOR_BYTES / 4] = {0};
    castbag_put(descriptor, CASTBAG_FIELD_BACKWARD, 1);
    castbag_put(descriptor, CASTBAG_FIELD_DATAFLOW, CASTBAG_DATAFLOW_FUSED);
    castbag_put(descriptor, CASTBAG_FIELD_WIDE_OFFSETS, 1);
    castbag_put(descriptor, CASTBAG_FIELD_LOOKUPS, 0xfedcba98);
    castbag_put(descriptor, CASTBAG_FIELD_TABLE, UINT64_C(0x123456789abcdef0));
    for (int word = 0; word < CASTBAG_DESCRIPTOR_BYTES / 4; word++)
        printf("%08x\\n", (unsigned)descriptor[word]);
    for (int runs = 0; runs < 6; runs++)
        for (int more = 0; more < 2; more++)
            printf("%llu\\n", (unsigned long long)castbag_scratch_bytes(
                64 * runs + more, 64, 4, 0x80000000));
    return 0;
}
"""


@pytest.mark.parametrize("language", ["c99", "c++11"])
def test_c_puts_what_python_encodes(tmp_path, language):
    compiler = shutil.which("g++")
    assert compiler, "the simulator needs g++, so it is there"
    (tmp_path / "put.c").write_text(PROGRAM)
    flags = ["-x", "c" if language == "c99" else "c++", f"-std={language}", "-pedantic"]
    strict = ["-Wall", "-Wextra", "-Werror", "-I", str(FOLDER)]
    program = tmp_path / "put"
    source = str(tmp_path / "put.c")
    subprocess.run([compiler, *flags, *strict, source, "-o", str(program)], check=True)
    words = subprocess.run([program], check=True, capture_output=True, text=True).stdout.split()
    made = b"".join(int(word, 16).to_bytes(4, "little") for word in words[:64])
    assert made == encode_descriptor(
        backward=1, dataflow=2, wide_offsets=1, lookups=0xFEDCBA98, table=0x123456789ABCDEF0
    )
    # 0 and 1 lookups, 64 and 65, ...: the runs before the last one, from 5 on twice
    runs = [0, 0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 2 * 5]
    assert [int(word) for word in words[64:]] == [count << 31 for count in runs]
