# SPDX-FileCopyrightText: castbag contributors
# SPDX-License-Identifier: BSD-2-Clause
"""A host can be wrong too: what the engine does with what `castbag run` would never send it.

Each wrong command ends with its code and place, the table stays as it was, nothing beside the
outputs is written, and the right command after it gives the right step.
"""

import dataclasses

import numpy as np
import pytest

from castbag.host.device import Command
from castbag.host.step import descriptor, memory_images, run_step
from castbag.host.workload import prepare
from castbag.rtl.config import preset
from castbag.rtl.control.map import DESCRIPTOR, Error, Phase, encode_descriptor, field
from castbag.sim.model import SIMULATORS
from tests.axi_device import AxiDevice
from tests.test_engine import trace_of

TINY = preset("tiny")
ROWS = 9
LENGTHS = (3, 1, 0, 5, 2)
OUTPUTS = ("pooled", "coalesced", "cast_table", "unique_rows", "expanded")
ZONE_BYTES = 1 << 16
"""Memory behind all buffers in which every access is answered with an error."""


def workload(dataflow, lengths=LENGTHS):
    trace = trace_of(lengths, ROWS, skew=1, seed=1, wide=True)
    return prepare(trace, config=TINY, preset="tiny", dataflows=[dataflow], dim=6, rows=ROWS)


def command(work, dataflow, *, images=None, fields=None):
    """The workload's command, with other contents of some buffers or other descriptor fields."""
    words = np.frombuffer(descriptor(work, dataflow), "<u4").tolist()
    values = {
        entry.name: (words[entry.word] | (words[entry.word + 1] << 32 if entry.bits == 64 else 0))
        >> entry.low
        & (1 << entry.bits) - 1
        for entry in DESCRIPTOR
    }
    loads = memory_images(work) | (images or {})
    buffers = work.layout.buffers
    return Command(
        descriptor=encode_descriptor(**values | (fields or {})),
        loads=tuple((buffers[name].extent[0], loads[name]) for name in buffers),
        dumps=tuple(buffer.extent for buffer in buffers.values()),
    )


class Wrong(AxiDevice):
    """Runs wrong commands before each right one that it is handed, and keeps their outcomes."""

    def __init__(self, wrong, **arguments):
        super().__init__(TINY, **arguments)
        self.wrong = wrong
        self.seen = []

    def run(self, commands, *, progress=None):
        both = [entry for one in self.wrong for entry in (one, *commands)]
        run = super().run(both)
        self.seen = [
            (one, outcome)
            for one, outcome in zip(both, run.outcomes, strict=True)
            if one not in commands
        ]
        right = run.outcomes[1::2]
        return dataclasses.replace(run, outcomes=right[:1])


def outcomes(dataflow, wrong, folder, simulator, *, faults=(), lengths=LENGTHS):
    """Registers of each wrong command, after checks of what holds for all of them."""
    work = workload(dataflow, lengths)
    device = Wrong(
        wrong,
        simulator=simulator,
        folder=folder,
        memory_bytes=work.layout.memory_bytes + ZONE_BYTES,
        faults=faults,
    )
    (run,) = run_step(device, work, [dataflow])
    assert run.faults == ()
    names = list(work.layout.buffers)
    for one, outcome in device.seen:
        before = dict(zip(names, (content for _, content in one.loads), strict=True))
        after = dict(zip(names, outcome.dumps, strict=True))
        for name, buffer in work.layout.buffers.items():
            output = name in OUTPUTS or name.startswith("scratch")
            rows = buffer.rows if output else 0
            stray = buffer.stray(before[name], after[name], rows=rows, row_bytes=buffer.row_bytes)
            assert stray is None, f"{name}: byte at {stray:#x}"
    return [outcome.registers for _, outcome in device.seen]


def errors(registers):
    return [(Error(r["ERROR"]), r["ERROR_POSITION"]) for r in registers]


