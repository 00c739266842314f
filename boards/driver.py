# SPDX-FileCopyrightText: castbag contributors
# SPDX-License-Identifier: BSD-2-Clause
"""BoardDevice: an engine on a real board, behind the device interface."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from castbag.host.device import (
    RING_BYTES,
    Command,
    DeviceUnusable,
    Outcome,
    Progress,
    Run,
)
from castbag.host.files import Refused
from castbag.rtl.config import PRESETS, EngineConfig
from castbag.rtl.control import map as engine
from castbag.rtl.soc import map as board

from .link import Link

POLL_SECONDS = 0.01

TEST_SECONDS = 30.0
"""That the test of memory may take, all 64 MB of it."""

CAPABILITIES = {
    "BUS_BYTES": lambda config: config.bus_bytes,
    "ADDRESS_BITS": lambda config: config.address_bits,
    "INDEX_BITS": lambda config: config.index_bits,
    "BAG_BITS": lambda config: config.bag_bits,
    "MAX_LOOKUPS": lambda config: config.max_lookups,
    "MAX_DIM": lambda config: config.max_dim,
    "RUN_LENGTH": lambda config: config.run_length,
    "MERGE_WAYS": lambda config: config.merge_ways,
    "RUN_BYTES": lambda config: config.packing.run_bytes,
    "READ_PORTS": lambda config: config.read_ports,
}
"""Registers that must say what the preset does."""


class WrongBoard(Refused):
    """What answers is no castbag board, or none that this program knows."""


class MemoryFault(DeviceUnusable):
    """The board's memory did not give back what was written."""


class BoardStuck(DeviceUnusable):
    """The board answers, but does not come to an end."""


@dataclass(frozen=True, kw_only=True)
class Identity:
    """What a board says of itself."""

    board: str
    preset: str
    clock_hz: int
    memory_bytes: int
    build: str
    """Hash of what its bitstream was made from, in hexadecimal."""
    tools: str

    def __str__(self) -> str:
        mhz, mib = self.clock_hz / 1e6, self.memory_bytes >> 20
        return (
            f"{self.board}, preset {self.preset}, {mhz:g} MHz, {mib} MiB, build {self.build[:12]}"
            + (f" ({self.tools})" if self.tools else "")
        )


