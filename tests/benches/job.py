# SPDX-FileCopyrightText: castbag contributors
# SPDX-License-Identifier: BSD-2-Clause
"""What a test hands to the engine's bench."""

from dataclasses import dataclass

from castbag.host.device import Command


@dataclass(frozen=True, kw_only=True)
class Job:
    """What the bench is handed."""

    commands: tuple[Command, ...]
    memory_bytes: int
    bus_bytes: int
    stall: str
    """Of every channel of the memory, one of `castbag.sim.bench.STALLS`."""
    faults: tuple[int, ...]
    """Byte addresses of beats that are answered with an error."""
    limit: int
    """Cycles that a command may take."""
