# SPDX-FileCopyrightText: castbag contributors
# SPDX-License-Identifier: BSD-2-Clause

"""Bytes moved, against numbers counted by hand."""

import pytest

from castbag.golden.batch import Batch
from castbag.golden.traffic import phase_traffic, terms

# The worked example: n = v = 4, B = E = 2, U = 3.
EXAMPLE = Batch.of([2, 5, 2, 0], [0, 2], rows=6)
# Padding and empty bags: n = 7, v = 4 (rows 1 8 1 1), B = 5, E = 2, U = 2.
HOLES = Batch.of([1, 8, 0, 1, 0, 0, 1], [0, 0, 4, 4, 6], rows=9, padding_idx=0)


def traffic(batch, **arguments):
    """Bytes (read, written) of each phase."""
    moved = phase_traffic(batch, **arguments)
    return {phase: (each.bytes_read, each.bytes_written) for phase, each in moved.items()}


@pytest.mark.parametrize(
    ("dataflow", "expected"),
    [
        # On 16-byte beats: 4 indices of 8 bytes are 2 beats, 3 offsets of 8 bytes are 2 beats,
        # a row of 8 elements 2, the cast table of 4 entries 1, the list of 3 rows 1.
        ("fused", {"forward": (192, 64), "cast": (64, 0), "backward": (224, 96)}),
        (
            "cast",
            {
                "forward": (192, 64),  # (2 + 2 + 4*2, 2*2) beats
                "cast": (64, 32),  # (2 + 2, 1 + 1)
                "backward": (144, 96),  # (1 + 4*2, 3*2)
                "update": (208, 96),  # (1 + 3*2 + 3*2, 3*2)
            },
        ),
        (
            "expand-coalesce",
            {
                "forward": (192, 64),
                "cast": (64, 32),
                "expand": (128, 128),  # (2 + 2 + 2*2, 4*2)
                "coalesce": (144, 96),  # (1 + 4*2, 3*2)
                "update": (208, 96),
            },
        ),
    ],
)
def test_worked_example(dataflow, expected):
    moved = traffic(EXAMPLE, dim=8, bus_bytes=16, index_bytes=8, offset_bytes=8, dataflow=dataflow)
    assert list(moved.items()) == list(expected.items())  # in this order, too


@pytest.mark.parametrize(
    ("dataflow", "expected"),
    [
        # On 8-byte beats: 7 indices of 4 bytes are 4 beats, 6 offsets of 8 bytes are 6 beats,
        # a row of 3 elements 2, the cast table of 4 entries 2, the list of 2 rows 1.
        ("fused", {"forward": (144, 80), "cast": (80, 0), "backward": (96, 32)}),
        (
            "cast",
            {
                "forward": (144, 80),  # (4 + 6 + 4*2, 5*2) beats
                "cast": (80, 24),  # (4 + 6, 2 + 1)
                "backward": (80, 32),  # (2 + 4*2, 2*2)
                "update": (72, 32),  # (1 + 2*2 + 2*2, 2*2)
            },
        ),
        (
            "expand-coalesce",
            {
                "forward": (144, 80),
                "cast": (80, 24),
                "expand": (112, 64),  # (4 + 6 + 2*2, 4*2)
                "coalesce": (80, 32),
                "update": (72, 32),
            },
        ),
    ],
)
def test_dropped_lookups_and_empty_bags(dataflow, expected):
    moved = traffic(HOLES, dim=3, bus_bytes=8, index_bytes=4, offset_bytes=8, dataflow=dataflow)
    assert list(moved.items()) == list(expected.items())


def test_narrow_offsets():
    sizes = {"dim": 8, "bus_bytes": 4, "index_bytes": 8, "dataflow": "fused"}
    # 4 indices are 8 beats; 3 offsets are 3 beats or 6.
    assert traffic(EXAMPLE, offset_bytes=4, **sizes)["cast"] == (44, 0)
    assert traffic(EXAMPLE, offset_bytes=8, **sizes)["cast"] == (56, 0)


def test_a_row_narrower_than_the_bus_takes_a_beat():
    moved = traffic(EXAMPLE, dim=1, bus_bytes=32, index_bytes=4, offset_bytes=4, dataflow="fused")
    assert moved == {"forward": (192, 64), "cast": (64, 0), "backward": (224, 96)}


def test_an_empty_batch_still_reads_its_one_offset():
    for dataflow in ("fused", "cast", "expand-coalesce"):
        moved = traffic(
            Batch.of([], [], rows=6),
            dim=8,
            bus_bytes=16,
            index_bytes=8,
            offset_bytes=8,
            dataflow=dataflow,
        )
        readers = {"forward", "cast", "expand"}
        assert moved == {phase: (16 * (phase in readers), 0) for phase in moved}


@pytest.mark.parametrize("dataflow", ["fused", "cast", "expand-coalesce"])
def test_operations_choose_phases(dataflow):
    sizes = {"dim": 8, "bus_bytes": 16, "index_bytes": 8, "offset_bytes": 8, "dataflow": dataflow}
    whole = traffic(EXAMPLE, **sizes)
    assert traffic(EXAMPLE, op="forward", **sizes) == {"forward": (192, 64)}
    assert whole.pop("forward") == (192, 64)
    assert traffic(EXAMPLE, op="backward", **sizes) == whole


def test_every_term_has_a_reason_of_its_own():
    for dataflow in ("fused", "cast", "expand-coalesce"):
        listed = list(
            terms(EXAMPLE, dim=8, bus_bytes=16, index_bytes=8, offset_bytes=8, dataflow=dataflow)
        )
        named = {(term.phase, term.direction, term.reason) for term in listed}
        assert len(named) == len(listed)
        assert all(term.reason for term in listed)


@pytest.mark.parametrize(
    ("argument", "value", "message"),
    [
        ("dim", 0, "dim is 0; a row has 1 element or more"),
        ("bus_bytes", 0, "bus_bytes is 0; it must be a power of two"),
        ("bus_bytes", 24, "bus_bytes is 24; it must be a power of two"),
        ("index_bytes", 2, "index_bytes is 2; it must be 4 or 8"),
        ("offset_bytes", 16, "offset_bytes is 16; it must be 4 or 8"),
        (
            "dataflow",
            "magic",
            "dataflow is 'magic'; it must be one of fused, cast, expand-coalesce",
        ),
        ("op", "sideways", "op is 'sideways'; it must be 'step', 'forward' or 'backward'"),
    ],
)
def test_bad_arguments_are_refused(argument, value, message):
    arguments = {
        "dim": 8,
        "bus_bytes": 16,
        "index_bytes": 8,
        "offset_bytes": 8,
        "dataflow": "fused",
        "op": "step",
    }
    with pytest.raises(ValueError, match=f"^{message}$"):
        phase_traffic(EXAMPLE, **(arguments | {argument: value}))
