# SPDX-FileCopyrightText: castbag contributors
# SPDX-License-Identifier: BSD-2-Clause

"""Bytes moved, against numbers counted by hand."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from castbag.golden.batch import Batch
from castbag.golden.traffic import Runs, phase_traffic, terms

# The worked example: n = v = 4, B = E = 2, U = 3.
EXAMPLE = Batch.of([2, 5, 2, 0], [0, 2], rows=6)
# Padding and empty bags: n = 7, v = 4 (rows 1 8 1 1), B = 5, E = 2, U = 2.
HOLES = Batch.of([1, 8, 0, 1, 0, 0, 1], [0, 0, 4, 4, 6], rows=9, padding_idx=0)
# Longer than a run of 4: n = 12, v = 10 (all but the rows 3), B = E = 1, U = 10.
LONG = Batch.of([3, 0, 1, 2, 4, 5, 3, 6, 7, 8, 9, 10], [0], rows=11, padding_idx=3)


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


@pytest.mark.parametrize(
    ("dataflow", "ways", "expected"),
    [
        # On 8-byte beats: 12 indices of 4 bytes are 6 beats, 2 offsets of 4 bytes 1, a row of 2
        # elements 1, cast table and row list of 10 entries 5 each. Of 10 pairs the first 8 are
        # spilled, in 4 runs of 16 bytes: 8 beats. With 4 ways they are merged at once, and with
        # the fifth; with 2 ways a pass has to make 2 runs of them before.
        ("fused", 4, {"forward": (17, 1), "cast": (7, 8), "backward": (10 + 10 + 8, 10)}),
        ("fused", 2, {"forward": (17, 1), "cast": (7 + 8, 16), "backward": (10 + 10 + 8, 10)}),
        (
            "cast",
            4,
            {
                "forward": (17, 1),
                "cast": (7 + 8, 8 + 5 + 5),
                "backward": (5 + 10, 10),
                "update": (5 + 10 + 10, 10),
            },
        ),
        (
            "expand-coalesce",
            2,
            {
                "forward": (17, 1),
                "cast": (7 + 8 + 8, 8 + 8 + 5 + 5),
                "expand": (7 + 1, 10),
                "coalesce": (5 + 10, 10),
                "update": (5 + 10 + 10, 10),
            },
        ),
    ],
)
def test_spilled_runs(dataflow, ways, expected):
    moved = traffic(
        LONG,
        dim=2,
        bus_bytes=8,
        index_bytes=4,
        offset_bytes=4,
        dataflow=dataflow,
        runs=Runs(run_length=2, merge_ways=ways, run_bytes=16),
    )
    in_beats = {phase: (8 * read, 8 * written) for phase, (read, written) in expected.items()}
    assert list(moved.items()) == list(in_beats.items())


@pytest.mark.parametrize(
    ("pairs", "spilled", "passes"),
    [
        *((0, 0, 0), (1, 0, 0), (4, 0, 0), (5, 1, 0), (8, 1, 0), (9, 2, 0)),
        *((12, 2, 0), (13, 3, 0), (16, 3, 0), (17, 4, 1), (40, 9, 1), (41, 10, 2), (160, 39, 3)),
    ],
)
def test_runs_of_4_merged_3_at_a_time(pairs, spilled, passes):
    # 10 runs become 4 and then 2; 9 become 3, which are few enough for the last merge.
    runs = Runs(run_length=4, merge_ways=3, run_bytes=8)
    assert (runs.spilled(pairs), runs.passes(pairs)) == (spilled, passes)


@given(st.integers(0, 1 << 24), st.integers(1, 1 << 14), st.integers(2, 64))
def test_passes_are_as_few_as_can_be(pairs, length, ways):
    runs = Runs(run_length=length, merge_ways=ways, run_bytes=8)
    spilled, passes = runs.spilled(pairs), runs.passes(pairs)
    # The last run has a pair at least, and no more than the others.
    assert spilled * length < pairs <= (spilled + 1) * length or (pairs, spilled) == (0, 0)
    left = [-(-spilled // ways**done) for done in range(passes + 1)]
    assert left[-1] <= ways and all(many > ways for many in left[:-1])


@given(
    st.lists(st.integers(0, 9), max_size=60),
    st.integers(1, 20),
    st.integers(2, 5),
    st.sampled_from(["fused", "cast", "expand-coalesce"]),
)
def test_what_is_spilled_is_written_and_read_once_a_pass(indices, length, ways, dataflow):
    batch = Batch.of(indices, [0], rows=10, padding_idx=9)
    sizes = {"dim": 3, "bus_bytes": 8, "index_bytes": 4, "offset_bytes": 4, "dataflow": dataflow}
    runs = Runs(run_length=length, merge_ways=ways, run_bytes=40)
    on_chip, spilling = traffic(batch, **sizes), traffic(batch, **sizes, runs=runs)
    more = {
        phase: tuple(b - a for a, b in zip(on_chip[phase], spilling[phase], strict=True))
        for phase in on_chip
    }
    valid = sum(index != 9 for index in indices)
    once = 40 * runs.spilled(valid)
    passed = runs.passes(valid) * once
    last_merge = "backward" if dataflow == "fused" else "cast"
    expected = dict.fromkeys(on_chip, (0, 0)) | {last_merge: (once, 0)}
    expected["cast"] = (expected["cast"][0] + passed, once + passed)
    assert more == expected
    if valid <= length:
        assert spilling == on_chip


@pytest.mark.parametrize("dataflow", ["fused", "cast", "expand-coalesce"])
def test_operations_choose_phases(dataflow):
    sizes = {"dim": 8, "bus_bytes": 16, "index_bytes": 8, "offset_bytes": 8, "dataflow": dataflow}
    whole = traffic(EXAMPLE, **sizes)
    assert traffic(EXAMPLE, op="forward", **sizes) == {"forward": (192, 64)}
    assert whole.pop("forward") == (192, 64)
    assert traffic(EXAMPLE, op="backward", **sizes) == whole


def test_every_term_has_a_reason_of_its_own():
    for dataflow in ("fused", "cast", "expand-coalesce"):
        sizes = {"dim": 8, "bus_bytes": 16, "index_bytes": 8, "offset_bytes": 8}
        runs = Runs(run_length=1, merge_ways=2, run_bytes=16)
        listed = list(terms(EXAMPLE, dataflow=dataflow, runs=runs, **sizes))
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
        (
            "runs",
            Runs(run_length=4, merge_ways=4, run_bytes=24),
            "run_bytes is 24; it must be a multiple of 16",
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


@pytest.mark.parametrize(
    ("field", "value", "least"), [("run_length", 0, 1), ("merge_ways", 1, 2), ("run_bytes", 0, 1)]
)
def test_impossible_runs_are_refused(field, value, least):
    sizes = {"run_length": 4, "merge_ways": 4, "run_bytes": 16, field: value}
    with pytest.raises(ValueError, match=f"^{field} is {value}; it must be {least} or more$"):
        Runs(**sizes)
