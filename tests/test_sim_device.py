# SPDX-FileCopyrightText: castbag contributors
# SPDX-License-Identifier: BSD-2-Clause
"""The simulated device around a stand-in for the engine that only copies, and can misbehave."""

import re
from pathlib import Path

import numpy as np
import pytest

from castbag.host.device import Command
from castbag.rtl.config import PRESETS
from castbag.rtl.control.map import REGISTERS, encode_descriptor
from castbag.sim.device import DeviceFault, SimulatedDevice
from castbag.sim.model import SIMULATORS

CONFIG = PRESETS["tiny"]
MEMORY = 1 << 16
BEAT = CONFIG.bus_bytes
FROM, TO = 0x1FC0, 0x3008  # each 4 KiB page ends within a copy of 64 beats


class CopierDevice(SimulatedDevice):
    """With the stand-in, in place of the engine."""

    def engine(self):
        text = (Path(__file__).parent / "benches" / "copier.v").read_text()
        sizes = {
            "ADDRESS_BITS": self.config.address_bits,
            "DATA_BITS": self.config.bus_bits,
            "INDEX_BITS": self.config.vector_index_bits,
        }
        for name, value in sizes.items():
            text = re.sub(rf"parameter {name} = \d+", f"parameter {name} = {value}", text)
        return text


def copy(content, *, source=FROM, target=TO, dumps=None, **fields):
    """A command that loads `content` and copies it."""
    fields = {"lookups": len(content) // BEAT, "indices": source, "pooled": target, **fields}
    return Command(
        descriptor=encode_descriptor(**fields),
        loads=((source, content),) if source < MEMORY else (),
        dumps=((target, len(content)),) if dumps is None else dumps,
    )


def content(seed, beats=64):
    return np.random.default_rng(seed).bytes(beats * BEAT)


def device(simulator, **arguments):
    return CopierDevice(CONFIG, simulator=simulator, memory_bytes=MEMORY, **arguments)


@pytest.mark.parametrize("simulator", SIMULATORS)
def test_commands_around_the_ring(simulator):
    contents = [content(seed) for seed in range(18)]  # 16 slots
    seen = []
    run = device(simulator).run([copy(each) for each in contents], progress=seen.append)
    assert [outcome.dumps for outcome in run.outcomes] == [(each,) for each in contents]
    assert [outcome.registers["HEAD"] for outcome in run.outcomes] == [*range(1, 16), 0, 1, 2]
    for name in ("cycles", "commands", "lookups"):
        values = [getattr(each, name) for each in seen]
        assert values == sorted(values)
    assert seen[-1].cycles >= run.cycles > 0
    assert (seen[-1].commands, seen[-1].lookups) == (18, 0)
    assert run.seconds > 0
    for outcome in run.outcomes:
        assert list(outcome.registers) == [register.name for register in REGISTERS]
        assert outcome.registers["IDENTITY"] == 0x43424147
        assert outcome.registers["FORWARD_CYCLES"] == 0x0123_4567_89AB_CDEF
        assert outcome.registers["ERROR"] == 0
        assert outcome.beats == (128 // BEAT + 64, 64)
        assert outcome.coalesced is None


@pytest.mark.parametrize("simulator", SIMULATORS)
def test_memory_lasts_between_commands(simulator):
    first, hole = content(1), 0x8000
    chain = [
        copy(first),
        copy(b"", dumps=((TO, len(first)), (hole, 0x1000), (FROM, BEAT))),
        copy(b"", dumps=((hole, 0x1000),)),
    ]
    run = device(simulator).run(chain)
    before, after = run.outcomes[1:]
    assert before.dumps[0] == first
    assert before.dumps[2] == first[:BEAT]
    # What nobody wrote is noise, and the same noise.
    noise = np.frombuffer(before.dumps[1], np.uint32)
    assert len(np.unique(noise)) == len(noise)
    assert after.dumps[0] == before.dumps[1]


@pytest.mark.parametrize("simulator", SIMULATORS)
def test_traced_vectors(simulator):
    data = content(3, beats=60)
    shown = copy(data, backward=1, dim=5)  # 3 bus words
    run = device(simulator).run([copy(data), shown, copy(b"", backward=1, dim=5), shown])
    assert [outcome.coalesced is None for outcome in run.outcomes] == [True, False, False, False]
    for outcome, vectors in zip(run.outcomes[1:], (20, 0, 20), strict=True):
        targets, words = outcome.coalesced
        assert (targets.dtype, words.dtype, words.shape) == (np.int64, np.uint32, (vectors, 6))
        assert targets.tolist() == list(range(vectors))
        assert words.tobytes() == (data if vectors else b"")


@pytest.mark.parametrize("simulator", SIMULATORS)
def test_an_error_is_an_outcome(simulator):
    data = content(4)
    nowhere = MEMORY + 0x100
    commands = [
        copy(data),
        copy(data, source=nowhere),
        copy(data, target=nowhere, dumps=(), backward=1, dim=5),
        copy(data),
    ]
    run = device(simulator).run(commands)
    errors = [(o.registers["ERROR"], o.registers["ERROR_POSITION"]) for o in run.outcomes]
    assert errors == [(0, 0), (7, nowhere), (8, nowhere), (0, 0)]
    assert run.outcomes[1].dumps == (data,)  # as the first command left it
    assert run.outcomes[2].coalesced is None
    assert run.outcomes[3].dumps == (data,)


@pytest.mark.parametrize("simulator", SIMULATORS)
@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"mode": 1}, r"no interrupt within \d+ cycles"),
        (
            {"mode": 2, "source": MEMORY},
            "a burst at 0x10000 lies beyond memory, and the engine did not say so",
        ),
        ({"mode": 3}, r"AR: the burst crosses 4 KiB \(address 0x1fc0, cycle \d+\)"),
        ({"mode": 4}, r"W: WLAST is not on the burst's last beat \(address 0x3008, cycle \d+\)"),
        (
            {"mode": 5},
            r"AW: not an INCR burst of whole bus words \(address 0x3008, cycle \d+\)",
        ),
    ],
)
def test_a_fault_is_raised(simulator, fields, message):
    with pytest.raises(DeviceFault, match=f"^command 1: {message}$"):
        device(simulator, watchdog=1000).run([copy(content(5)), copy(content(6), **fields)])


