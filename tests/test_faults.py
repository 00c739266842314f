# SPDX-FileCopyrightText: castbag contributors
# SPDX-License-Identifier: BSD-2-Clause
"""The engine on a bad bus: stalls, late answers, errors on any beat, silence, resets.

Whatever happens, a command ends, right or with its code and place; memory beside the outputs stays
as it was, every element of the table is the old one or the new; and the next command is right.
"""

import random
from dataclasses import replace

import numpy as np
import pytest

from castbag.golden import fp32
from castbag.host.device import RING_BYTES, Command
from castbag.host.step import DATAFLOWS, run_step
from castbag.host.workload import prepare
from castbag.rtl.axi import DECERR, SLVERR
from castbag.rtl.config import preset
from castbag.rtl.control.map import Awaited, Error
from castbag.sim.device import Faults, SimulatedDevice
from castbag.sim.memories import MEMORIES
from castbag.sim.model import SIMULATORS
from tests.test_engine import trace_of
from tests.test_engine_errors import OUTPUTS, command

TINY = preset("tiny")
ROWS = 40
LENGTHS = (9, 0, 30, 1, 25, 60)  # two runs: something is spilled
FLOWS = tuple(DATAFLOWS)
EVERY_CHANNEL = 0o44444
ORDERS = {"any": 0, "address first": 1, "data first": 2, "together": 3}


def workload(dataflow, lengths=LENGTHS, rows=ROWS, config=TINY):
    trace = trace_of(lengths, rows, skew=1, seed=1, wide=True)
    return prepare(trace, config=config, preset="tiny", dataflows=[dataflow], dim=6, rows=rows)


def device(work, faults, **options):
    return SimulatedDevice(
        work.config, memory_bytes=work.layout.memory_bytes, faults=faults, **options
    )


def allocated(work, one: Command) -> Command:
    places = tuple((b.address, b.size) for b in work.layout.buffers.values())
    return replace(one, allocated=places)


def stalls(rng) -> int:
    """Every channel by a likelihood of its own, up to seven eighths."""
    return sum(rng.randrange(8) << 3 * k for k in range(5))


@pytest.mark.parametrize("dataflow", FLOWS)
@pytest.mark.parametrize("order", ORDERS)
def test_any_bus_gives_the_right_step(order, dataflow):
    rng, work = random.Random(order + dataflow), workload(dataflow)
    for late in (0, 200):
        faults = Faults(stalls=stalls(rng), order=ORDERS[order], late=late)
        (run,) = run_step(device(work, [faults]), work, [dataflow])
        assert run.faults == (), faults


@pytest.mark.parametrize("dataflow", FLOWS)
def test_several_read_ports(dataflow):
    work = workload(dataflow, config=replace(TINY, read_ports=4, read_stripe=64))
    for faults in (Faults(), Faults(stalls=EVERY_CHANNEL)):
        for memory in ("ideal", "ddr3-800-x16,window=1"):
            (run,) = run_step(device(work, [faults], memory=memory), work, [dataflow])
            assert run.faults == (), (faults, memory)


@pytest.mark.parametrize("memory", MEMORIES)
@pytest.mark.parametrize("dataflow", FLOWS)
def test_every_memory_gives_the_right_step(dataflow, memory):
    work = workload(dataflow)
    (run,) = run_step(device(work, [Faults(stalls=0o10101)], memory=memory), work, [dataflow])
    assert run.faults == ()


def test_on_icarus_too():
    work = workload("expand-coalesce", lengths=(3, 0, 5), rows=9)
    faults = Faults(stalls=EVERY_CHANNEL, order=ORDERS["data first"], late=30)
    (run,) = run_step(device(work, [faults], simulator="icarus"), work, ["expand-coalesce"])
    assert run.faults == ()


def check_aftermath(work, one: Command, outcome) -> None:
    """What must hold of memory after a command that was broken off."""
    names = list(work.layout.buffers)
    before = dict(zip(names, (content for _, content in one.loads), strict=True))
    after = dict(zip(names, outcome.dumps, strict=True))
    for name, buffer in work.layout.buffers.items():
        writable = name in OUTPUTS or name in ("scratch", "table")
        rows = buffer.rows if writable else 0
        stray = buffer.stray(before[name], after[name], rows=rows, row_bytes=buffer.row_bytes)
        assert stray is None, f"{name}: byte at {stray:#x}"
    table = fp32.bits(work.layout.buffers["table"].read(after["table"], "<f4"))
    old, new = fp32.bits(work.table), fp32.bits(work.expected.table)
    assert ((table == old) | (table == new)).all(), "an element of the table is neither old nor new"


