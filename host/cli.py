# SPDX-FileCopyrightText: castbag contributors
# SPDX-License-Identifier: BSD-2-Clause
"""The `castbag` program: one function a sub-command, each thin.

Exit status: 0 right; 1 the RTL differs from the golden model, or broke off; 2 bad input, told in
one line, nothing written; 3 a tool is missing, and how to get it. Results go to standard output,
progress and errors to standard error.
"""

import math
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import click
from rich.console import Console

from castbag.golden.batch import BatchError
from castbag.golden.traffic import PHASES, Dataflow
from castbag.rtl.config import PRESETS, ConfigError, EngineConfig
from castbag.sim.memories import UnknownMemory, memory_of
from castbag.sim.model import SimulationFailed, ToolMissing

from . import demo as demo_input
from . import listings, readers
from .device import Device
from .dram_trace import arrivals_path, load_store_trace
from .files import Refused, check_writable, npz, write_files
from .progress import shown_progress
from .report import BASELINE, Report, compared, make_report, report_json
from .step import DeviceStopped, StepRun, run_step
from .tables import print_reports
from .trace import Trace, load_trace, trace_bytes
from .workload import Workload, prepare

WRONG, BAD_INPUT, NO_TOOL = 1, 2, 3

FILE = click.Path(path_type=Path)


class Program(click.Group):
    """Turns every way to fail into one line and an exit status."""

    def main(self, *args: Any, standalone_mode: bool = True, **extra: Any) -> Any:
        """As click's, but an error is one line; without `standalone_mode` it is raised."""
        if not standalone_mode:
            return super().main(*args, standalone_mode=False, **extra)
        try:
            status = super().main(*args, standalone_mode=False, **extra)
        except click.ClickException as error:
            status = _fail(error.format_message(), BAD_INPUT)
        except (Refused, BatchError, ConfigError, UnknownMemory) as error:
            status = _fail(str(error), BAD_INPUT)
        except MemoryError as error:
            status = _fail(f"too large for this machine's memory ({error})", BAD_INPUT)
        except ToolMissing as error:
            status = _fail(str(error), NO_TOOL)
        except (DeviceStopped, SimulationFailed) as error:
            status = _fail(str(error), WRONG)
        except (click.Abort, KeyboardInterrupt):
            status = _fail("interrupted", 130)
        raise SystemExit(status or 0)


def _fail(message: str, status: int) -> int:
    click.echo(f"castbag: {message}", err=True)
    return status


def _example(*lines: str) -> str:
    return "\b\nExample:\n" + "\n".join(f"  {line}" for line in lines)


@click.group(
    cls=Program,
    invoke_without_command=True,
    context_settings={"help_option_names": ["-h", "--help"], "show_default": True},
    epilog=_example("castbag trace text words.txt -o words.npz", "castbag run words.npz --compare"),
)
@click.version_option(package_name="castbag", message="%(prog)s %(version)s")
@click.pass_context
def main(context: click.Context) -> None:
    """An open tensor gather-scatter engine for training embedding layers."""
    if context.invoked_subcommand is None:
        click.echo(context.get_help())


def _simulator_option(*choices: str):
    return click.option(
        "--sim",
        "simulator",
        type=click.Choice(choices),
        default="verilator",
        help="What runs the step; icarus is for short ones.",
    )


PRESET_OPTION = click.option(
    "--preset",
    type=click.Choice(list(PRESETS)),
    default="base",
    help="The engine's configuration; see `castbag presets`.",
)


def _size_options(command):
    """Options that change a preset."""
    for name, what in (
        ("--merge-ways", "Runs merged at a time; default: the preset's."),
        ("--run-length", "Pairs sorted on chip; default: the preset's."),
        ("--read-ports", "AXI4 read ports; default: the preset's."),
    ):
        command = click.option(name, type=int, help=what)(command)
    return command


