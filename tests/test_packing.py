# SPDX-FileCopyrightText: castbag contributors
# SPDX-License-Identifier: BSD-2-Clause
"""How runs lie in memory: sizes worked by hand, and what must hold for any configuration."""

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from castbag.golden.traffic import Runs
from castbag.rtl.config import PRESETS
from castbag.rtl.packing import Packing


def power(low, high):
    """A power of two, `2**low` to `2**high`."""
    return st.integers(low, high).map(lambda exponent: 1 << exponent)


@st.composite
def packings(draw):
    sizes = {
        "pair_bits": draw(st.integers(8, 64)),
        "bus_bytes": draw(power(3, 7)),
        "burst_beats": draw(power(1, 8)),
        "run_length": draw(power(4, 14)),
        "merge_ways": draw(power(2, 6)),
        "way_pairs": draw(power(4, 12)),
    }
    try:
        return Packing(**sizes)
    except ValueError:
        assume(False)


def test_pairs_of_seven_bytes_are_eight_in_seven_slots():
    # `base`: 32 + 24 bits, 16-byte beats. A chunk of 4 groups: 28 slots of 8 bytes, 14 beats.
    packing = PRESETS["base"].packing
    assert (packing.pair_bytes, packing.slot_bytes, packing.spare_bytes) == (7, 8, 1)
    assert (packing.group_pairs, packing.group_slots, packing.beat_slots) == (8, 7, 2)
    assert (packing.chunk_pairs, packing.chunk_beats) == (32, 14)
    assert packing.run_bytes == 4096 * 7


def test_pairs_of_four_bytes_have_nothing_to_spare():
    # `tiny`: 16 + 14 bits, 8-byte beats, and bursts of 8 of them.
    packing = PRESETS["tiny"].packing
    assert (packing.pair_bytes, packing.slot_bytes, packing.spare_bytes) == (4, 4, 0)
    assert (packing.group_pairs, packing.group_slots, packing.beat_slots) == (1, 1, 2)
    assert (packing.chunk_pairs, packing.chunk_beats) == (16, 8)
    assert packing.run_bytes == 64 * 4


def test_pairs_of_six_bytes_are_four_in_three_slots():
    # `ulx3s`: 22 + 20 bits; two bytes to spare in a slot take a third of a pair.
    packing = PRESETS["ulx3s"].packing
    assert (packing.pair_bytes, packing.slot_bytes, packing.spare_bytes) == (6, 8, 2)
    assert (packing.group_pairs, packing.group_slots, packing.beat_slots) == (4, 3, 1)
    assert packing.run_bytes == 4096 * 6


@given(packings())
def test_a_group_holds_its_pairs(packing):
    assert packing.pair_bytes <= packing.slot_bytes < 2 * packing.pair_bytes
    room = packing.slot_bytes - packing.pair_bytes
    assert packing.spare_bytes <= room
    if packing.group_pairs > 1:
        assert packing.group_slots * packing.spare_bytes >= packing.pair_bytes
        assert packing.group_slots == packing.group_pairs - 1
    else:
        assert room == 0 and packing.group_slots == 1


@given(packings())
def test_runs_are_whole_chunks_of_whole_beats(packing):
    chunk_bytes = packing.chunk_beats * packing.bus_bytes
    groups = packing.chunk_pairs // packing.group_pairs
    assert groups * packing.group_pairs == packing.chunk_pairs
    assert groups * packing.group_slots * packing.slot_bytes == chunk_bytes
    assert packing.run_length % packing.chunk_pairs == 0
    assert 4 * packing.chunk_pairs <= packing.way_pairs
    chunks = packing.run_length // packing.chunk_pairs
    assert packing.run_bytes == chunks * chunk_bytes >= packing.run_length * packing.pair_bytes


@pytest.mark.parametrize(
    ("lookups", "spilled", "passes", "runs"),
    [
        # `tiny`: runs of 64 pairs, merged 4 at a time; the last column are runs of scratch space
        (0, 0, 0, 0),
        (1, 0, 0, 0),
        (64, 0, 0, 0),
        (65, 1, 0, 1),
        (128, 1, 0, 1),
        (129, 2, 0, 2),
        (4 * 64, 3, 0, 3),
        (4 * 64 + 1, 4, 0, 4),
        (5 * 64, 4, 0, 4),
        (5 * 64 + 1, 5, 1, 2 * 5),
        (17 * 64, 16, 1, 2 * 16),
        (17 * 64 + 1, 17, 2, 2 * 17),
        (1 << 14, 255, 3, 2 * 255),  # 255, 64, 16, 4
    ],
)
def test_runs_spilled_and_scratch_space(lookups, spilled, passes, runs):
    packing = PRESETS["tiny"].packing
    assert packing.spilled_runs(lookups) == spilled
    assert packing.merge_passes(lookups) == passes
    assert packing.scratch_bytes(lookups) == runs * 256


@given(packings(), st.integers(0, 1 << 24))
def test_the_golden_formula_counts_the_same_runs(packing, lookups):
    golden = Runs(
        run_length=packing.run_length, merge_ways=packing.merge_ways, run_bytes=packing.run_bytes
    )
    assert packing.spilled_runs(lookups) == golden.spilled(lookups)
    assert packing.merge_passes(lookups) == golden.passes(lookups)


SIZES = {
    "pair_bits": 56,
    "bus_bytes": 16,
    "burst_beats": 16,
    "run_length": 4096,
    "merge_ways": 16,
    "way_pairs": 128,
}


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"way_pairs": 32}, "way_pairs = 32: must be at least 64, four chunks of 7 beats"),
        (
            {"bus_bytes": 128, "run_length": 64, "way_pairs": 4096},
            "run_length = 64: must be at least 128, a chunk of 7 beats",
        ),
    ],
)
def test_buffers_too_small_for_a_chunk_are_refused(changed, message):
    with pytest.raises(ValueError, match=f"^{message}$"):
        Packing(**SIZES | changed)
