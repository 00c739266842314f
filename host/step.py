# SPDX-FileCopyrightText: castbag contributors
# SPDX-License-Identifier: BSD-2-Clause
"""A training step on a device, and its comparison with the golden model, bit for bit.

One run can carry out a step in several dataflows, so that they are compared on the same engine and
memory: each command loads the same contents anew. Of each command everything is checked: the
outputs, every byte of memory that was not to be written, the counts of lookups, and the beats of
each phase against the traffic formula.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from castbag.golden import fp32
from castbag.golden.step import StepResult
from castbag.golden.traffic import CAST_BYTES, ELEMENT_BYTES
from castbag.golden.traffic import Dataflow as DataflowName
from castbag.rtl.control.map import (
    READ_CLIENTS,
    WRITE_CLIENTS,
    Dataflow,
    Error,
    Mode,
    Optimizer,
    Phase,
    encode_descriptor,
)

from .activity import Activity
from .device import Command, Device, Outcome, Progress
from .workload import Workload

DATAFLOWS: dict[DataflowName, Dataflow] = {
    "fused": Dataflow.FUSED,
    "cast": Dataflow.CAST,
    "expand-coalesce": Dataflow.EXPAND_COALESCE,
}

HARDWARE_PHASE = {
    "forward": Phase.FORWARD,
    "cast": Phase.CAST,
    "expand": Phase.EXPAND,
    "coalesce": Phase.BACKWARD,
    "backward": Phase.BACKWARD,
    "update": Phase.UPDATE,
}
"""The engine's phase of each phase in a report: coalescing is its backward pass over copies."""

OUTPUTS = ("pooled", "coalesced", "table", "state")
"""The outputs that a report calls bit-exact or not."""


class DeviceStopped(RuntimeError):  # noqa: N818  (the command's end, not the program's)
    """The engine refused or broke off a command that the host had found right."""


@dataclass(frozen=True, eq=False, kw_only=True)
class StepRun:
    """A step in one dataflow: what the engine made, and how it differs from the golden model."""

    dataflow: DataflowName
    result: StepResult
    """What the engine made, in the golden model's form."""
    bit_exact: dict[str, bool | None]
    """For each of `OUTPUTS`; one that this operation does not have cannot differ. None: the device
    cannot show it."""
    faults: tuple[str, ...]
    """A line for each thing that is not as it must be; empty if all is right."""
    registers: dict[str, int]
    cycles_per_second: float
    """Of the whole run."""
    activity: Activity | None = None
    """What went on meanwhile, from a device that can tell."""
    requests: NDArray[np.uint64] | None = None
    """Every burst, from a device that was asked to note them (`Outcome.requests`)."""


def run_step(
    device: Device,
    workload: Workload,
    dataflows: Sequence[DataflowName],
    *,
    progress: Callable[[Progress], None] | None = None,
) -> tuple[StepRun, ...]:
    """Carry out `workload` on `device` once in each of `dataflows`, in one run.

    Raises `DeviceStopped` if the engine reports an error.
    """
    loads = memory_images(workload)
    commands = [
        Command(
            descriptor=descriptor(workload, dataflow),
            loads=tuple(
                (buffer.extent[0], loads[name]) for name, buffer in workload.layout.buffers.items()
            ),
            dumps=tuple(buffer.extent for buffer in workload.layout.buffers.values()),
            allocated=tuple(
                (buffer.address, buffer.size) for buffer in workload.layout.buffers.values()
            ),
        )
        for dataflow in dataflows
    ]
    run = device.run(commands, progress=progress)
    speed = run.cycles / run.seconds if run.seconds else 0.0
    return tuple(
        _judge(workload, dataflow, outcome, loads, speed)
        for dataflow, outcome in zip(dataflows, run.outcomes, strict=True)
    )