def run_around(work, dataflow, faults, **options):
    """Each of `faults` on a command of its own, and a right one behind it; the former's outcomes.

    Loads and dumps are those of the right step throughout.
    """
    one = allocated(work, command(work, dataflow))
    plan = [entry for each in faults for entry in (each, Faults())]
    run = device(work, plan, **options).run([one] * len(plan))
    for place, outcome in enumerate(run.outcomes):
        if place % 2:
            assert outcome.registers["ERROR"] == Error.NONE
            table = work.layout.buffers["table"]
            dump = outcome.dumps[list(work.layout.buffers).index("table")]
            got, expected = table.read(dump, "<f4"), work.expected.table
            assert np.array_equal(fp32.bits(got), fp32.bits(expected)), faults[place // 2]
        elif outcome.registers["ERROR"]:
            check_aftermath(work, one, outcome)
    return run.outcomes[::2]


@pytest.mark.parametrize("dataflow", FLOWS)
def test_an_error_on_any_beat_ends_the_command(dataflow):
    rng, work = random.Random(dataflow), workload(dataflow)
    one = allocated(work, command(work, dataflow))
    (right,) = device(work, [Faults()]).run([one]).outcomes
    beats, _ = right.beats
    faults = []
    for kind, numbers in ((1, range(beats)), (2, range(24))):
        for number in rng.sample(numbers, 12):
            response = rng.choice((SLVERR, DECERR))
            order = rng.choice(list(ORDERS.values()))
            extra = {"stalls": rng.choice((0, stalls(rng))), "order": order}
            faults.append(Faults(fault=kind, fault_at=number, fault_response=response, **extra))
    for each, outcome in zip(faults, run_around(work, dataflow, faults), strict=True):
        registers = outcome.registers
        assert registers["ERROR"] == {1: Error.READ, 2: Error.WRITE}[each.fault], each
        extents = [(0, RING_BYTES)] + [(b.address, b.size) for b in work.layout.buffers.values()]
        position = registers["ERROR_POSITION"]
        assert any(first <= position < first + size for first, size in extents), each


@pytest.mark.parametrize("dataflow", FLOWS)
def test_a_reset_at_any_cycle_and_then_a_right_run(dataflow):
    rng, work = random.Random(dataflow), workload(dataflow)
    cycles = [rng.randrange(1, 1500) for _ in range(12)]
    faults = [Faults(reset_after=cycle, stalls=rng.choice((0, stalls(rng)))) for cycle in cycles]
    for outcome in run_around(work, dataflow, faults):
        assert outcome.registers["ERROR"] == Error.NONE


@pytest.mark.parametrize("simulator", SIMULATORS)
def test_silence_wakes_the_watchdog(simulator):
    rng, work = random.Random(simulator), workload("cast", lengths=(3, 0, 5), rows=9)
    numbers = [0, 40, *rng.sample(range(60), 3)]
    faults = [Faults(mute=1, fault_at=number) for number in numbers]
    for each, outcome in zip(
        faults, run_around(work, "cast", faults, simulator=simulator, watchdog=300), strict=True
    ):
        registers = outcome.registers
        assert registers["ERROR"] == Error.WATCHDOG, each
        awaited = registers["ERROR_POSITION"]
        assert awaited & (Awaited.READ_DATA | Awaited.WRITE_ANSWER), each
        assert registers["STATUS"] & 0b100, "memory owes answers"


def test_a_watchdog_that_sleeps_changes_nothing():
    work = workload("cast", lengths=(3, 0, 5), rows=9)
    late = Faults(late=900)
    (run,) = run_step(device(work, [late], watchdog=0), work, ["cast"])
    assert run.faults == ()


@pytest.mark.parametrize("name", ["indices", "offsets", "gradient", "table", "pooled"])
def test_what_was_not_allocated_is_refused(name):
    """Memory is there, and the host's descriptor names it, but it is nobody's."""
    work = workload("fused")
    one = command(work, "fused")
    buffer = work.layout.buffers[name]
    places = [(b.address, b.size) for b in work.layout.buffers.values() if b is not buffer]
    (outcome,) = device(work, ()).run([replace(one, allocated=tuple(places))]).outcomes
    error, position = outcome.registers["ERROR"], outcome.registers["ERROR_POSITION"]
    assert error == (Error.WRITE if name == "pooled" else Error.READ)
    assert buffer.address <= position < buffer.address + buffer.size
