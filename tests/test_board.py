# SPDX-FileCopyrightText: castbag contributors
# SPDX-License-Identifier: BSD-2-Clause
"""A whole board, simulated up to its pins, and the very driver that a real one would have."""

import functools
import json
import socket
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from litex.tools.litex_client import RemoteClient
from litex.tools.litex_server import RemoteServer
from litex.tools.remote.comm_uart import CommUART

from castbag.boards.driver import BoardDevice, MemoryFault, WrongBoard
from castbag.boards.link import Link, LinkLost, NoDevice, PortBusy
from castbag.host import readers
from castbag.host.cli import main
from castbag.host.device import Command
from castbag.host.step import run_step
from castbag.host.trace import trace_bytes
from castbag.host.workload import prepare
from castbag.rtl.config import preset
from castbag.rtl.control import map as engine
from castbag.rtl.link.frames import BLOCK_WRITE
from castbag.rtl.sdram import CHIPS
from castbag.rtl.soc import map as board
from castbag.rtl.soc.system import SystemConfig
from castbag.sim.board import SimulatedBoard

CHIP = CHIPS["W9825G6KH-6"]
CONFIG = SystemConfig(
    engine=preset("tiny"),
    preset="tiny",
    board="simulated",
    clock_hz=100_000_000,
    baud=25_000_000,  # four cycles a bit
    memory_bytes=CHIP.capacity,
    build=bytes(range(16)),
    tools="none 1.0",
    silence=1e-3,
    debounce=16,
    first_test_bytes=8192,
)
SILENCE = {"silence": 0.5, "patience": 5.0}
"""Seconds of ours in which the simulated board has counted its own, slow as it is."""

DATAFLOWS = ("fused", "cast", "expand-coalesce")


@pytest.fixture
def simulated():
    with SimulatedBoard(CONFIG, chip=CHIP) as running:
        yield running


def step_of(device, dataflows=DATAFLOWS, **changes):
    drawn = readers.synthetic(bags=6, pooling=4, rows=20, zipf=1.0, seed=1)
    workload = prepare(
        drawn, config=device.config, preset="tiny", dataflows=dataflows, dim=8, **changes
    )
    return run_step(device, workload, dataflows)


def test_a_step_through_uart_controller_and_chip(simulated):
    with Link.open(simulated.path, **SILENCE) as link:
        device = BoardDevice(link)
        told = device.identity
        assert (told.board, told.preset, told.tools) == ("simulated", "tiny", "none 1.0")
        assert told.build == bytes(range(16)).hex()
        assert (told.clock_hz, told.memory_bytes) == (CONFIG.clock_hz, CHIP.capacity)
        assert device.config == preset("tiny")
        for run in step_of(device):
            assert run.faults == ()
            seen = {name: exact for name, exact in run.bit_exact.items() if exact is not None}
            assert all(seen.values())
            # A board shows no gradients on their way: in `fused` they never leave the chip.
            assert ("coalesced" in seen) == (run.dataflow != "fused")
        assert link.retries == 0


def test_an_error_of_the_engine_leaves_the_board_usable(simulated):
    with Link.open(simulated.path, **SILENCE) as link:
        device = BoardDevice(link)
        wrong = Command(
            descriptor=engine.encode_descriptor(forward=1, dataflow=engine.Dataflow.FUSED, dim=0),
            loads=(),
            dumps=(),
        )
        (outcome,) = device.run([wrong]).outcomes
        assert outcome.registers["ERROR"] == engine.Error.FIELD
        assert outcome.registers["ERROR_POSITION"] == engine.field("dim").word
        assert step_of(device, ["cast"])[0].faults == ()


def test_a_host_that_leaves_in_the_middle_is_followed_by_another(simulated, monkeypatch):
    """Of a command, and of a frame: whoever comes next finds a board that works."""
    drawn = readers.synthetic(bags=40, pooling=25, rows=20, zipf=1.0, seed=3)
    workload = prepare(drawn, config=CONFIG.engine, preset="tiny", dataflows=["cast"], dim=8)
    with Link.open(simulated.path, **SILENCE) as link:
        device = BoardDevice(link)

        def leave(number):
            assert link.read_word(engine.register("STATUS").offset) & 1, "the command is over"
            raise KeyboardInterrupt

        monkeypatch.setattr(device, "_await_end", leave)
        with pytest.raises(KeyboardInterrupt):
            run_step(device, workload, ["cast"])
    with Path(simulated.path).open("wb", buffering=0) as port:
        port.write(bytes([BLOCK_WRITE, 1, 0, 8]))  # and no more of it
    with Link.open(simulated.path, **SILENCE) as link:
        assert step_of(BoardDevice(link), ["fused"])[0].faults == ()