def memory_images(workload: Workload) -> dict[str, bytes]:
    """What memory holds in each buffer of the workload before a command, guards included."""
    batch = workload.batch
    contents = {
        "indices": batch.indices.astype(f"i{workload.index_bytes}")[None],
        "offsets": batch.offsets.astype(f"i{workload.offset_bytes}")[None],
        "table": workload.table,
        "gradient": workload.grad,
    }
    return {
        name: buffer.image(contents.get(name)) for name, buffer in workload.layout.buffers.items()
    }


def descriptor(workload: Workload, dataflow: DataflowName) -> bytes:
    """The command's descriptor; it holds the addresses of the buffers that `dataflow` uses."""
    batch, buffers = workload.batch, workload.layout.buffers
    scratch = buffers.get("scratch")
    unused = {"expand-coalesce": (), "cast": ("expanded",)}.get(
        dataflow, ("expanded", "coalesced", "cast_table", "unique_rows")
    )
    return encode_descriptor(
        forward=int(workload.op != "backward"),
        backward=int(workload.op != "forward"),
        dataflow=DATAFLOWS[dataflow],
        optimizer=Optimizer.SGD,
        mode=Mode.SUM,
        wide_indices=int(workload.index_bytes == 8),
        wide_offsets=int(workload.offset_bytes == 8),
        ignore_bounds=int(batch.bounds == "ignore"),
        has_padding=int(batch.padding_idx is not None),
        lookups=batch.lookups,
        bags=batch.bags,
        dim=workload.dim,
        rows=batch.rows,
        padding_index=batch.padding_idx or 0,
        learning_rate=int(workload.lr.view(np.uint32)),
        scratch_bytes=scratch.size if scratch else 0,
        **{name: buffer.address for name, buffer in buffers.items() if name not in unused},
    )


def _judge(
    workload: Workload,
    dataflow: DataflowName,
    outcome: Outcome,
    loads: dict[str, bytes],
    speed: float,
) -> StepRun:
    registers = outcome.registers
    if registers["ERROR"]:
        error, phase = Error(registers["ERROR"]), Phase(registers["ERROR_PHASE"])
        raise DeviceStopped(
            f"{dataflow}: the engine stopped with error {error.name} at position"
            f" {registers['ERROR_POSITION']:#x} in phase {phase.name}"
        )
    dumps = dict(zip(workload.layout.buffers, outcome.dumps, strict=True))
    result = _result(workload, dataflow, outcome, dumps)
    # In `fused` these never reach memory: a device without a trace port shows neither.
    hidden = workload.op != "forward" and result.coalesced is None
    unseen = {"coalesced", "unique_rows"} if hidden else set()
    differences = dict(_differences(result, workload.expected, unseen))
    wrong = {"coalesced" if name == "unique_rows" else name for name in differences}
    faults = [
        *differences.values(),
        *_strays(workload, dataflow, loads, dumps),
        *_miscounts(workload, dataflow, registers),
    ]
    return StepRun(
        dataflow=dataflow,
        result=result,
        bit_exact={name: None if name in unseen else name not in wrong for name in OUTPUTS},
        faults=tuple(f"{dataflow}: {fault}" for fault in faults),
        registers=registers,
        cycles_per_second=speed,
        activity=outcome.activity,
        requests=outcome.requests,
    )


def _result(
    workload: Workload, dataflow: DataflowName, outcome: Outcome, dumps: dict[str, bytes]
) -> StepResult:
    """What the engine left in memory, or on its trace port where that is the only place."""

    def matrix(name: str) -> NDArray[np.float32]:
        return workload.layout.buffers[name].read(dumps[name], "<f4")

    pooled = matrix("pooled") if workload.op != "backward" else None
    if workload.op == "forward":
        return StepResult(pooled=pooled)
    rows, coalesced = None, None
    if dataflow == "fused":
        if outcome.coalesced is not None:
            rows, coalesced = _traced(outcome.coalesced, workload.dim)
    else:
        count = workload.unique_rows
        row_list = workload.layout.buffers["unique_rows"].read(dumps["unique_rows"], "<u4")
        rows, coalesced = row_list[0, :count].astype(np.int64), matrix("coalesced")[:count]
    return StepResult(pooled=pooled, unique_rows=rows, coalesced=coalesced, table=matrix("table"))


