# SPDX-FileCopyrightText: castbag contributors
# SPDX-License-Identifier: BSD-2-Clause
"""How runs lie in memory, and how much of it they take. Plain numbers: no Amaranth here.

A pair is its row and its source, in whole bytes: `pair_bytes`. Pairs lie in slots whose size is a
power of two, so that none is cut by the end of a beat. What a slot has to spare is not wasted: of
each group of pairs the first one has no slot of its own; its bytes are dealt out to the others.
With pairs of seven bytes a group is eight pairs in seven slots of eight bytes, not one to spare::

    slot 0   pair 1 · pair 1 · … · byte 0 of pair 0
    slot 1   pair 2 · pair 2 · … · byte 1 of pair 0
    …
    slot 6   pair 7 · pair 7 · … · byte 6 of pair 0

Runs are read in chunks, each about as long as the longest burst; every run is whole chunks.

A batch of n lookups is sorted in runs of L = `run_length` pairs. The last one, which may be
shorter, never leaves the chip; the `s = (n - 1) // L` runs before it are spilled to memory. While
more than `merge_ways` are there, `merge_ways` at a time are merged into one, from one half of
the scratch space into the other; then the rest are merged with the last one, on their way on.
"""

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Packing:
    """The sizes that follow from a configuration, see `EngineConfig.packing`.

    Raises ValueError if the configuration's buffers can't hold a chunk.
    """

    pair_bits: int
    """Bits of a row and a source."""
    bus_bytes: int
    burst_beats: int
    run_length: int
    merge_ways: int
    way_pairs: int

    def __post_init__(self):
        if 4 * self.chunk_pairs > self.way_pairs:
            raise ValueError(
                f"way_pairs = {self.way_pairs}: must be at least {4 * self.chunk_pairs},"
                f" four chunks of {self.chunk_beats} beats"
            )
        if self.chunk_pairs > self.run_length:
            raise ValueError(
                f"run_length = {self.run_length}: must be at least {self.chunk_pairs},"
                f" a chunk of {self.chunk_beats} beats"
            )

    @property
    def pair_bytes(self) -> int:
        """Bytes of a pair."""
        return -(-self.pair_bits // 8)

    @property
    def slot_bytes(self) -> int:
        """Bytes of a slot: the least power of two that holds a pair."""
        return 1 << (self.pair_bytes - 1).bit_length()

    @property
    def spare_bytes(self) -> int:
        """Bytes of a group's first pair in each of its slots."""
        return -(-self.pair_bytes // (self.group_pairs - 1)) if self.group_pairs > 1 else 0

    @property
    def group_pairs(self) -> int:
        """Pairs of a group: the least power of two whose slots have room for the first one."""
        spare = self.slot_bytes - self.pair_bytes
        if not spare:
            return 1
        return 1 << (-(-self.pair_bytes // spare)).bit_length()

    @property
    def group_slots(self) -> int:
        """Slots of a group."""
        return max(1, self.group_pairs - 1)

    @property
    def beat_slots(self) -> int:
        """Slots of a bus beat."""
        return self.bus_bytes // self.slot_bytes

    @property
    def chunk_pairs(self) -> int:
        """Pairs of a chunk: as many as a burst and a quarter of a way's buffer hold.

        A power of two, and at least so many that they fill whole beats.
        """
        pairs = self.group_pairs * self.beat_slots
        most = min(self.way_pairs // 4, self.run_length)
        while self._beats(2 * pairs) <= self.burst_beats and 2 * pairs <= most:
            pairs *= 2
        return pairs

    def _beats(self, pairs: int) -> int:
        """Beats of whole groups of pairs that fill them."""
        return pairs // self.group_pairs * self.group_slots // self.beat_slots

    @property
    def chunk_beats(self) -> int:
        """Beats of a chunk."""
        return self._beats(self.chunk_pairs)

    @property
    def run_bytes(self) -> int:
        """Bytes of a spilled run."""
        chunks = self.run_length // self.chunk_pairs
        return chunks * self.chunk_beats * self.bus_bytes

    def spilled_runs(self, lookups: int) -> int:
        """Runs that a batch of so many valid lookups spills."""
        return max(0, lookups - 1) // self.run_length

    def merge_passes(self, lookups: int) -> int:
        """Times that all spilled runs are read and written again before they are few enough."""
        runs, passes = self.spilled_runs(lookups), 0
        while runs > self.merge_ways:
            runs, passes = -(-runs // self.merge_ways), passes + 1
        return passes

    def scratch_bytes(self, lookups: int) -> int:
        """Scratch space that a batch of so many lookups, valid or not, needs."""
        halves = 2 if self.merge_passes(lookups) else 1
        return halves * self.spilled_runs(lookups) * self.run_bytes