@pytest.mark.parametrize("simulator", SIMULATORS)
def test_waves(simulator, tmp_path):
    waves = tmp_path / "copy.fst"
    data = content(7)
    run = device(simulator, waves=waves).run([copy(data)])
    assert run.outcomes[0].dumps == (data,)
    good = waves.read_bytes()
    assert len(good) > 1000
    # A fault is what one wants to see them for.
    with pytest.raises(DeviceFault):
        device(simulator, waves=waves).run([copy(data), copy(data, mode=4)])
    assert len(waves.read_bytes()) > len(good)
    assert list(tmp_path.iterdir()) == [waves]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"simulator": "spice"}, "simulator 'spice' unknown: there are verilator, icarus"),
        ({"memory": "drum"}, "memory 'drum' unknown: there are ideal, sdr-133"),
        ({"memory_bytes": 8191}, "memory_bytes = 8191: must be a multiple of 4096"),
        ({"memory_bytes": 4096}, "memory_bytes = 4096: must be .* more than the ring's 4096"),
        ({"memory_bytes": 1 << 33}, r"memory_bytes = 8589934592: must be .* at most 2\*\*32"),
    ],
)
def test_bad_arguments_are_refused(arguments, message):
    with pytest.raises(ValueError, match=f"^{message}"):
        SimulatedDevice(CONFIG, **{"memory_bytes": MEMORY, **arguments})


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"descriptor": b"\0"}, "its descriptor has 1 bytes, not 256"),
        (
            {"loads": ((0x1004, bytes(8)),)},
            "load of 8 bytes at 0x1004: not whole words of 8 bytes",
        ),
        ({"dumps": ((0x1000, 7),)}, "dump of 7 bytes at 0x1000: not whole words of 8 bytes"),
        ({"loads": ((0xFF8, bytes(16)),)}, "load of 16 bytes at 0xff8: outside 0x1000 to 0x10000"),
        ({"dumps": ((0xFFF8, 16),)}, "dump of 16 bytes at 0xfff8: outside 0x1000 to 0x10000"),
    ],
)
def test_bad_commands_are_refused(arguments, message):
    good = copy(content(8))
    parts = {"descriptor": good.descriptor, "loads": good.loads, "dumps": good.dumps}
    with pytest.raises(ValueError, match=f"^command 1: {message}$"):
        device("icarus").run([good, Command(**{**parts, **arguments})])
