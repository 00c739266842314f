# SPDX-FileCopyrightText: castbag contributors
# SPDX-License-Identifier: BSD-2-Clause
"""`castbag run`: a step on the engine, checked."""

import math
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click
from rich.console import Console

from castbag.golden.traffic import PHASES, Dataflow
from castbag.rtl.config import EngineConfig
from castbag.sim.memories import memory_of

from ..device import Device
from ..dram_trace import arrivals_path, load_store_trace
from ..files import Refused, check_writable, npz, write_files
from ..progress import shown_progress
from ..report import BASELINE, Report, compared, make_report, report_json
from ..step import StepRun, run_step
from ..tables import print_reports
from ..trace import load_trace
from ..workload import Workload, prepare
from .program import (
    FILE,
    PRESET_OPTION,
    WRONG,
    configured,
    example,
    main,
    simulator_option,
    size_options,
)

if TYPE_CHECKING:
    from castbag.boards.driver import BoardDevice


@main.command(
    epilog=example(
        "castbag trace synthetic --bags 128 --pooling 20 --rows 10000 --zipf 1 -o zipf.npz",
        "castbag run zipf.npz --dim 64 --compare --out result.npz --report report.json",
        "castbag run zipf.npz --dim 64 --device /dev/ttyUSB0",
    )
)
@click.argument("trace", type=FILE)
@click.option("--op", type=click.Choice(["step", "forward", "backward"]), default="step")
@click.option("--dataflow", type=click.Choice(list(PHASES)), default="fused")
@click.option(
    "--rows", type=click.IntRange(0), help="N; default: the table's, or largest index + 1."
)
@click.option("--dim", type=click.IntRange(1), help="D; default: the trace's, or 64.")
@click.option("--seed", type=click.IntRange(0), default=0, help="Draws the absent table and grad.")
@click.option("--mode", type=click.Choice(["sum", "mean", "max"]), default="sum")
@click.option("--padding-idx", type=int, help="Row whose lookups are dropped.")
@click.option("--bounds", type=click.Choice(["error", "ignore"]), default="error")
@click.option(
    "--optimizer", type=click.Choice(["sgd", "rowwise-adagrad", "adagrad"]), default="sgd"
)
@click.option("--lr", type=float, default=0.01, help="Learning rate, rounded to binary32.")
@click.option("--eps", type=float, default=1e-8, help="Of the Adagrad optimizers.")
@click.option("--weight-decay", type=float, default=0.0)
@PRESET_OPTION
@size_options
@click.option(
    "--memory",
    metavar="NAME[,KEY=VALUE]...",
    default="ideal",
    help="The simulated memory; see `castbag memories`.",
)
@simulator_option("verilator", "icarus", "golden")
@click.option("--compare", is_flag=True, help="Also run expand-coalesce, the usual way.")
@click.option("--out", type=FILE, help="Write RESULT.npz.")
@click.option("--report", "report_file", type=FILE, help="Write REPORT.json.")
@click.option("--waves", type=FILE, help="Write the simulation's signals (FST).")
@click.option(
    "--dram-trace",
    type=FILE,
    help="Write the requests to memory as Ramulator 2 reads them, and FILE.cycles: when each came.",
)
@click.option(
    "--device", "port", type=FILE, help="Run on the board at this serial port, not in a simulator."
)
@click.option("--baud", type=click.IntRange(9600), default=3_000_000, help="Of that port.")
@click.pass_context
def run(
    context, trace, op, dataflow, rows, dim, seed, mode, padding_idx, bounds, optimizer, lr, eps,
    weight_decay, preset, memory, simulator, compare, out, report_file, waves, dram_trace, port,
    baud, **sizes,
):  # fmt: skip
    """Run a training step in the RTL and check it bit for bit.

    TRACE is an npz file of `indices` and `offsets`, those of PyTorch's EmbeddingBag, and optionally
    `table` and `grad`. What it lacks of these is drawn from --seed: float32 standard normals of
    NumPy's default_rng, the table first.

    Exit status: 0 all is right; 1 the RTL differs from the golden model; 2 bad input, nothing is
    written; 3 a tool or the board is missing.
    """
    if port:
        _check_alone(context)
    _check_built(mode=mode, optimizer=optimizer, eps=eps, weight_decay=weight_decay)
    kind = memory_of(memory)
    for option, file in (("--waves", waves), ("--dram-trace", dram_trace)):
        if file and simulator == "golden":
            raise Refused(f"{option} needs a simulator; --sim golden has none")
    config = configured(preset, **sizes)
    arrivals = dram_trace and arrivals_path(dram_trace)
    check_writable(out, report_file, waves, dram_trace, arrivals, inputs=[trace])
    dataflows: list[Dataflow] = [dataflow]
    if compare and dataflow != BASELINE:
        dataflows.append(BASELINE)
    loaded = load_trace(trace)
    if loaded.unused:
        click.echo(f"castbag: {trace}: not used: {', '.join(loaded.unused)}", err=True)
    board = _open_board(port, baud) if port else None
    if board:
        context.call_on_close(board.close)
        config, preset = board.config, board.identity.preset
        memory, simulator = "board", board.identity.board
    workload = prepare(
        loaded,
        config=config,
        preset=preset,
        dataflows=dataflows,
        op=op,
        rows=rows,
        dim=dim,
        seed=seed,
        padding_idx=padding_idx,
        bounds=bounds,
        lr=lr,
    )
    if workload.drawn:
        click.echo(f"castbag: drawn from seed {seed}: {', '.join(workload.drawn)}", err=True)
    capacity = board.identity.memory_bytes if board else kind.capacity
    if capacity is not None and workload.layout.memory_bytes > capacity:
        raise Refused(
            f"{'the board' if board else f'--memory {memory}'} holds {capacity:,} bytes, and the"
            f" batch needs {workload.layout.memory_bytes:,}; a smaller --rows or --dim needs less"
        )
    runs = simulate(
        workload,
        dataflows,
        simulator=simulator,
        memory=memory,
        waves=waves,
        record=dram_trace is not None,
        board=board,
    )
    reports = [
        make_report(workload, each, done, memory=memory, simulator=simulator)
        for each, done in zip(dataflows, runs, strict=True)
    ]
    report = compared(reports[0], reports[-1]) if compare else reports[0]
    files = {}
    if out:
        files[out] = result_bytes(workload, runs[0]), "the result"
    if report_file:
        files[report_file] = report_json(report), "the report"
    if dram_trace and arrivals and runs[0] and runs[0].requests is not None:
        lines, cycles = load_store_trace(
            runs[0].requests, bus_bytes=config.bus_bytes, burst_bytes=kind.burst_bytes
        )
        files[dram_trace] = lines, "the requests to memory, for Ramulator 2"
        files[arrivals] = cycles, "the cycle of each"
    return finish(reports, runs, files)


