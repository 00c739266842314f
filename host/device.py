# SPDX-FileCopyrightText: castbag contributors
# SPDX-License-Identifier: BSD-2-Clause
"""What a device is: something that runs commands on an engine and tells what came of them.

The simulated device (`castbag.sim.device`) and a board's driver (`castbag.boards.driver`) are
devices; `step` knows neither. A device is handed memory contents and descriptors, and hands back
registers and memory contents; where rows lie and what they mean is the caller's business
(`buffers`).
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from castbag.rtl.config import EngineConfig

from .activity import Activity

RING_BYTES = 0x1000
"""Bytes at the start of memory that hold the ring of descriptors; buffers lie above."""


class DeviceUnusable(Exception):  # noqa: N818  (it is a state of the world, not a fault)
    """A device is not there, or cannot be used as it is; the message says in a line what to do."""


@dataclass(frozen=True, kw_only=True)
class Command:
    """One descriptor, with what memory must hold before it and what is wanted after it."""

    descriptor: bytes
    """As `castbag.rtl.control.map.encode_descriptor` makes it."""
    loads: tuple[tuple[int, bytes], ...]
    """(address, contents), written to memory before the command starts."""
    dumps: tuple[tuple[int, int], ...]
    """(address, bytes), read from memory after the command has ended."""
    allocated: tuple[tuple[int, int], ...] = ()
    """(address, bytes) that the engine may access, where memory can refuse others; none: all."""


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """What a command left behind."""

    registers: dict[str, int]
    """By name (`castbag.rtl.control.map.REGISTERS`), read after the command; 64-bit ones whole."""
    dumps: tuple[bytes, ...]
    """Memory, in the order of the command's `dumps`."""
    coalesced: tuple[NDArray[np.int64], NDArray[np.uint32]] | None
    """Rows [k] and bit patterns [k, words * lanes] of the coalesced gradients, as the engine's
    trace port showed them in the backward pass, in order of completion; None without that port."""
    activity: Activity | None = None
    """What went on meanwhile; None from a device that can't tell."""
    requests: NDArray[np.uint64] | None = None
    """Each burst [k, 3]: cycle, address with bit 63 set for a write, beats; None if not noted."""


@dataclass(frozen=True, kw_only=True)
class Run:
    """A run of commands, in order, without a reset in between."""

    outcomes: tuple[Outcome, ...]
    cycles: int
    """Cycles from each command's launch to its interrupt, added up."""
    seconds: float
    """Wall-clock time that those cycles took."""


@dataclass(frozen=True)
class Progress:
    """How far a run is."""

    cycles: int
    commands: int
    """That are over."""
    lookups: int
    """That have been summed in all, forward and backward."""


class Device(Protocol):
    """An engine with a memory."""

    @property
    def config(self) -> EngineConfig:
        """What the engine was built for."""
        ...

    def run(
        self, commands: Sequence[Command], *, progress: Callable[[Progress], None] | None = None
    ) -> Run:
        """Run `commands` in order; a command that fails ends as an outcome, too.

        `progress` is called now and then.
        """
        ...
