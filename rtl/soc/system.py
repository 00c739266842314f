# SPDX-FileCopyrightText: castbag contributors
# SPDX-License-Identifier: BSD-2-Clause
"""System: an engine, a host's link and a memory test, around a memory that is somebody else's."""

from dataclasses import dataclass
from typing import Any

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.cdc import FFSynchronizer
from amaranth.lib.wiring import In, Out, connect, flipped

from ..axi import AXI4ReadSignature, AXI4WriteSignature, numbered
from ..config import EngineConfig
from ..control import map as control
from ..control.registers import RegisterFile
from ..engine import Engine
from ..link.frames import SILENCE
from ..link.link import HostLink
from ..resets import reset_by
from . import map as board
from .decoder import Decoder
from .join import MemoryJoin
from .map import BUILD_BYTES
from .memory_test import MemoryTest
from .window import MemoryWindow

LIGHTS = ("heartbeat", "tested", "running", "error")
"""Members that are for LEDs, see `System`."""

RESET_DELAY = 256
"""Cycles from a write of RESET to the reset: time for the write's answer to come back."""

RESET_CYCLES = 16


@dataclass(frozen=True, kw_only=True)
class SystemConfig:
    """What a system is built for.

    Attributes:
        engine: Its engine; the memory port has its bus's width.
        preset: That engine's name.
        board: The board's name.
        clock_hz: Of the engine's clock.
        baud: Bits a second of the link.
        memory_bytes: Of memory, a power of two.
        phase: Capture phase of read data, at first.
        phases: Capture phases that the memory test tries; 0: none.
        build: Hash of what the bitstream is made from.
        tools: Tools and their versions.
        silence: Seconds of silence that put the link in step again.
        debounce: Cycles that the button must rest.
        first_test_bytes: How much the test at power-up tests; 0: all.
    """

    engine: EngineConfig
    preset: str
    board: str
    clock_hz: int
    baud: int
    memory_bytes: int
    phase: int = 0
    phases: int = 16
    build: bytes = bytes(BUILD_BYTES)
    tools: str = ""
    silence: float = SILENCE
    debounce: int = 1 << 20
    first_test_bytes: int = 0

    def __post_init__(self):
        if self.engine.bus_bits != 64:
            raise ValueError(
                f"engine: its bus has {self.engine.bus_bits} bits; the memory test and the"
                " memory port have 64"
            )
        if self.engine.read_ports != 1:
            raise ValueError(f"engine: read_ports = {self.engine.read_ports}: must be 1")
        size = self.memory_bytes
        if size & (size - 1) or not 4096 <= size <= 1 << 30:
            raise ValueError(f"memory_bytes = {size}: must be a power of two, 4096 to 2**30")
        for name, most in (("board", board.NAME_BYTES), ("preset", board.NAME_BYTES)):
            if len(getattr(self, name).encode()) > most:
                raise ValueError(f"{name} = {getattr(self, name)!r}: at most {most} bytes")
        if len(self.build) != board.BUILD_BYTES:
            raise ValueError(f"build: {len(self.build)} bytes; must be {board.BUILD_BYTES}")

    @property
    def constants(self) -> dict[str, int]:
        """Registers of the board's map that never change, by name."""
        texts = {
            "BOARD": self.board.encode().ljust(board.NAME_BYTES, b"\0"),
            "PRESET": self.preset.encode().ljust(board.NAME_BYTES, b"\0"),
            "BUILD": self.build,
            "TOOLS": self.tools.encode()[: board.TOOLS_BYTES].ljust(board.TOOLS_BYTES, b"\0"),
        }
        return {
            "IDENTITY": board.IDENTITY,
            "VERSION": board.VERSION,
            "CLOCK": self.clock_hz,
            "MEMORY_BYTES": self.memory_bytes,
        } | {
            f"{name}_{k // 4}": int.from_bytes(text[k : k + 4], "little")
            for name, text in texts.items()
            for k in range(0, len(text), 4)
        }


