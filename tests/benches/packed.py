# SPDX-FileCopyrightText: castbag contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Runs as memory has them, in plain Python: written from `rtl.packing`'s words, not its code."""

import random

from castbag.rtl.config import EngineConfig


class Packed:
    """The layout of pairs of `row_bits + source_bits` bits.

    Attributes:
        pair, slot, part: Bytes of a pair, of a slot, and of a group's first pair in each slot.
        group: Pairs of a group; all but the first have a slot, if there are others.
        chunk, chunk_beats: Pairs and beats of a chunk.
    """

    def __init__(self, config: EngineConfig):
        self.bus_bytes, self.row_bits = config.bus_bytes, config.index_bits
        self.pair_bits = config.index_bits + config.source_bits
        self.pair = next(size for size in range(1, 9) if 8 * size >= self.pair_bits)
        self.slot = next(size for size in (1, 2, 4, 8) if size >= self.pair)
        spare = self.slot - self.pair
        self.group, self.part = 1, 0
        if spare:
            fits = [size for size in (2, 4, 8) if (size - 1) * spare >= self.pair]
            self.group = fits[0]
            self.part = next(n for n in range(1, 8) if n * (self.group - 1) >= self.pair)
        self.chunk = max(
            pairs
            for pairs in (1 << k for k in range(13))
            if self._bytes(pairs) <= config.burst_beats * config.bus_bytes
            and 4 * pairs <= config.way_pairs
            and pairs <= config.run_length
        )
        self.chunk_beats = self._bytes(self.chunk) // config.bus_bytes

    def _bytes(self, pairs: int) -> int:
        return pairs // self.group * max(1, self.group - 1) * self.slot

    def beats(self, pairs: list[dict], *, junk: random.Random | None = None) -> list[int]:
        """The beats of whole chunks of pairs; what means nothing is 0, or `junk`."""
        assert len(pairs) % self.chunk == 0
        text = b"".join(
            self._group(pairs[k : k + self.group], junk) for k in range(0, len(pairs), self.group)
        )
        size = self.bus_bytes
        return [int.from_bytes(text[k : k + size], "little") for k in range(0, len(text), size)]

    def _group(self, pairs: list[dict], junk) -> bytes:
        first, *others = (self._pair(pair, junk) for pair in pairs)
        if not others:
            return first
        dealt = pad(first, self.part * len(others), junk)
        return b"".join(
            pad(other + dealt[k * self.part : (k + 1) * self.part], self.slot, junk)
            for k, other in enumerate(others)
        )

    def _pair(self, pair: dict, junk) -> bytes:
        unused = 8 * self.pair - self.pair_bits
        above = junk.getrandbits(unused) if junk and unused else 0
        bits = pair["row"] | pair["source"] << self.row_bits | above << self.pair_bits
        return bits.to_bytes(self.pair, "little")

    def places(self) -> list[int]:
        """Of each slot of a chunk the number of its pair."""
        return [k for k in range(self.chunk) if self.group == 1 or k % self.group]


def pad(text: bytes, size: int, junk: random.Random | None) -> bytes:
    """That text with bytes behind it that mean nothing."""
    return text + (junk.randbytes(size - len(text)) if junk else bytes(size - len(text)))


def random_pairs(rng: random.Random, count: int, config: EngineConfig) -> list[dict]:
    """Pairs whose every bit matters."""
    return [
        {"row": rng.getrandbits(config.index_bits), "source": rng.getrandbits(config.source_bits)}
        for _ in range(count)
    ]