def _configured(preset: str, **sizes: int | None) -> EngineConfig:
    """The preset's configuration with these sizes, where they are given."""
    given = {name: value for name, value in sizes.items() if value is not None}
    try:
        return replace(PRESETS[preset], **given)
    except ConfigError as error:
        raise ConfigError(f"preset {preset}: {error}") from None


@main.command(
    epilog=_example(
        "castbag trace synthetic --bags 128 --pooling 20 --rows 10000 --zipf 1 -o zipf.npz",
        "castbag run zipf.npz --dim 64 --compare --out result.npz --report report.json",
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
@_size_options
@click.option(
    "--memory",
    metavar="NAME[,KEY=VALUE]...",
    default="ideal",
    help="The simulated memory; see `castbag memories`.",
)
@_simulator_option("verilator", "icarus", "golden")
@click.option("--compare", is_flag=True, help="Also run expand-coalesce, the usual way.")
@click.option("--out", type=FILE, help="Write RESULT.npz.")
@click.option("--report", "report_file", type=FILE, help="Write REPORT.json.")
@click.option("--waves", type=FILE, help="Write the simulation's signals (FST).")
@click.option(
    "--dram-trace",
    type=FILE,
    help="Write the requests to memory as Ramulator 2 reads them, and FILE.cycles: when each came.",
)
def run(
    trace, op, dataflow, rows, dim, seed, mode, padding_idx, bounds, optimizer, lr, eps,
    weight_decay, preset, memory, simulator, compare, out, report_file, waves, dram_trace, **sizes,
):  # fmt: skip
    """Run a training step in the RTL and check it bit for bit.

    TRACE is an npz file of `indices` and `offsets`, those of PyTorch's EmbeddingBag, and optionally
    `table` and `grad`. What it lacks of these is drawn from --seed: float32 standard normals of
    NumPy's default_rng, the table first.

    Exit status: 0 all is right; 1 the RTL differs from the golden model; 2 bad input, nothing is
    written; 3 a tool is missing.
    """
    _check_built(mode=mode, optimizer=optimizer, eps=eps, weight_decay=weight_decay)
    kind = memory_of(memory)
    for option, file in (("--waves", waves), ("--dram-trace", dram_trace)):
        if file and simulator == "golden":
            raise Refused(f"{option} needs a simulator; --sim golden has none")
    config = _configured(preset, **sizes)
    arrivals = dram_trace and arrivals_path(dram_trace)
    check_writable(out, report_file, waves, dram_trace, arrivals, inputs=[trace])
    dataflows: list[Dataflow] = [dataflow]
    if compare and dataflow != BASELINE:
        dataflows.append(BASELINE)
    loaded = load_trace(trace)
    if loaded.unused:
        click.echo(f"castbag: {trace}: not used: {', '.join(loaded.unused)}", err=True)
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
    if kind.capacity is not None and workload.layout.memory_bytes > kind.capacity:
        raise Refused(
            f"--memory {memory} holds {kind.capacity:,} bytes, and the batch needs"
            f" {workload.layout.memory_bytes:,}; a smaller --rows or --dim needs less"
        )
    runs = _simulate(
        workload,
        dataflows,
        simulator=simulator,
        memory=memory,
        waves=waves,
        record=dram_trace is not None,
    )
    reports = [
        make_report(workload, each, done, memory=memory, simulator=simulator)
        for each, done in zip(dataflows, runs, strict=True)
    ]
    report = compared(reports[0], reports[-1]) if compare else reports[0]
    files = {}
    if out:
        files[out] = _result_bytes(workload, runs[0]), "the result"
    if report_file:
        files[report_file] = report_json(report), "the report"
    if dram_trace and arrivals and runs[0] and runs[0].requests is not None:
        lines, cycles = load_store_trace(
            runs[0].requests, bus_bytes=config.bus_bytes, burst_bytes=kind.burst_bytes
        )
        files[dram_trace] = lines, "the requests to memory, for Ramulator 2"
        files[arrivals] = cycles, "the cycle of each"
    return _finish(reports, runs, files)


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


def _simulate(
    workload: Workload,
    dataflows: Sequence[Dataflow],
    *,
    simulator: str,
    memory: str,
    waves: Path | None = None,
    record: bool = False,
) -> Sequence[StepRun | None]:
    """The step in each dataflow; Nones where the golden model stands in for a simulator."""
    if simulator == "golden":
        return [None] * len(dataflows)
    device = open_device(
        workload.config,
        simulator=simulator,
        memory=memory,
        memory_bytes=workload.layout.memory_bytes,
        waves=waves,
        record=record,
    )
    title = f"simulating {', '.join(dataflows)} on {simulator}"
    expected = workload.least_cycles(dataflows)
    with shown_progress(
        Console(stderr=True), title, expected=expected, commands=len(dataflows)
    ) as progress:
        return run_step(device, workload, dataflows, progress=progress)


def _result_bytes(workload: Workload, run: StepRun | None) -> bytes:
    """RESULT.npz: what the engine made, or the golden model in its stead."""
    result = vars(run.result if run else workload.expected)
    return npz({name: array for name, array in result.items() if array is not None})


def _finish(
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


@main.group(epilog=_example("castbag trace text words.txt -o words.npz"))
def trace() -> None:
    """Make a TRACE.npz."""


OUTPUT_OPTION = click.option("-o", "output", type=FILE, required=True, help="TRACE.npz to write.")


@trace.command("text", epilog=_example("castbag trace text chapter1.txt chapter2.txt -o book.npz"))
@click.argument("files", type=FILE, nargs=-1, required=True)
@OUTPUT_OPTION
def trace_text(files: tuple[Path, ...], output: Path) -> None:
    """From text: one bag a line, one row a word.

    Words are separated by white space and count as they are; the first one is row 0. The words of
    the rows are kept beside the trace, in TRACE.ids.json.
    """
    check_writable(output, readers.ids_path(output), inputs=files)
    _write_trace(output, *readers.from_text(files))


@trace.command(
    "csv", epilog=_example("castbag trace csv clicks.csv --bag session --item page -o clicks.npz")
)
@click.argument("file", type=FILE)
@click.option("--bag", required=True, metavar="COL", help="Events with the same value: a bag.")
@click.option("--item", required=True, metavar="COL", help="Each value is a row.")
@OUTPUT_OPTION
def trace_csv(file: Path, bag: str, item: str, output: Path) -> None:
    """From a log: one event a line, under a line of column names.

    Bags and rows are numbered in order of first appearance; their values are kept beside the trace,
    in TRACE.ids.json.
    """
    check_writable(output, readers.ids_path(output), inputs=[file])
    _write_trace(output, *readers.from_csv(file, bag=bag, item=item))


@trace.command(
    "synthetic",
    epilog=_example(
        "castbag trace synthetic --bags 128 --pooling 20 --rows 10000 --zipf 1.05 -o zipf.npz"
    ),
)
@click.option("--bags", type=click.IntRange(0), required=True, help="B.")
@click.option("--pooling", type=click.IntRange(0), required=True, help="Lookups of each bag.")
@click.option("--rows", type=click.IntRange(0), required=True, help="N.")
@click.option("--zipf", type=float, default=0.0, help="Skew; 0 is uniform.")
@click.option("--seed", type=click.IntRange(0), default=0)
@OUTPUT_OPTION
def trace_synthetic(
    bags: int, pooling: int, rows: int, zipf: float, seed: int, output: Path
) -> None:
    """From a bounded Zipf distribution over all rows.

    The k-th most popular row has probability proportional to k to the power -ZIPF; a random
    permutation says which row that is.
    """
    check_writable(output)
    drawn = readers.synthetic(bags=bags, pooling=pooling, rows=rows, zipf=zipf, seed=seed)
    _write_trace(output, drawn, None)


def _write_trace(output: Path, made: Trace, ids: readers.Ids | None) -> None:
    files = {output: trace_bytes(made)}
    if ids is not None:
        files[readers.ids_path(output)] = ids.to_json()
    write_files(files)
    click.echo(f"wrote {output}: {made.lookups:,} lookups in {made.bags:,} bags")
    if ids is not None:
        click.echo(f"wrote {readers.ids_path(output)}: what its {len(ids.rows):,} rows stand for")


@main.command(epilog=_example("castbag demo --out-dir castbag-demo"))
@PRESET_OPTION
@_size_options
@_simulator_option("verilator", "icarus")
@click.option("--out-dir", type=FILE, default="castbag-demo", help="Takes the files.")
def demo(preset: str, simulator: str, out_dir: Path, **sizes: int | None) -> int:
    """Train one step on real text, in all three dataflows.

    The text is that of Python's own help topics: a bag a paragraph, a row a word.
    """
    config = _configured(preset, **sizes)
    made, ids = demo_input.topics_trace(min(demo_input.LOOKUPS, config.max_lookups))
    dataflows: tuple[Dataflow, ...] = (BASELINE, "cast", "fused")
    workload = prepare(made, config=config, preset=preset, dataflows=dataflows, dim=demo_input.DIM)
    try:
        out_dir.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise Refused(f"{out_dir}: cannot be made: {error.strerror}") from None
    path = {name: out_dir / name for name in ("trace.npz", "result.npz", "report.json")}
    mapping = readers.ids_path(path["trace.npz"])
    check_writable(*path.values(), mapping)
    runs = _simulate(workload, dataflows, simulator=simulator, memory="ideal")
    baseline, cast, fused = (
        make_report(workload, each, done, memory="ideal", simulator=simulator)
        for each, done in zip(dataflows, runs, strict=True)
    )
    report = compared(fused, baseline) | {"cast": compared(cast, baseline)}
    files = {
        path["trace.npz"]: (trace_bytes(made), "the batch, as `castbag run` takes it"),
        mapping: (ids.to_json(), "the words of its rows, the paragraphs of its bags"),
        path["result.npz"]: (_result_bytes(workload, runs[-1]), "what fused made of it"),
        path["report.json"]: (report_json(report), "all of this table, as JSON"),
    }
    click.echo("Python's help topics: a bag a paragraph, a row a word; numbers drawn from seed 0")
    return _finish([baseline, cast, fused], runs, files)


@main.command(epilog=_example("castbag presets", "castbag presets --run-length 1024"))
@_size_options
def presets(**sizes: int | None) -> None:
    """List the engine's configurations, their limits, and what sorting takes.

    Pairs held are those of a run and of the ways' buffers. DP16KD are block RAMs of an ECP5, by
    formula.
    """
    listings.presets({name: _configured(name, **sizes) for name in PRESETS}, Console())


@main.command(
    epilog=_example(
        "castbag memories",
        "castbag run zipf.npz --memory ddr3-800-x16",
        "castbag run zipf.npz --memory ideal,latency=200,rate=8",
    )
)
def memories() -> None:
    """List the simulated memories.

    Cycles are the engine's. `ideal` can be changed by `latency` (cycles) and `rate` (beats in 16
    cycles), the others by `window` (accesses among which the controller chooses, each way), `front`
    and `back` (cycles that it adds before and behind).
    """
    listings.memories(Console())


@main.command(epilog=_example("castbag emit --preset base -o castbag.v"))
@PRESET_OPTION
@_size_options
@click.option("-o", "output", type=FILE, required=True, help="Verilog file to write.")
def emit(preset: str, output: Path, **sizes: int | None) -> None:
    """Write the engine as Verilog, with AXI4 and AXI4-Lite ports."""
    config = _configured(preset, **sizes)
    check_writable(output)
    from castbag.rtl.emit import emit_engine  # late: it loads all of the RTL

    write_files({output: emit_engine(config, trace=False).encode()})
    click.echo(f"wrote {output}: the engine of preset {preset}")


@main.command(epilog=_example("castbag build ulx3s"))
@click.argument("board")
def build(board: str) -> None:
    """Build the bitstream of BOARD (none can be built yet)."""
    raise Refused(f"board {board!r}: no board is built yet; `castbag emit` writes the core")
