# SPDX-FileCopyrightText: castbag contributors
# SPDX-License-Identifier: BSD-2-Clause
"""What went on while a command ran: counts over time, by phase or as a curve.

A device that can tell hands over an `Activity`; the simulated one does. Its names are those of the
engine's counters (`castbag.rtl.control.map.COUNTERS`), and:

    cycle                          cycles
    awaited                        cycles in which beats were asked for and none stood on R
    read_refused, write_refused,   cycles in which something stood on AR, AW, W and was not taken
        data_refused
    row_hits, row_misses, row_conflicts      accesses of the DRAM: their row was open, their bank
                                             was closed, another row was open
    read_bursts, write_bursts, activates, precharges, refreshes      its commands
    clocks, active_clocks          of its command bus; those with a row open
    busy_clocks, idle_clocks       its data bus was busy; nothing was asked of it
    bank_clocks, activate_clocks, turn_clocks, refresh_clocks      neither, and the oldest access
                                   waited for its bank; for leave to open a row (tRRD, tFAW); for
                                   the data bus to turn; for a refresh
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from castbag.rtl.control.map import COUNTERS, READ_CLIENTS, WRITE_CLIENTS, Phase

BUS = ("awaited", "read_refused", "write_refused", "data_refused")
DRAM = (
    *("row_hits", "row_misses", "row_conflicts", "read_bursts", "write_bursts"),
    *("activates", "precharges", "refreshes", "clocks", "active_clocks", "busy_clocks"),
    *("idle_clocks", "bank_clocks", "activate_clocks", "turn_clocks", "refresh_clocks"),
)
NAMES = ("cycle", "active", *BUS, *DRAM, *(name for name, _ in COUNTERS))
"""Columns of the samples, in order."""

READS = tuple(f"READ_{name.upper()}_BEATS" for name, _ in READ_CLIENTS)
WRITES = tuple(f"WRITE_{name.upper()}_BEATS" for name, _ in WRITE_CLIENTS)

Counts = dict[str, int]


@dataclass(frozen=True, eq=False)
class Activity:
    """Counts at some cycles of a command, the first at its launch, the last at its end.

    Attributes:
        samples: int64[k, len(NAMES)], rising; `active` has a bit for each phase that ran from there
            to the next sample.
    """

    samples: NDArray[np.int64]

    def _column(self, name: str) -> NDArray[np.int64]:
        return self.samples[:, NAMES.index(name)]

    def total(self) -> Counts:
        """What each count rose by in the command."""
        if len(self.samples) < 2:
            return dict.fromkeys(NAMES, 0)
        rise = self.samples[-1] - self.samples[0]
        return dict(zip(NAMES, rise.tolist(), strict=True))

    def of_phase(self, phase: Phase) -> Counts:
        """What each count rose by while that phase ran, by whatever else ran beside it too."""
        during = (self._column("active")[:-1] >> phase & 1).astype(bool)
        rise = np.diff(self.samples, axis=0)[during].sum(axis=0)
        return dict(zip(NAMES, rise.tolist(), strict=True))

    def curve(self, points: int) -> dict[str, list]:
        """The course of the bus, in at most `points` steps of equal length.

        `cycle` is where a step ends, from launch on; `read`, `write` and `dram` are the shares of
        its cycles (clocks) in which a beat passed, or the DRAM's data bus was busy.
        """
        cycles = self._column("cycle")
        if len(cycles) < 2 or cycles[-1] == cycles[0]:
            return {"cycle": [], "read": [], "write": [], "dram": []}
        steps = min(points, len(cycles) - 1)
        ends = np.linspace(cycles[0], cycles[-1], steps + 1)

        def rises(*names: str) -> NDArray[np.float64]:
            count = sum(self._column(name) for name in names)
            return np.diff(np.interp(ends, cycles, np.asarray(count, float)))

        length = np.diff(ends)
        clocks = rises("clocks")
        dram = np.divide(rises("busy_clocks"), clocks, out=np.zeros(steps), where=clocks > 0)
        shares = {"read": rises(*READS) / length, "write": rises(*WRITES) / length, "dram": dram}
        return {
            "cycle": np.rint(ends[1:] - cycles[0]).astype(int).tolist(),
            **{name: np.round(share, 4).tolist() for name, share in shares.items()},
        }


@dataclass(frozen=True)
class Bound:
    """What bounds a phase: a part of the machine or of memory, and for what share of its time."""

    by: str
    share: float

    def __str__(self) -> str:
        busy = " busy" if self.by.endswith("bus") else ""
        return f"{self.by} {100 * self.share:.0f} %{busy}"


SATURATED = 0.9
"""A bus that is busy for so much of a phase bounds it."""


def bound(phase: Phase, counts: Counts) -> Bound:
    """What bounds `phase`, of which these are the counts.

    A bus that is nearly always busy is the answer. Else it is what was waited for longest.
    """
    cycles = counts["cycle"]
    if not cycles:
        return Bound("nothing to do", 1.0)
    read = Bound("read bus", sum(counts[name] for name in READS) / cycles)
    write = Bound("write bus", sum(counts[name] for name in WRITES) / cycles)
    buses = [read, write]
    if counts["clocks"]:
        buses.append(Bound("DRAM bus", counts["busy_clocks"] / counts["clocks"]))
    widest = max(buses, key=lambda each: each.share)
    if widest.share >= SATURATED:
        return widest
    return max((*_waits(phase, counts), widest), key=lambda each: each.share)


def _waits(phase: Phase, counts: Counts) -> Iterator[Bound]:
    cycles = counts["cycle"]
    if phase == Phase.CAST:
        pairs = counts["SORT_BUSY"] + counts["CAST_BUSY"]
        yield Bound("sorter: a pair a cycle", pairs / cycles)
    else:
        yield Bound("lanes: terms wait", counts["REDUCE_BLOCKED"] / cycles)
        if counts["UPDATE_BUSY"]:
            yield Bound("update: gradients wait", counts["UPDATE_BLOCKED"] / cycles)
    clocks = counts["clocks"]
    yield Bound("starved: writes wait", counts["data_refused"] / cycles)
    if not clocks:
        yield Bound("starved: latency", counts["awaited"] / cycles)
        return
    for name, reason in (
        ("bank_clocks", "starved: bank conflicts"),
        ("activate_clocks", "starved: activates (tRRD, tFAW)"),
        ("turn_clocks", "starved: bus turns"),
        ("refresh_clocks", "starved: refresh"),
    ):
        yield Bound(reason, counts[name] / clocks)
    # Asked of the port, and neither in the DRAM's window nor on its way there.
    unexplained = min(counts["awaited"] / cycles, counts["idle_clocks"] / clocks)
    yield Bound("starved: latency", unexplained)
