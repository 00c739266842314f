# SPDX-FileCopyrightText: castbag contributors
# SPDX-License-Identifier: BSD-2-Clause
"""The traffic generator: which rows it touches, when, and that it sees what is wrong.

The memory is `ideal`, with the bus's rules watched, so cycles are known to the last one.
"""

import pytest

from castbag.host.bench.traffic import CASES, TABLE_BYTES, Case, run, system
from castbag.sim.memories import MEMORIES
from castbag.sim.model import SIMULATORS

LATENCY = MEMORIES["ideal"].latency
WORD = 16  # bytes
TABLE_ROWS = 1024
OUTSTANDING = 32


def scatter(number: int) -> int:
    """The finaliser of MurmurHash3 (Austin Appleby, public domain), as in traffic.v."""
    x = (number ^ number >> 16) * 0x85EBCA6B & 0xFFFF_FFFF
    x = (x ^ x >> 13) * 0xC2B2AE35 & 0xFFFF_FFFF
    return x ^ x >> 16


def rows(count: int, *, random: int, table_rows: int = TABLE_ROWS) -> list[int]:
    """Numbers of the rows that a run touches, in its order."""
    return [scatter(n) * table_rows >> 32 if random else n % table_rows for n in range(count)]


def inputs(**given) -> dict[str, int]:
    """Of traffic.v: as given, else sequential reads of one row's beat."""
    return {
        **{"random": 0, "reads": 0, "writes": 0, "row_bytes": WORD, "rows": TABLE_ROWS},
        **{"table_rows": TABLE_ROWS, "outstanding": OUTSTANDING},
        **given,
    }


def each(counts: list[list[dict]], name: str) -> list[int]:
    """One count of each run, of the only port."""
    return [port[name] for (port,) in counts]


@pytest.mark.parametrize("simulator", SIMULATORS)
@pytest.mark.parametrize("row_bytes", [WORD, 192, 256, 512])
def test_rows_are_touched_and_checked(simulator, row_bytes, tmp_path):
    """What random writes leave out is wrong to a sequential read, beat by beat."""
    beats, half = row_bytes // WORD, TABLE_ROWS // 2
    model = system(memory="ideal", ports=1, simulator=simulator)
    write = inputs(random=1, writes=1, row_bytes=row_bytes, rows=half)
    write_back = inputs(random=1, reads=1, writes=1, row_bytes=row_bytes, rows=TABLE_ROWS)
    read = inputs(reads=1, row_bytes=row_bytes)
    counts = run(model, [read, write, read, write_back, read], tmp_path, memory="ideal")
    touched = [0, len(set(rows(half, random=1))), len(set(rows(TABLE_ROWS, random=1)))]
    missing = [beats * (TABLE_ROWS - n) for n in touched]
    wrong = each(counts, "wrong")
    assert [wrong[0], wrong[2], wrong[4]] == missing
    assert 0 < wrong[3] < missing[0]  # rows that only the writing back has laid out
    assert each(counts, "beats_read") == [beats * n for n in (1024, 0, 1024, 1024, 1024)]
    assert each(counts, "beats_written") == [beats * n for n in (0, 512, 0, 1024, 0)]


@pytest.mark.parametrize("simulator", SIMULATORS)
def test_no_cycle_is_lost(simulator, tmp_path):
    """A beat a cycle behind the first one; as far as the bursts outstanding cover the latency."""
    model = system(memory="ideal", ports=1, simulator=simulator)
    alone = inputs(reads=1, row_bytes=64, rows=100, outstanding=1)
    long = inputs(random=1, reads=1, row_bytes=256, rows=200)
    both = inputs(random=1, reads=1, writes=1, row_bytes=256, rows=200)
    outcome = each(run(model, [alone, long, both], tmp_path, memory="ideal"), "cycles")
    assert outcome[0] == pytest.approx(100 * (LATENCY + 4), rel=0.05)
    assert outcome[1] == 200 * 16 + LATENCY
    # Behind the last beat read: AW, W's sixteen beats, and the way of the last one to its answer.
    assert outcome[2] == pytest.approx(200 * 16 + 2 * LATENCY + 16, abs=4)


def test_cases_are_what_is_measured():
    assert {(c.pattern, c.row_bytes) for c in CASES} >= {("random", 64), ("write back", 256)}
    for case in CASES:
        given = case.inputs()
        assert given["row_bytes"] * given["table_rows"] == TABLE_BYTES
        spots = rows(given["rows"], random=1, table_rows=given["table_rows"])
        assert min(spots) >= 0
        assert max(spots) < given["table_rows"]
        assert len(set(spots)) > 0.95 * len(spots)  # few repeats: the table is far larger


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"pattern": "backwards", "row_bytes": 64}, "pattern 'backwards' is not one of random"),
        ({"pattern": "random", "row_bytes": 40}, "row_bytes = 40: must be a multiple of 16"),
        ({"pattern": "random", "row_bytes": 0}, "row_bytes = 0"),
    ],
)
def test_bad_cases(wrong, message):
    with pytest.raises(ValueError, match=message):
        Case(**wrong)


def test_bad_systems():
    with pytest.raises(ValueError, match="memory 'flash' unknown: there are ideal"):
        system(memory="flash", ports=1)
    with pytest.raises(ValueError, match="ports = 2: memory 'ideal' is measured at one"):
        system(memory="ideal", ports=2)
