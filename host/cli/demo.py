# SPDX-FileCopyrightText: castbag contributors
# SPDX-License-Identifier: BSD-2-Clause
"""`castbag demo`: a step on real text, in all dataflows."""

from pathlib import Path

import click

from castbag.golden.traffic import Dataflow

from .. import demo as demo_input
from .. import readers
from ..files import Refused, check_writable
from ..report import BASELINE, compared, make_report, report_json
from ..trace import trace_bytes
from ..workload import prepare
from .program import FILE, PRESET_OPTION, configured, example, main, simulator_option, size_options
from .run import finish, result_bytes, simulate


@main.command(epilog=example("castbag demo --out-dir castbag-demo"))
@PRESET_OPTION
@size_options
@simulator_option("verilator", "icarus")
@click.option("--out-dir", type=FILE, default="castbag-demo", help="Takes the files.")
def demo(preset: str, simulator: str, out_dir: Path, **sizes: int | None) -> int:
    """Train one step on real text, in all three dataflows.

    The text is that of Python's own help topics: a bag a paragraph, a row a word.
    """
    config = configured(preset, **sizes)
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
    runs = simulate(workload, dataflows, simulator=simulator, memory="ideal")
    baseline, cast, fused = (
        make_report(workload, each, done, memory="ideal", simulator=simulator)
        for each, done in zip(dataflows, runs, strict=True)
    )
    report = compared(fused, baseline) | {"cast": compared(cast, baseline)}
    files = {
        path["trace.npz"]: (trace_bytes(made), "the batch, as `castbag run` takes it"),
        mapping: (ids.to_json(), "the words of its rows, the paragraphs of its bags"),
        path["result.npz"]: (result_bytes(workload, runs[-1]), "what fused made of it"),
        path["report.json"]: (report_json(report), "all of this table, as JSON"),
    }
    click.echo("Python's help topics: a bag a paragraph, a row a word; numbers drawn from seed 0")
    return finish([baseline, cast, fused], runs, files)