def _traced(
    traced: tuple[NDArray[np.int64], NDArray[np.uint32]], dim: int
) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
    """Rows and coalesced gradients from the trace port, put in ascending order of rows."""
    rows, words = traced
    order = np.argsort(rows, kind="stable")
    return rows[order], np.ascontiguousarray(words[order, :dim]).view(np.float32)


def _differences(
    got: StepResult, expected: StepResult, unseen: set[str]
) -> Iterator[tuple[str, str]]:
    """(output, first difference) for each that was seen and is not what the golden model says."""
    for name in ("pooled", "unique_rows", "coalesced", "table"):
        ours, golden = getattr(got, name), getattr(expected, name)
        if golden is None or name in unseen:
            continue
        if ours.shape != golden.shape:
            yield name, f"{name} has shape {list(ours.shape)}, golden {list(golden.shape)}"
        elif name == "unique_rows":
            for place in np.flatnonzero(ours != golden)[:1]:
                yield name, f"unique_rows[{place}] is {ours[place]}, golden {golden[place]}"
        else:
            ours, golden = fp32.bits(ours), fp32.bits(golden)
            for row, column in np.argwhere(ours != golden)[:1]:
                where = f"{name}[{row}, {column}], row {row}, column {column},"
                bits = f"{ours[row, column]:#010x}, golden {golden[row, column]:#010x}"
                yield name, f"{where} is {bits}"


def _strays(
    workload: Workload, dataflow: DataflowName, loads: dict[str, bytes], dumps: dict[str, bytes]
) -> Iterator[str]:
    """A line for each buffer in which a byte changed that was not to be written."""
    batch, row_bytes = workload.batch, workload.dim * ELEMENT_BYTES
    valid = batch.lookups - batch.dropped
    packing = workload.config.packing
    written = {"pooled": (batch.bags, row_bytes)}
    if workload.op != "forward":
        written["table"] = batch.rows, row_bytes
        halves = 2 if packing.merge_passes(valid) else 1
        written["scratch"] = halves, packing.spilled_runs(valid) * packing.run_bytes
        if dataflow != "fused":
            written["coalesced"] = workload.unique_rows, row_bytes
            written["cast_table"] = 1, valid * CAST_BYTES
            written["unique_rows"] = 1, workload.unique_rows * CAST_BYTES
        if dataflow == "expand-coalesce":
            written["expanded"] = valid, row_bytes
    for name, buffer in workload.layout.buffers.items():
        rows, width = written.get(name, (0, 0))
        stray = buffer.stray(loads[name], dumps[name], rows=rows, row_bytes=width)
        if stray is not None:
            yield f"the byte at {stray:#x}, beside the data of {name}, was written"


def _miscounts(
    workload: Workload, dataflow: DataflowName, registers: dict[str, int]
) -> Iterator[str]:
    """A line for each counter of the engine that is not what the golden model says."""
    batch = workload.batch
    counts = {
        "VALID_LOOKUPS": batch.lookups - batch.dropped,
        "DROPPED_LOOKUPS": batch.dropped,
    }
    if workload.op != "forward":
        counts["UNIQUE_ROWS"] = workload.unique_rows
    beat = workload.config.bus_bytes
    traffic = {HARDWARE_PHASE[name]: moved for name, moved in workload.traffic(dataflow).items()}
    for phase in Phase:
        moved = traffic.get(phase)
        counts[f"{phase.name}_READ_BEATS"] = moved.bytes_read // beat if moved else 0
        counts[f"{phase.name}_WRITE_BEATS"] = moved.bytes_written // beat if moved else 0
    by_client = workload.client_beats(dataflow)
    for direction, clients in (("read", READ_CLIENTS), ("write", WRITE_CLIENTS)):
        for client, _ in clients:
            beats = by_client.get((direction, client), 0)
            counts[f"{direction.upper()}_{client.upper()}_BEATS"] = beats
    for name, expected in counts.items():
        if registers[name] != expected:
            yield f"register {name} is {registers[name]}, by the formula {expected}"