class System(wiring.Component):
    """What a host reaches by its link: the engine, the board's registers, memory.

        rx, tx -> HostLink -> Decoder -> registers of engine and board
                                      -> MemoryWindow -+
                                         Engine -------+-> memory_read, memory_write
                                         MemoryTest ---+

    After a reset, and after the button was pressed while the engine rested, memory is tested.
    A write of the register RESET resets all but the link. `memory_reset` is high meanwhile, and
    while all is reset and a cycle longer: so it is the one reset of whatever has to do with memory.

    Members:
        rx, tx: In, Out; the link's, 1 at rest. `rx` may change at any time.
        button: In; 1 while pressed, at any time.
        heartbeat, tested, running, error: Out; for LEDs: blinks about once a second; the last
            test of memory found nothing (blinks while it runs); the engine is busy; the test
            found something, or the engine stopped.
        memory_read, memory_write: AXI4 manager.
        memory_phase: Out; capture phase of read data.
        memory_reset: Out; memory's controller is to be reset.
    """

    rx: Signal
    tx: Signal
    button: Signal
    heartbeat: Signal
    tested: Signal
    running: Signal
    error: Signal
    memory_read: Any  # AXI4ReadSignature
    memory_write: Any  # AXI4WriteSignature
    memory_phase: Signal
    memory_reset: Signal

    def __init__(self, config: SystemConfig):
        self.config = config
        self._bus = {
            "address_bits": config.engine.address_bits,
            "data_bits": config.engine.bus_bits,
        }
        super().__init__(
            {
                "rx": In(1, init=1),  # pyright: ignore[reportCallIssue]  (stubs lack it)
                "tx": Out(1, init=1),  # pyright: ignore[reportCallIssue]
                "button": In(1),
                **{name: Out(1) for name in LIGHTS},
                "memory_read": Out(AXI4ReadSignature(**self._bus)),
                "memory_write": Out(AXI4WriteSignature(**self._bus)),
                "memory_phase": Out(4, init=config.phase),  # pyright: ignore[reportCallIssue]
                "memory_reset": Out(1, init=1),  # pyright: ignore[reportCallIssue]
            }
        )

    def elaborate(self, platform):
        m = Module()
        config = self.config
        reset = self.memory_reset

        m.submodules.link = link = HostLink.at(
            clock=config.clock_hz, baudrate=config.baud, silence=config.silence
        )
        decoder: Any = Decoder(  # its members are the regions'
            regions={
                "engine": (board.ENGINE_BASE, control.REGISTER_SPACE),
                "board": (board.BOARD_BASE, board.REGISTER_SPACE),
                "memory": (board.MEMORY_BASE, config.memory_bytes),
            }
        )
        m.submodules.decoder = decoder
        registers: Any = RegisterFile(
            registers=board.REGISTERS, space=board.REGISTER_SPACE, constants=config.constants
        )
        engine = Engine(config.engine)
        window = MemoryWindow(size=config.memory_bytes, **self._bus)
        test = MemoryTest(
            address_bits=config.engine.address_bits,
            memory_bytes=config.memory_bytes,
            phase=config.phase,
            phases=config.phases,
        )
        join = MemoryJoin(managers=3, **self._bus)
        # All that the decoder leads to: it abandons accesses meanwhile, wherever they went.
        behind = reset_by(m, reset, domain="behind")
        m.submodules.registers = behind(registers)
        m.submodules.engine = behind(engine)
        m.submodules.window = behind(window)
        m.submodules.memory_test = behind(test)
        m.submodules.join = behind(join)

        m.d.comb += [
            link.rx.eq(self.rx),
            self.tx.eq(link.tx),
            decoder.abandon.eq(reset),
            self.memory_phase.eq(test.phase),
        ]
        connect(m, link.bus, decoder.i)
        connect(m, decoder.engine, engine.control)
        connect(m, decoder.board, registers.bus)
        connect(m, decoder.memory, window.i)
        for name, manager in zip(numbered("", 3), (engine, window, test), strict=True):
            connect(m, manager.read, getattr(join, f"read{name}"))
            connect(m, manager.write, getattr(join, f"write{name}"))
        connect(m, join.memory_read, flipped(self.memory_read))
        connect(m, join.memory_write, flipped(self.memory_write))
        self._control(m, registers, engine, test)
        self._lights(m, engine, test)
        return m

    def _control(
        self,
        m: Module,
        registers: Any,  # RegisterFile, whose members are the table's
        engine: Engine,
        test: MemoryTest,
    ) -> None:
        """Resets and tests, and what the registers show."""
        config = self.config
        wait = Signal(range(RESET_DELAY + RESET_CYCLES + 1))
        fresh = Signal(init=1)  # the test after a reset is due
        # A flip-flop: it goes all over the device.
        m.d.sync += self.memory_reset.eq((wait != 0) & (wait <= RESET_CYCLES))
        with m.If(wait != 0):
            m.d.sync += [wait.eq(wait - 1), fresh.eq(1)]
        with m.Elif(registers.RESET_clear[0]):
            m.d.sync += wait.eq(RESET_DELAY + RESET_CYCLES)
        asked = (registers.TEST_clear[0] | self._pressed(m)) & ~engine.busy
        beginning = Signal()
        m.d.comb += beginning.eq((fresh | asked) & (wait == 0) & ~self.memory_reset)
        first = Signal()  # it is the test after a reset that begins
        m.d.sync += [test.start.eq(beginning), first.eq(fresh)]
        m.d.comb += test.size.eq(Mux(first, config.first_test_bytes, registers.TEST_BYTES))
        with m.If(beginning):
            m.d.sync += fresh.eq(0)
        m.d.comb += [
            registers.TEST.eq(Cat(test.running, test.passed, test.failed)),
            registers.TEST_ADDRESS.eq(test.address),
            registers.TEST_EXPECTED.eq(test.expected),
            registers.TEST_READ.eq(test.got),
            registers.PHASE.eq(
                Cat(
                    *(test.phase, Const(0, 4), test.least, Const(0, 4), test.most),
                    *(Const(0, 11), test.none_right),
                )
            ),
        ]

    def _pressed(self, m: Module) -> Value:
        """A pulse when the button goes down and has not moved since it was last up."""
        button, settled, before = Signal(), Signal(), Signal()
        m.submodules.button = FFSynchronizer(self.button, button)
        rest = Signal(range(self.config.debounce + 1))
        m.d.sync += [rest.eq(rest + 1), before.eq(settled)]
        with m.If(button == settled):
            m.d.sync += rest.eq(0)
        with m.Elif(rest == self.config.debounce):
            m.d.sync += settled.eq(button)
        return settled & ~before

    def _lights(self, m: Module, engine: Engine, test: MemoryTest) -> None:
        beat = Signal((self.config.clock_hz - 1).bit_length())
        m.d.sync += [
            beat.eq(beat + 1),
            self.heartbeat.eq(beat[-1]),
            self.tested.eq(test.passed | (test.running & beat[-3])),
            self.running.eq(engine.busy),
            self.error.eq(test.failed | engine.stopped),
        ]
