# SPDX-FileCopyrightText: castbag contributors
# SPDX-License-Identifier: BSD-2-Clause
"""SimulatedBoard: a whole board in a simulator, its UART a pseudo-terminal for any program.

with SimulatedBoard(config, chip=CHIPS["W9825G6KH-6"]) as board:
    link = Link.open(board.path, ...)
"""

import queue
import signal
import subprocess
import threading
import time
from functools import lru_cache
from pathlib import Path

from castbag.rtl.sdram import SdramChip
from castbag.rtl.soc.sdram_system import SdramSystem
from castbag.rtl.soc.system import LIGHTS, SystemConfig
from castbag.rtl.verilog import to_verilog

from .model import Model, SimulationFailed, header_ports
from .sdram import SDRAM_RULES, Padded, sdram_constants

START_SECONDS = 60


@lru_cache
def _system(config: SystemConfig, chip: SdramChip) -> str:
    """Verilog of all that is in the FPGA; it takes some seconds."""
    return to_verilog(Padded(SdramSystem(config, chip=chip)), name="board_system")


class SimulatedBoard:
    """Runs until it is closed; the chip's rules are watched all the time.

    Args:
        config: The system's; its clock must be a whole number of cycles a bit.
        chip: Its SDRAM.
        delay: Half clocks by which the chip's data come late, up to 7.
    """

    path: str
    """Where the UART is."""

    def __init__(self, config: SystemConfig, *, chip: SdramChip, delay: int = 0):
        self.cycles_a_bit, rest = divmod(config.clock_hz, config.baud)
        if rest:
            raise ValueError(f"baud = {config.baud}: must divide the clock, {config.clock_hz}")
        self.config, self.chip, self.delay = config, chip, delay
        self._lines: queue.Queue[str] = queue.Queue()

    @property
    def model(self) -> Model:
        """What is built for it."""
        here = Path(__file__).parent
        own = {name: (here / name).read_text() for name in ("board.v", "sdram_chip.v")}
        timings = self.chip.timings(self.config.clock_hz / 1e6)
        return Model(
            top="board",
            sources=(*own.items(), ("board_system.v", _system(self.config, self.chip))),
            simulator="verilator",
            ports=header_ports(own["board.v"]),
            constants=tuple(sdram_constants(self.chip, timings).items()),
            fast=True,
            program=(here / "board.cpp").read_text(),
        )

    def __enter__(self) -> "SimulatedBoard":
        folder = self.model.build()
        self._process = subprocess.Popen(
            [folder / "board", str(self.cycles_a_bit), str(self.delay)],
            stdout=subprocess.PIPE,
            text=True,
        )
        self._listener = threading.Thread(target=self._listen, daemon=True)
        self._listener.start()
        self.path = self.awaited("port").split()[1]
        return self

    def __exit__(self, *_) -> None:
        self.close()

    def close(self) -> None:
        """End it, as if it were unplugged."""
        self._process.terminate()
        self._process.wait(timeout=10)
        self._listener.join()

    def _listen(self) -> None:
        assert self._process.stdout is not None
        with self._process.stdout as lines:
            for line in lines:
                self._lines.put(line.strip())

    def awaited(self, word: str, *, seconds: float = START_SECONDS) -> str:
        """The next line that begins with `word`; SimulationFailed if none comes in time."""
        end = time.monotonic() + seconds
        while (left := end - time.monotonic()) > 0:
            try:
                line = self._lines.get(timeout=min(left, 1))
            except queue.Empty:
                if self._process.poll() is not None:
                    break
                continue
            if line.startswith("broken"):
                _, rule, clock = line.split()
                raise SimulationFailed(
                    f"the chip of SDRAM: {SDRAM_RULES[int(rule)]}, at clock {clock}"
                )
            if line.startswith(word):
                return line
        raise SimulationFailed(f"the board did not tell of {word!r} within {seconds} seconds")

    def await_lights(self, *, seconds: float = START_SECONDS, **shown: bool) -> None:
        """Wait until these lights are as said; `tested` blinks during a test."""
        end = time.monotonic() + seconds
        wanted = {LIGHTS.index(name): value for name, value in shown.items()}
        while True:
            line = self.awaited("lights", seconds=max(end - time.monotonic(), 0.0))
            lights = int(line.split()[1])
            if all(bool(lights >> bit & 1) == value for bit, value in wanted.items()):
                return

    def press(self) -> None:
        """Press the button for a moment."""
        self._process.send_signal(signal.SIGUSR1)

    def damage(self) -> None:
        """Break a data pin of the chip; or mend it, if it is broken."""
        self._process.send_signal(signal.SIGUSR2)
