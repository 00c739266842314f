# SPDX-FileCopyrightText: castbag contributors
# SPDX-License-Identifier: BSD-2-Clause
"""What the benches of a striped read port share: its config, and a memory behind each port."""

import dataclasses

from castbag.rtl.axi import numbered
from castbag.rtl.config import EngineConfig
from castbag.sim.bench import Bench, parameters

from .axi_memory import ReadMemory
from .read_port import BEAT, CONFIG, SIZE, content

LATE = 200


def config_of(*, ports: int, stripe: int, depth: int = CONFIG.vector_beats, **_) -> EngineConfig:
    """The config of the read port's own bench, with several ports.

    Args:
        ports, stripe: How many, and the bytes of a stripe.
        depth: Places of a return queue.
    """
    return dataclasses.replace(CONFIG, read_ports=ports, read_stripe=stripe, vector_beats=depth)


class Ports:
    """A memory behind each port, all with one content, and what they saw.

    Args:
        latencies: Of each port's memory.
        options: Others of `ReadMemory`: a list, whose values the ports take in turn.
    """

    def __init__(self, bench: Bench, *, latencies: list[int] | None = None, **options: list):
        self.config = config_of(**parameters())
        self.count, self.stripe = self.config.read_ports, self.config.read_stripe
        self.memory = content(bench)
        self.each = [
            ReadMemory(
                bench,
                self.config,
                self.memory,
                bus=name,
                latency=latencies[k] if latencies else 1,
                **{option: value[k % len(value)] for option, value in options.items()},
            )
            for k, name in enumerate(numbered("axi", self.count))
        ]

    @property
    def longest(self) -> int:
        """Beats of the longest burst."""
        return min(self.config.burst_beats, self.stripe // BEAT)

    @property
    def refused(self) -> int:
        """Cycles in which a beat stood on any port's R and was not taken."""
        return sum(port.refused for port in self.each)

    def places(self, bench: Bench, port: int, beats: int, count: int) -> list[tuple[int, int]]:
        """Requests of one port alone, each a burst."""
        lines = SIZE // (self.count * self.stripe)
        return [
            (
                (bench.rng.randrange(lines) * self.count + port) * self.stripe
                + bench.rng.randrange(self.stripe // (beats * BEAT)) * beats * BEAT,
                beats,
            )
            for _ in range(count)
        ]

    def in_turn(self, bench: Bench, beats: int, count: int) -> list[tuple[int, int]]:
        """Requests of all ports in turn."""
        assert count % self.count == 0
        each = [self.places(bench, k, beats, count // self.count) for k in range(self.count)]
        return [request for turn in zip(*each, strict=True) for request in turn]


def latencies_of(kind: str) -> list[int]:
    """A latency a port: all alike, each its own, one far behind."""
    count = parameters()["ports"]
    return {
        "short": [1] * count,
        "apart": [2 + 9 * k for k in range(count)],
        "first late": [LATE] + [1] * (count - 1),
        "last late": [1] * (count - 1) + [LATE],
    }[kind]
