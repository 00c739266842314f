# SPDX-FileCopyrightText: castbag contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Runs of pairs for the benches of the sorter and its parts, and what NumPy makes of them."""

import random

import numpy as np

from castbag.rtl.config import EngineConfig

KINDS = ("rising", "equal", "falling", "ties", "ends", "random")
"""What a run's rows are like. `ends`: each is 0 or the largest that there is. Besides there are
`hot`: nine in ten are the same; and `mixed`: stretches of all kinds."""


def run_rows(rng: random.Random, kind: str, length: int, config: EngineConfig) -> list[int]:
    """The rows of a run of that kind."""
    most = 2**config.index_bits - 1
    match kind:
        case "rising":
            return list(range(length))
        case "equal":
            return [rng.choice([0, 7, most])] * length
        case "falling":
            return list(range(most, most - length, -1))
        case "ties":
            return [rng.randrange(3) for _ in range(length)]
        case "hot":
            return [7 if rng.random() < 0.9 else rng.randint(0, most) for _ in range(length)]
        case "mixed":
            rows = []
            while len(rows) < length:
                rows += run_rows(rng, rng.choice(KINDS), rng.randint(1, 40), config)
            return rows[:length]
        case "ends":
            return [rng.choice([0, most]) for _ in range(length)]
        case _:
            return [rng.randint(0, most) for _ in range(length)]


def as_pairs(rows: list[int], config: EngineConfig) -> list[dict[str, int]]:
    """A run with these rows. Equal rows can be told apart by their source."""
    sources = [(n * 37 + 11) % 2**config.source_bits for n in range(len(rows))]
    return [
        {"row": row, "source": source, "end": int(n == len(rows) - 1)}
        for n, (row, source) in enumerate(zip(rows, sources, strict=True))
    ]


def by_row(pairs: list[dict[str, int]]) -> list[dict[str, int]]:
    """The pairs of a run as they should leave: NumPy's stable sort, `end` on the last one."""
    order = np.argsort([pair["row"] for pair in pairs], kind="stable")
    return [
        {**pairs[index], "end": int(place == len(pairs) - 1)} for place, index in enumerate(order)
    ]
