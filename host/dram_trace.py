# SPDX-FileCopyrightText: castbag contributors
# SPDX-License-Identifier: BSD-2-Clause
"""The requests of a run, for a simulator of DRAM that is not ours.

FILE has a line for each access of a DRAM's burst: `LD` or `ST`, a space, the byte address in
hexadecimal. This is what the front end `LoadStoreTrace` of Ramulator 2 reads; it takes exactly
these two words a line, so the cycle in which each access was asked for stands in FILE.cycles: a
number a line, in the same order, counted from the first one's.
"""

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

WRITE = np.uint64(1 << 63)


def arrivals_path(trace: Path) -> Path:
    """Where the cycles of `trace` go."""
    return trace.with_name(trace.name + ".cycles")


def load_store_trace(
    requests: NDArray[np.uint64], *, bus_bytes: int, burst_bytes: int
) -> tuple[bytes, bytes]:
    """The contents of FILE and of FILE.cycles.

    `requests` [k, 3] are bus bursts: cycle, address with bit 63 set for a write, beats. Each is cut
    into the accesses of `burst_bytes` that it touches.
    """
    cycles, addresses, beats = requests[:, 0], requests[:, 1] & ~WRITE, requests[:, 2]
    writes = requests[:, 1] & WRITE != 0
    size = np.uint64(burst_bytes)
    first = addresses // size
    counts = (
        (addresses + beats * np.uint64(bus_bytes) - np.uint64(1)) // size - first + np.uint64(1)
    )
    whole = counts.astype(np.int64)
    within = np.arange(whole.sum()) - np.repeat(np.cumsum(whole) - whole, whole)
    places = (np.repeat(first, whole) + within.astype(np.uint64)) * size
    kinds = np.repeat(np.where(writes, "ST", "LD"), whole)
    lines = (f"{kind} {place:#x}\n" for kind, place in zip(kinds, places.tolist(), strict=True))
    since = np.repeat(cycles - (cycles[0] if len(cycles) else np.uint64(0)), whole)
    return "".join(lines).encode(), "".join(f"{cycle}\n" for cycle in since.tolist()).encode()
