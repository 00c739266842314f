# SPDX-FileCopyrightText: castbag contributors
# SPDX-License-Identifier: BSD-2-Clause
"""`castbag trace`: traces from text, logs and distributions."""

from pathlib import Path

import click

from .. import readers
from ..files import check_writable, write_files
from ..trace import Trace, trace_bytes
from .program import FILE, example, main


@main.group(epilog=example("castbag trace text words.txt -o words.npz"))
def trace() -> None:
    """Make a TRACE.npz."""


OUTPUT_OPTION = click.option("-o", "output", type=FILE, required=True, help="TRACE.npz to write.")


@trace.command("text", epilog=example("castbag trace text chapter1.txt chapter2.txt -o book.npz"))
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
    "csv", epilog=example("castbag trace csv clicks.csv --bag session --item page -o clicks.npz")
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
    epilog=example(
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