class BoardDevice:
    """Runs commands on a board; bit for bit what the simulated device does.

    On opening, the board is reset, and no result is taken before its test of memory has passed.
    Memory is what it is until a command's loads; it keeps its contents between commands. A board
    shows no coalesced gradients on their way (`Outcome.coalesced` is None).

    Raises WrongBoard, MemoryFault, BoardStuck, and `LinkError`s of the link.

    Args:
        link: Its link, open.
        patience: Seconds beyond its own watchdog that a command may take without an end.
    """

    def __init__(self, link: Link, *, patience: float = 5.0):
        self._link, self._patience = link, patience
        self._identify()
        self._reset()
        self._slot = 0

    def close(self) -> None:
        """Close the link."""
        self._link.close()

    # What the board is

    @property
    def config(self) -> EngineConfig:
        """What its engine was built for."""
        return self._config

    @property
    def identity(self) -> Identity:
        """What it says of itself."""
        return self._identity

    def _identify(self) -> None:
        space = self._link.read(board.BOARD_BASE, board.REGISTER_SPACE)
        read = _Registers(space, board.REGISTERS)
        if read["IDENTITY"] != board.IDENTITY:
            raise WrongBoard(
                f"what answers is no castbag board: it says {read['IDENTITY']:#010x},"
                f" a board {board.IDENTITY:#010x}"
            )
        _check_version("the board's registers", read["VERSION"], board.VERSION)
        self._identity = Identity(
            board=read.text("BOARD", board.NAME_BYTES),
            preset=read.text("PRESET", board.NAME_BYTES),
            clock_hz=read["CLOCK"],
            memory_bytes=read["MEMORY_BYTES"],
            build=read.bytes("BUILD", board.BUILD_BYTES).hex(),
            tools=read.text("TOOLS", board.TOOLS_BYTES),
        )
        own = _Registers(self._link.read(board.ENGINE_BASE, engine.COUNTER_BASE), engine.REGISTERS)
        if own["IDENTITY"] != engine.IDENTITY:
            raise WrongBoard(f"the board has no engine: its place says {own['IDENTITY']:#010x}")
        _check_version("the engine's registers", own["VERSION"], engine.VERSION)
        if self._identity.preset not in PRESETS:
            raise WrongBoard(f"the board's engine is of preset {self._identity.preset!r}, unknown")
        self._config = config = PRESETS[self._identity.preset]
        for name, wanted in CAPABILITIES.items():
            if own[name] != wanted(config):
                raise WrongBoard(
                    f"the board's engine has {name} = {own[name]}, its preset"
                    f" {self._identity.preset} here {wanted(config)}: build its bitstream anew"
                )

    # Reset and test

    def _reset(self) -> None:
        """All but the link begins anew: whatever another host left under way is gone."""
        self._link.write_word(self._board("RESET"), 1)
        self._link.read_word(self._board("TEST"))  # longer than it takes from answer to reset
        self._await_test()

    def test_memory(self, size: int = 0) -> None:
        """Have `size` bytes of memory tested, 0 for all; their contents are lost."""
        self._link.write_word(self._board("TEST_BYTES"), size)
        self._link.write_word(self._board("TEST"), 1)
        self._await_test()

    def _await_test(self) -> None:
        end = time.monotonic() + TEST_SECONDS + self._patience
        result = 0
        while not result & (board.Test.PASSED | board.Test.FAILED):
            if time.monotonic() > end:
                raise BoardStuck(
                    f"the board's test of memory was not over within {TEST_SECONDS:g} seconds"
                )
            time.sleep(POLL_SECONDS)
            result = self._link.read_word(self._board("TEST"))
        if result & board.Test.PASSED:
            return
        space = self._link.read(board.BOARD_BASE, board.REGISTER_SPACE)
        read = _Registers(space, board.REGISTERS)
        where = (
            f"at address {read['TEST_ADDRESS']:#x}: wrote {read['TEST_EXPECTED']:#018x},"
            f" read {read['TEST_READ']:#018x}"
        )
        if read["PHASE"] >> 31:
            raise MemoryFault(f"the board's memory was right at no capture phase; last {where}")
        raise MemoryFault(f"the board's memory is wrong {where}")

    # Commands

    def run(
        self, commands: Sequence[Command], *, progress: Callable[[Progress], None] | None = None
    ) -> Run:
        """Run the commands in order; `progress` is called with how far it is.

        Cycles are those that the engine counted; seconds, its clock's for them.
        """
        link = self._link
        for number, command in enumerate(commands):
            self._check(number, command)
        link.write_word(self._engine("CONTROL"), 0)
        for half in range(2):
            link.write_word(self._engine("RING_BASE") + 4 * half, 0)
        slots = RING_BYTES // engine.DESCRIPTOR_BYTES
        link.write_word(self._engine("RING_SIZE"), slots - 1)
        link.write_word(self._engine("CONTROL"), 1)
        outcomes, cycles = [], 0
        for number, command in enumerate(commands):
            for address, content in command.loads:
                link.write(board.MEMORY_BASE + address, content)
            place = self._slot * engine.DESCRIPTOR_BYTES
            link.write(board.MEMORY_BASE + place, command.descriptor)
            self._slot = (self._slot + 1) % slots
            link.write_word(self._engine("TAIL"), self._slot)
            registers = self._await_end(number)
            cycles += registers["TOTAL_CYCLES"]
            dumps = tuple(
                link.read(board.MEMORY_BASE + address, size) for address, size in command.dumps
            )
            outcomes.append(Outcome(registers=registers, dumps=dumps, coalesced=None))
            if progress:
                progress(Progress(cycles, number + 1, 0))
        return Run(
            outcomes=tuple(outcomes), cycles=cycles, seconds=cycles / self._identity.clock_hz
        )

    def _check(self, number: int, command: Command) -> None:
        for address, size in (*((a, len(c)) for a, c in command.loads), *command.dumps):
            if (
                address % 4
                or size % 4
                or not RING_BYTES <= address <= address + size <= self._identity.memory_bytes
            ):
                raise ValueError(
                    f"command {number}: {size} bytes at {address:#x}: must be whole words in"
                    f" {RING_BYTES:#x} to {self._identity.memory_bytes:#x}"
                )

    def _await_end(self, number: int) -> dict[str, int]:
        """The registers, once the command is over; an error is acknowledged."""
        link = self._link
        # As long as anything moves the engine comes to an end by itself, or its watchdog ends it:
        # what is counted must rise.
        quiet = self._patience + link.read_word(self._engine("WATCHDOG")) / self._identity.clock_hz
        seen, since = -1, time.monotonic()
        while link.read_word(self._engine("STATUS")) & 0b01:
            counted = link.read_word(self._engine("TOTAL_CYCLES"))
            if counted != seen:
                seen, since = counted, time.monotonic()
            if time.monotonic() - since > quiet:
                raise BoardStuck(f"command {number}: the engine stands at {counted} cycles")
            time.sleep(POLL_SECONDS)
        space = link.read(board.ENGINE_BASE, engine.REGISTER_SPACE)
        read = _Registers(space, engine.REGISTERS)
        registers = {entry.name: read[entry.name] for entry in engine.REGISTERS}
        link.write_word(self._engine("IRQ"), 0b11)
        if registers["ERROR"]:
            link.write_word(self._engine("ERROR"), 1)
            end = time.monotonic() + quiet
            while link.read_word(self._engine("STATUS")) & 0b110:
                if time.monotonic() > end:
                    raise BoardStuck(f"command {number}: memory owes the engine answers")
                time.sleep(POLL_SECONDS)
        return registers

    @staticmethod
    def _engine(name: str) -> int:
        return board.ENGINE_BASE + engine.register(name).offset

    @staticmethod
    def _board(name: str) -> int:
        return board.BOARD_BASE + board.register(name).offset


class _Registers:
    """Registers by name, out of the bytes of their window."""

    def __init__(self, space: bytes, table: Sequence[engine.Register]):
        self._space = space
        self._offsets = {entry.name: (entry.offset, 8 if entry.wide else 4) for entry in table}

    def __getitem__(self, name: str) -> int:
        offset, size = self._offsets[name]
        return int.from_bytes(self._space[offset : offset + size], "little")

    def bytes(self, name: str, size: int) -> bytes:
        """Those of registers `name_0`, ..."""
        offset = self._offsets[f"{name}_0"][0]
        return self._space[offset : offset + size]

    def text(self, name: str, size: int) -> str:
        """The same, as text up to the first zero."""
        return self.bytes(name, size).split(b"\0")[0].decode("ascii", "replace")


def _check_version(what: str, version: int, known: int) -> None:
    """The major must be ours; the minor, ours or later."""
    if version >> 16 != known >> 16 or version < known:
        told, wanted = ((v >> 16, v & 0xFFFF) for v in (version, known))
        raise WrongBoard(
            f"{what} are of version {told[0]}.{told[1]}, this program knows"
            f" {wanted[0]}.{wanted[1]}: build the bitstream anew"
        )
