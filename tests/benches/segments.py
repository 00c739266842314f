# SPDX-FileCopyrightText: castbag contributors
# SPDX-License-Identifier: BSD-2-Clause
"""What the benches of the gather-reduce path share: lookups, vectors, and a store of vectors."""

from collections import deque
from collections.abc import Callable, Iterable

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from castbag.rtl.config import EngineConfig
from castbag.rtl.layouts import RequestLayout
from castbag.sim.bench import Bench
from tests.fp_vectors import SPECIAL


def lookups(runs: Iterable[int], source: Callable[[], int]) -> list[dict]:
    """Segments of `runs` lookups, targets counted from 0, each source from `source()`."""
    return [
        {
            "source": source(),
            "target": target,
            "valid": 1,
            "again": 0,
            "first": int(k == 0),
            "last": int(k == run - 1),
        }
        for target, run in enumerate(runs)
        for k in range(run)
    ]


def vectors(rng: Generator, count: int, dim: int) -> NDArray[np.uint32]:
    """Bit patterns of `count` vectors: most elements of like size, so that sums round.

    A fortieth of the vectors are all special values (-0.0, NaNs, infinities, the largest), and
    a quarter are subnormals or just above.
    """
    kind = rng.random((count, 1))
    sign = rng.integers(0, 2, (count, dim), np.uint32) << np.uint32(31)
    near_one = rng.integers(120 << 23, 132 << 23, (count, dim), np.uint32)
    tiny = rng.integers(0, 3 << 23, (count, dim), np.uint32)
    special = rng.choice(SPECIAL, (count, dim))
    return np.where(kind < 0.025, special, sign | np.where(kind < 0.25, tiny, near_one))


def beats(config: EngineConfig, table: NDArray[np.uint32]) -> list[list[int]]:
    """The bus words of each vector of `table`, its pitch a multiple of the bus."""
    pad = -table.shape[1] % config.lanes
    padded = np.pad(table, ((0, 0), (0, pad))).astype("<u4")
    size = config.bus_bytes
    return [
        [int.from_bytes(row[k : k + size], "little") for k in range(0, len(row), size)]
        for row in (vector.tobytes() for vector in padded)
    ]


def elements(config: EngineConfig, words: list[int]) -> NDArray[np.uint32]:
    """The elements of bus words, lowest column first."""
    return np.frombuffer(b"".join(w.to_bytes(config.bus_bytes, "little") for w in words), "<u4")


def whole_vectors(items: list[dict]) -> list[tuple[int, list[int]]]:
    """Target and words of each vector that left; words of two never mix."""
    found, words, target = [], [], None
    for item in items:
        assert not words or item["target"] == target, "a vector's words are apart"
        target = item["target"]
        words.append(item["data"])
        if item["end"]:
            found.append((target, words))
            words = []
    assert not words, "a vector has no end"
    return found


class VectorMemory:
    """Answers the requests of a fetch in order, a beat a cycle, `latency` cycles after each.

    `requests` are those taken so far, `request_times` their cycles; `content` gives the beat at
    an address.
    """

    def __init__(
        self,
        bench: Bench,
        config: EngineConfig,
        content: Callable[[int], int],
        *,
        latency: int,
        stall: str = "never",
    ):
        sink = bench.sink("request", RequestLayout(config), stall=stall)
        self.requests: list[dict] = sink.items
        self.request_times: list[int] = sink.times
        self.data = bench.source("data", config.bus_bits, stall=stall)
        self._bench, self._content, self._latency = bench, content, latency
        self._bytes = config.bus_bytes
        self._seen = 0
        self._coming: deque[tuple[int, int]] = deque()  # cycle and address of a beat
        bench.add(self)

    def tick(self) -> None:
        for request in self.requests[self._seen :]:
            due = self._bench.cycle + self._latency
            for k in range(request["beats"]):
                self._coming.append((due, request["address"] + k * self._bytes))
        self._seen = len(self.requests)
        # What the port's buffer would hold waits in the source.
        if self._coming and self._coming[0][0] <= self._bench.cycle:
            self.data.send(self._content(self._coming.popleft()[1]))
