# SPDX-FileCopyrightText: castbag contributors
# SPDX-License-Identifier: BSD-2-Clause

"""Where a step's arrays lie, and that a byte out of place is seen."""

import numpy as np
import pytest

from castbag.host.buffers import GUARD, Buffer, Layout
from castbag.host.files import Refused
from castbag.rtl.config import PRESETS, EngineConfig

SIZES = {"lookups": 5, "bags": 3, "rows": 7, "dim": 3, "index_bytes": 8, "offset_bytes": 4}


def layout(config=PRESETS["base"], *, op="step", dataflows=("fused",), **sizes):
    return Layout.of(config, op=op, dataflows=dataflows, **{**SIZES, **sizes})


@pytest.mark.parametrize(
    ("op", "dataflows", "names"),
    [
        ("forward", ["expand-coalesce"], "indices offsets pooled table"),
        ("backward", ["fused"], "indices offsets gradient table"),
        ("step", ["fused"], "indices offsets pooled gradient table"),
        (
            "step",
            ["fused", "cast"],
            "indices offsets pooled gradient cast_table unique_rows coalesced table",
        ),
        (
            "step",
            ["expand-coalesce"],
            "indices offsets pooled gradient cast_table unique_rows coalesced expanded table",
        ),
    ],
)
def test_what_an_operation_needs(op, dataflows, names):
    assert list(layout(op=op, dataflows=dataflows).buffers) == names.split()


@pytest.mark.parametrize(
    ("lookups", "shape"),
    [
        # Runs of 4096 pairs of 7 bytes, 16 of them merged at a time.
        (4096, None),
        (4097, (1, 28672)),
        (16 * 4096, (1, 15 * 28672)),
        (16 * 4096 + 1, (1, 16 * 28672)),
        (17 * 4096, (1, 16 * 28672)),
        (17 * 4096 + 1, (2, 17 * 28672)),
    ],
)
def test_scratch_space_of_a_long_batch(lookups, shape):
    made = layout(lookups=lookups).buffers.get("scratch")
    assert (made and (made.rows, made.pitch)) == shape
    assert made is None or made.row_bytes == made.pitch
    assert "scratch" not in layout(lookups=lookups, op="forward").buffers
    assert ("scratch" in layout(lookups=lookups, op="backward").buffers) == bool(shape)


@pytest.mark.parametrize("preset", PRESETS)
@pytest.mark.parametrize("dim", [1, 3, 16, 17, 64])
def test_buffers_are_aligned_apart_and_large_enough(preset, dim):
    config = PRESETS[preset]
    made = layout(config, dim=dim, dataflows=["expand-coalesce"])
    end = 0x1000
    for buffer in made.buffers.values():
        start, size = buffer.extent
        assert start >= end and buffer.address % 4096 == 0
        assert (start, size) == (buffer.address - GUARD, buffer.size + 2 * GUARD)
        assert (
            start % config.bus_bytes == size % config.bus_bytes == buffer.pitch % config.bus_bytes
        )
        end = start + size
    assert made.memory_bytes % 4096 == 0 and end <= made.memory_bytes < end + 4096
    by_name = made.buffers
    pitch = -(-4 * dim // config.bus_bytes) * config.bus_bytes
    assert by_name["table"].size == 7 * pitch
    assert by_name["pooled"].size == by_name["gradient"].size == 3 * pitch
    assert by_name["coalesced"].size == by_name["expanded"].size == 5 * pitch
    assert by_name["indices"].row_bytes == 5 * 8 and by_name["offsets"].row_bytes == 4 * 4
    assert by_name["cast_table"].row_bytes == by_name["unique_rows"].row_bytes == 5 * 4


def test_the_last_byte_of_the_address_space_may_be_used():
    config = EngineConfig(bus_bits=64, address_bits=16, max_dim=512)
    rows = layout(config, dim=2, rows=1, lookups=0, bags=0, op="forward")
    free = (1 << 16) - rows.buffers["table"].address - GUARD
    assert layout(config, dim=2, rows=free // 8, lookups=0, bags=0, op="forward").memory_bytes == (
        1 << 16
    )
    with pytest.raises(Refused, match="^table larger than the address space: .* ends at 0x10000$"):
        layout(config, dim=2, rows=free // 8 + 1, lookups=0, bags=0, op="forward")


def test_another_buffer_may_be_too_large():
    with pytest.raises(Refused, match="^pooled larger than the address space: 34359738368 bytes"):
        layout(EngineConfig(bus_bits=64, address_bits=32, max_dim=512), bags=1 << 24, dim=512)


def buffer(**changed):
    return Buffer(
        **{"name": "b", "address": 4096, "rows": 3, "row_bytes": 12, "pitch": 16} | changed
    )


def test_data_comes_back_and_pads_are_noise():
    data = np.arange(9, dtype=np.float32).reshape(3, 3)
    image = buffer().image(data)
    assert len(image) == 48 + 2 * GUARD
    assert image[GUARD : GUARD + 12] == data[0].tobytes()
    assert buffer().read(image, "<f4").tobytes() == data.tobytes()
    around = np.frombuffer(image[:GUARD] + image[-GUARD:], np.uint8)
    assert np.unique(around).size > 128
    pads = np.frombuffer(image[GUARD:-GUARD], np.uint8).reshape(3, 16)[:, 12:]
    assert len({pad.tobytes() for pad in pads}) == 3


@pytest.mark.parametrize("shape", [{"rows": 0}, {"rows": 1, "row_bytes": 0, "pitch": 0}])
def test_an_empty_buffer_has_guards_only(shape):
    empty = buffer(**shape)
    data = np.zeros((empty.rows, empty.row_bytes // 4), np.float32)
    image = empty.image(data)
    assert len(image) == 2 * GUARD
    assert empty.read(image, "<f4").shape == data.shape
    assert empty.stray(image, image, rows=empty.rows, row_bytes=empty.row_bytes) is None


def test_every_byte_out_of_place_is_seen():
    before = buffer().image(None)
    for place in range(len(before)):
        after = bytearray(before)
        after[place] ^= 1
        row, column = divmod(place - GUARD, 16)
        inside = 0 <= row < 2 and column < 8  # two rows of two elements are written
        stray = buffer().stray(before, bytes(after), rows=2, row_bytes=8)
        assert stray == (None if inside else 4096 - GUARD + place)