def _check_built(*, mode: str, optimizer: str, eps: float, weight_decay: float) -> None:
    """Refuse by name what is not built yet, and numbers that make no sense."""
    for option, value, built in (
        ("--mode", mode, "sum"),
        ("--optimizer", optimizer, "sgd"),
    ):
        if value != built:
            raise Refused(f"{option} {value} is not built yet; there is {built}")
    if not (eps >= 0 and math.isfinite(eps)):
        raise Refused(f"--eps is {eps}; it must be 0 or more, and finite")
    if weight_decay != 0:
        raise Refused(f"--weight-decay {weight_decay} is not built yet; it must be 0")


SIMULATED = {
    "preset": "--preset",
    "memory": "--memory",
    "simulator": "--sim",
    "waves": "--waves",
    "dram_trace": "--dram-trace",
    "run_length": "--run-length",
    "merge_ways": "--merge-ways",
    "read_ports": "--read-ports",
}
"""Options that a board leaves no choice in, by parameter."""


def _check_alone(context: click.Context) -> None:
    """Refuse options beside --device that are a simulator's."""
    for name, option in SIMULATED.items():
        if context.get_parameter_source(name) != click.core.ParameterSource.DEFAULT:
            raise Refused(f"{option} is for simulators; a board (--device) is what it was built as")


def _open_board(port: Path, baud: int) -> "BoardDevice":
    """The board at that port, reset, its memory tested."""
    from castbag.boards.driver import BoardDevice  # late: most uses need no serial port
    from castbag.boards.link import Link

    board = BoardDevice(Link.open(str(port), baudrate=baud))
    click.echo(f"castbag: {port}: {board.identity}", err=True)
    return board


def open_device(
    config: EngineConfig,
    *,
    simulator: str,
    memory: str,
    memory_bytes: int,
    waves: Path | None = None,
    record: bool = False,
) -> Device:
    """The simulated device; imported late, since most sub-commands need no simulator."""
    from castbag.sim.device import SimulatedDevice

    device = SimulatedDevice(
        config,
        simulator=simulator,
        memory=memory,
        memory_bytes=memory_bytes,
        waves=waves,
        record=record,
    )
    if not device.model.is_built:
        click.echo(f"building the model for {simulator}, once: a minute or two …", err=True)
    return device


def simulate(
    workload: Workload,
    dataflows: Sequence[Dataflow],
    *,
    simulator: str,
    memory: str,
    waves: Path | None = None,
    record: bool = False,
    board: Device | None = None,
) -> Sequence[StepRun | None]:
    """The step in each dataflow; Nones where the golden model stands in for a simulator."""
    if simulator == "golden":
        return [None] * len(dataflows)
    device = board or open_device(
        workload.config,
        simulator=simulator,
        memory=memory,
        memory_bytes=workload.layout.memory_bytes,
        waves=waves,
        record=record,
    )
    verb = "running" if board else "simulating"
    title = f"{verb} {', '.join(dataflows)} on {simulator}"
    expected = workload.least_cycles(dataflows)
    with shown_progress(
        Console(stderr=True), title, expected=expected, commands=len(dataflows)
    ) as progress:
        return run_step(device, workload, dataflows, progress=progress)


def result_bytes(workload: Workload, run: StepRun | None) -> bytes:
    """RESULT.npz: what the engine made, or the golden model in its stead."""
    result = vars(run.result if run else workload.expected)
    return npz({name: array for name, array in result.items() if array is not None})


def finish(
    reports: Sequence[Report],
    runs: Sequence[StepRun | None],
    files: dict[Path, tuple[bytes, str]],
) -> int:
    """Write `files` (contents, and what they are); print the table and all that is wrong.

    Returns the exit status. A wrong result is written, too: it is there to be looked into.
    """
    write_files({path: content for path, (content, _) in files.items()})
    print_reports(Console(), reports)
    for path, (_, what) in files.items():
        click.echo(f"wrote {path}: {what}")
    faults = [fault for run in runs if run for fault in run.faults]
    for fault in faults:
        click.echo(f"castbag: {fault}", err=True)
    return WRONG if faults else 0