@pytest.mark.parametrize("simulator", SIMULATORS)
@pytest.mark.parametrize("dataflow", ["fused", "expand-coalesce"])
def test_wrong_batches(dataflow, simulator, tmp_path):
    work = workload(dataflow)
    buffers = work.layout.buffers

    def indices(place, value):
        changed = work.batch.indices.copy()
        changed[place] = value
        return {"indices": buffers["indices"].image(changed[None])}

    def offsets(place, value):
        changed = work.batch.offsets.copy()
        changed[place] = value
        return {"offsets": buffers["offsets"].image(changed[None])}

    lookups = sum(LENGTHS)
    cases = [
        (indices(0, -1), (Error.INDEX, 0)),
        (indices(4, ROWS), (Error.INDEX, 4)),
        (indices(lookups - 1, 1 << 50), (Error.INDEX, lookups - 1)),
        (offsets(0, 1), (Error.OFFSET_START, 0)),
        (offsets(2, 2), (Error.OFFSET_FALL, 1)),
        (offsets(3, -(1 << 60)), (Error.OFFSET_FALL, 2)),
        (offsets(4, lookups + 1), (Error.OFFSET_END, 3)),
        (offsets(5, lookups - 1), (Error.OFFSET_END, 4)),
    ]
    wrong = [command(work, dataflow, images=images) for images, _ in cases]
    registers = outcomes(dataflow, wrong, tmp_path, simulator)
    assert errors(registers) == [expected for _, expected in cases]
    assert {Phase(r["ERROR_PHASE"]) for r in registers} <= {Phase.FORWARD, Phase.CAST}


@pytest.mark.parametrize("simulator", SIMULATORS)
def test_wrong_descriptors(simulator, tmp_path):
    work = workload("cast")
    top = 1 << TINY.address_bits
    spilling, needed = 65, 64 * 4  # one more than a run; its pairs of 4 bytes
    cases = [
        ({"forward": 0, "backward": 0}, Error.FIELD, "forward"),
        ({"dataflow": 7}, Error.FIELD, "dataflow"),
        ({"optimizer": 3}, Error.FIELD, "optimizer"),
        ({"lookups": TINY.max_lookups + 1}, Error.FIELD, "lookups"),
        ({"bags": (1 << TINY.bag_bits) + 1}, Error.FIELD, "bags"),
        ({"dim": 0}, Error.FIELD, "dim"),
        ({"dim": TINY.max_dim + 1}, Error.FIELD, "dim"),
        ({"rows": 1 << 63}, Error.FIELD, "rows"),
        ({"has_padding": 1, "padding_index": ROWS}, Error.FIELD, "padding_index"),
        ({"indices": work.layout.buffers["indices"].address + 4}, Error.FIELD, "indices"),
        ({"table": top - 8}, Error.EXTENT, "table"),
        ({"coalesced": top - 64}, Error.EXTENT, "coalesced"),
        ({"scratch": 4}, Error.FIELD, "scratch"),
        ({"lookups": spilling, "scratch": top - 8, "scratch_bytes": 8}, Error.EXTENT, "scratch"),
        ({"lookups": spilling, "scratch_bytes": needed - 1}, Error.SCRATCH, "scratch_bytes"),
    ]
    wrong = [command(work, "cast", fields=fields) for fields, _, _ in cases]
    found = errors(outcomes("cast", wrong, tmp_path, simulator))
    for (fields, code, name), (error, position) in zip(cases, found, strict=True):
        # The upper half of a 64-bit field is a word of its own.
        assert error == code, fields
        assert position in (field(name).word, field(name).word + 1), fields


@pytest.mark.parametrize("simulator", SIMULATORS)
@pytest.mark.parametrize("dataflow", ["fused", "cast", "expand-coalesce"])
def test_memory_that_answers_with_errors(dataflow, simulator, tmp_path):
    work = workload(dataflow)
    zone = work.layout.memory_bytes
    beats = range(zone, zone + ZONE_BYTES, TINY.bus_bytes)
    names = list(work.layout.buffers)
    wrong = [command(work, dataflow, fields={name: zone}) for name in names]
    found = outcomes(dataflow, wrong, tmp_path, simulator, faults=tuple(beats))
    for name, (error, position) in zip(names, errors(found), strict=True):
        assert error == (Error.WRITE if name in OUTPUTS else Error.READ), name
        assert zone <= position < zone + ZONE_BYTES, name


@pytest.mark.parametrize("dataflow", ["fused", "expand-coalesce"])
def test_scratch_space_that_answers_with_errors(dataflow, tmp_path):
    """In its first half, where runs are spilled, or in its second one, where they are merged."""
    lengths = (50,) * 7  # six runs, four of which are merged at a time
    work = workload(dataflow, lengths)
    zone = work.layout.memory_bytes
    half = 5 * 64 * 4  # bytes of five runs
    faults = tuple(range(zone, zone + half, TINY.bus_bytes))
    wrong = [
        command(work, dataflow, fields={"scratch": zone}),
        command(work, dataflow, fields={"scratch": zone - half}),
    ]
    found = outcomes(dataflow, wrong, tmp_path, "verilator", faults=faults, lengths=lengths)
    assert [error for error, _ in errors(found)] == [Error.WRITE] * 2
    assert all(zone <= position < zone + half for _, position in errors(found))
    assert {Phase(r["ERROR_PHASE"]) for r in found} == {Phase.CAST}