def test_the_command_line_runs_on_it(simulated, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(Link, "open", functools.partial(Link.open, **SILENCE))
    Path("t.npz").write_bytes(
        trace_bytes(readers.synthetic(bags=3, pooling=3, rows=9, zipf=0.0, seed=2))
    )
    arguments = ["run", "t.npz", "--dim", "4", "--device", simulated.path]
    outputs = ["--out", "r.npz", "--report", "r.json"]
    done = CliRunner().invoke(main, [*arguments, "--dataflow", "cast", *outputs])
    assert done.exit_code == 0, done.output
    assert "bit-exact: yes" in done.output
    report = json.loads(Path("r.json").read_text())
    assert report["simulator"] == {"name": "simulated", "cycles_per_second": 100e6}
    assert report["preset"] == "tiny" and report["memory"] == "board"
    assert set(np.load("r.npz")) == {"pooled", "unique_rows", "coalesced", "table"}
    refused = CliRunner().invoke(main, [*arguments, "--memory", "ideal"])
    assert refused.exit_code == 2
    assert "--memory is for simulators" in refused.output


@pytest.mark.filterwarnings("ignore:setDaemon")  # LiteX's
@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")  # on closing
def test_a_client_that_is_not_ours_reads_and_writes(simulated):
    """LiteX's own, over its server: registers and memory."""
    simulated.await_lights(tested=True, running=False)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    server = RemoteServer(CommUART(simulated.path, 3_000_000), "127.0.0.1", port)
    server.open()
    server.start(1)
    client = RemoteClient(port=port)
    client.open()
    assert client.read(board.BOARD_BASE) == board.IDENTITY
    assert client.read(board.ENGINE_BASE) == engine.IDENTITY
    scratch = board.BOARD_BASE + board.register("SCRATCH").offset
    client.write(scratch, 0x12345678)
    assert client.read(scratch) == 0x12345678
    words = [0x01020304 * k & 0xFFFF_FFFF for k in range(20)]
    client.write(board.MEMORY_BASE + 0x2004, words)
    assert client.read(board.MEMORY_BASE + 0x2004, 20) == words
    assert client.read(0x2000_0000) == 0xFFFF_FFFF  # nothing lies there
    client.close()
    server.close()


def test_memory_that_is_wrong_is_found(simulated, tmp_path, monkeypatch):
    simulated.await_lights(tested=True, error=False)
    simulated.damage()
    with Link.open(simulated.path, **SILENCE) as link:
        with pytest.raises(MemoryFault, match="no capture phase; last at address 0x"):
            BoardDevice(link)
        simulated.damage()
        assert step_of(BoardDevice(link), ["fused"])[0].faults == ()


def test_the_button_has_memory_tested(simulated):
    simulated.await_lights(tested=True, error=False)
    with Link.open(simulated.path, **SILENCE) as link:
        link.write_word(board.BOARD_BASE + board.register("TEST_BYTES").offset, 8192)
    simulated.damage()
    simulated.press()
    simulated.await_lights(error=True, tested=False)
    simulated.damage()
    simulated.press()
    simulated.await_lights(error=False, tested=True)


def test_late_data_are_captured_late():
    """Wires of half a clock and more: the board finds the phase by itself."""
    with SimulatedBoard(CONFIG, chip=CHIP, delay=3) as simulated:
        simulated.await_lights(tested=True, error=False)
        with Link.open(simulated.path, **SILENCE) as link:
            phase = link.read_word(board.BOARD_BASE + board.register("PHASE").offset)
            assert phase == 4 | 4 << 8 | 4 << 16


def test_a_port_is_one_programs(simulated):
    with (
        Link.open(simulated.path, **SILENCE),
        pytest.raises(PortBusy, match=simulated.path),
    ):
        Link.open(simulated.path, **SILENCE)


def test_a_board_that_goes_away_is_told_of(simulated):
    with Link.open(simulated.path, **SILENCE) as link:
        device = BoardDevice(link)
        simulated.close()
        with pytest.raises(LinkLost):
            step_of(device, ["fused"])


def test_no_board(tmp_path):
    with pytest.raises(NoDevice, match="nowhere"):
        Link.open(str(tmp_path / "nowhere"))


class FakeLink:
    """Windows of registers that say what they are told."""

    def __init__(self, **changes):
        own = CONFIG.constants
        self.board = {entry.name: own.get(entry.name, 0) for entry in board.REGISTERS}
        config = CONFIG.engine
        self.engine = {entry.name: 0 for entry in engine.REGISTERS} | {
            "IDENTITY": engine.IDENTITY,
            "VERSION": engine.VERSION,
            "MAX_DIM": config.max_dim,
        }
        for name, value in changes.items():
            where, register = name.split("_", 1)
            getattr(self, where)[register] = value

    def read(self, address, size):
        base, table, values = (
            (board.BOARD_BASE, board.REGISTERS, self.board)
            if address >= board.BOARD_BASE
            else (board.ENGINE_BASE, engine.REGISTERS, self.engine)
        )
        space = bytearray(size)
        for entry in table:
            if entry.offset < size:
                wide = 8 if entry.wide else 4
                space[entry.offset : entry.offset + wide] = values[entry.name].to_bytes(
                    wide, "little"
                )
        return bytes(space)


@pytest.mark.parametrize(
    "changes, message",
    [
        ({"board_IDENTITY": 0}, "no castbag board: it says 0x00000000"),
        ({"board_VERSION": 0x0002_0000}, "the board's registers are of version 2.0"),
        ({"engine_IDENTITY": 7}, "the board has no engine: its place says 0x00000007"),
        ({"engine_VERSION": 0x0001_0000}, "the engine's registers are of version 1.0"),
        ({"board_PRESET_0": int.from_bytes(b"odd\0", "little")}, "of preset 'odd', unknown"),
        ({}, "BUS_BYTES = 0, its preset tiny here 8: build its bitstream anew"),
    ],
)
def test_what_is_no_board_of_ours_is_refused(changes, message):
    with pytest.raises(WrongBoard, match=message):
        BoardDevice(FakeLink(**changes))
