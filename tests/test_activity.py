# SPDX-FileCopyrightText: castbag contributors
# SPDX-License-Identifier: BSD-2-Clause
"""What is made of the samples: counts by phase, a curve, and what bounds a phase."""

import numpy as np
import pytest

from castbag.host.activity import NAMES, Activity, Bound, bound
from castbag.rtl.control.map import Phase

FORWARD, CAST, BACKWARD = (1 << phase for phase in (Phase.FORWARD, Phase.CAST, Phase.BACKWARD))


def activity(*samples):
    """Of dicts; what is left out stays as it was."""
    rows, last = [], dict.fromkeys(NAMES, 0)
    for sample in samples:
        last = last | sample
        rows.append([last[name] for name in NAMES])
    return Activity(np.array(rows, np.int64).reshape(-1, len(NAMES)))


STEP = activity(
    {"cycle": 1000, "active": FORWARD | CAST},
    {"cycle": 1100, "READ_VECTORS_BEATS": 90, "READ_CAST_ENTRIES_BEATS": 10},
    {"cycle": 1200, "active": FORWARD, "READ_VECTORS_BEATS": 170, "READ_CAST_ENTRIES_BEATS": 20},
    {"cycle": 1300, "active": BACKWARD, "READ_VECTORS_BEATS": 270, "WRITE_VECTORS_BEATS": 8},
    {"cycle": 1500, "active": 0, "READ_VECTORS_BEATS": 370, "WRITE_VECTORS_BEATS": 108},
)


def test_counts_by_phase():
    forward, cast, backward = (
        STEP.of_phase(phase) for phase in (Phase.FORWARD, Phase.CAST, Phase.BACKWARD)
    )
    assert (forward["cycle"], cast["cycle"], backward["cycle"]) == (300, 200, 200)
    assert forward["READ_VECTORS_BEATS"] == 270
    assert cast["READ_CAST_ENTRIES_BEATS"] == forward["READ_CAST_ENTRIES_BEATS"] == 20
    assert backward["WRITE_VECTORS_BEATS"] == 100
    assert STEP.of_phase(Phase.EXPAND) == dict.fromkeys(NAMES, 0)
    assert STEP.total()["cycle"] == 500


def test_the_course_of_the_bus():
    curve = STEP.curve(4)  # steps of 125 cycles
    assert curve["cycle"] == [125, 250, 375, 500]
    # 100 beats, then 90, 100 and twice 50 in each 100 cycles.
    assert curve["read"] == [round(x / 125, 4) for x in (122.5, 117.5, 87.5, 62.5)]
    assert sum(curve["write"]) * 125 == pytest.approx(108, abs=0.1)
    assert curve["dram"] == [0, 0, 0, 0]
    assert len(STEP.curve(300)["cycle"]) == 4  # no more than there are samples
    assert activity().curve(10) == {"cycle": [], "read": [], "write": [], "dram": []}
    assert activity().total()["cycle"] == 0


def counts(**given):
    return dict.fromkeys(NAMES, 0) | {"cycle": 1000} | given


@pytest.mark.parametrize(
    ("phase", "given", "expected"),
    [
        (Phase.FORWARD, {"READ_VECTORS_BEATS": 900, "READ_RUNS_BEATS": 70}, ("read bus", 0.97)),
        (Phase.EXPAND, {"WRITE_VECTORS_BEATS": 950}, ("write bus", 0.95)),
        (Phase.FORWARD, {"awaited": 600, "READ_VECTORS_BEATS": 300}, ("starved: latency", 0.6)),
        (Phase.FORWARD, {"REDUCE_BLOCKED": 500, "awaited": 10}, ("lanes: terms wait", 0.5)),
        (
            Phase.BACKWARD,
            {"UPDATE_BUSY": 1, "UPDATE_BLOCKED": 400},
            ("update: gradients wait", 0.4),
        ),
        (Phase.BACKWARD, {"UPDATE_BLOCKED": 400}, ("lanes: terms wait", 0.0)),
        (Phase.CAST, {"SORT_BUSY": 450, "CAST_BUSY": 450}, ("sorter: a pair a cycle", 0.9)),
        (Phase.EXPAND, {"data_refused": 700}, ("starved: writes wait", 0.7)),
        (Phase.FORWARD, {"clocks": 4000, "busy_clocks": 3900}, ("DRAM bus", 0.975)),
        (
            Phase.FORWARD,
            {"clocks": 4000, "busy_clocks": 1000, "bank_clocks": 2400, "turn_clocks": 100},
            ("starved: bank conflicts", 0.6),
        ),
        (
            Phase.FORWARD,
            {"clocks": 4000, "activate_clocks": 3000},
            ("starved: activates (tRRD, tFAW)", 0.75),
        ),
        (Phase.UPDATE, {"clocks": 4000, "turn_clocks": 2000}, ("starved: bus turns", 0.5)),
        (Phase.UPDATE, {"clocks": 4000, "refresh_clocks": 200}, ("starved: refresh", 0.05)),
        (
            Phase.FORWARD,
            {"clocks": 4000, "idle_clocks": 1600, "awaited": 900},
            ("starved: latency", 0.4),
        ),
        (Phase.UPDATE, {"cycle": 0}, ("nothing to do", 1.0)),
    ],
)
def test_what_bounds_a_phase(phase, given, expected):
    why = bound(phase, counts(**given))
    assert (why.by, why.share) == expected


def test_a_bound_in_words():
    assert str(Bound("read bus", 0.968)) == "read bus 97 % busy"
    assert str(Bound("starved: bank conflicts", 0.412)) == "starved: bank conflicts 41 %"
