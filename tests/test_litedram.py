# SPDX-FileCopyrightText: castbag contributors
# SPDX-License-Identifier: BSD-2-Clause
"""LiteDRAM as our yardstick: that it works at all, and that its figures are still the kept ones.

The figures are in `litedram.json`, rewritten by `python -m tests.test_litedram` (some minutes),
with the versions that gave them and the timings that LiteDRAM keeps to.
"""

import json
from pathlib import Path

import pytest

from castbag.host.bench import litedram_core
from castbag.host.bench.traffic import CASES, LITEDRAM, PORTS, Case, measure, run, system
from castbag.sim.model import ToolMissing

from .test_traffic import TABLE_ROWS, inputs, rows

KEPT = Path(__file__).parent / "litedram.json"


@pytest.fixture
def versions() -> dict[str, str]:
    """What is installed; skips where LiteDRAM is not."""
    try:
        return litedram_core.versions()
    except ToolMissing as error:
        pytest.skip(str(error))


@pytest.mark.parametrize("ports", [1, 2])
def test_what_is_written_is_read(ports, versions, tmp_path):
    """The core really works: before a row is written it reads wrong, and right after."""
    write = inputs(random=1, writes=1, row_bytes=64, rows=TABLE_ROWS // 2)
    read = inputs(reads=1, row_bytes=64)
    model = system(memory=LITEDRAM, ports=ports)
    before, written, after = run(model, [read, write, read], tmp_path, memory=LITEDRAM)
    untouched = TABLE_ROWS - len(set(rows(TABLE_ROWS // 2, random=1)))
    assert len(before) == len(written) == len(after) == ports
    assert sum(port["wrong"] for port in before) == 4 * TABLE_ROWS
    assert sum(port["beats_written"] for port in written) == 4 * TABLE_ROWS // 2
    assert sum(port["wrong"] for port in after) == 4 * untouched


@pytest.mark.parametrize(
    ("pattern", "row_bytes", "ports"),
    [("random", 64, 1), ("write back", 256, 1), ("random", 64, 2)],
)
def test_figures_are_the_kept_ones(pattern, row_bytes, ports, versions):
    """To the cycle. Others than these are for `python -m tests.test_litedram`."""
    kept = json.loads(KEPT.read_text())
    for name in ("litedram", "litex"):  # Migen only writes down what they say
        assert versions[name] == kept["versions"][name]
    assert litedram_core.timings() == kept["timings"]
    (figure,) = measure(
        memory=LITEDRAM, ports=ports, cases=[Case(pattern=pattern, row_bytes=row_bytes)]
    )
    assert figure in kept["figures"]


def test_kept_figures_are_complete():
    figures = json.loads(KEPT.read_text())["figures"]
    places = [(f["ports"], f["pattern"], f["row_bytes"]) for f in figures]
    assert places == [(n, case.pattern, case.row_bytes) for n in PORTS for case in CASES]


def test_without_litedram(monkeypatch):
    """One line says what to install."""

    def missing(name):
        raise ModuleNotFoundError(name=name.split(".")[0])

    monkeypatch.setattr(litedram_core.importlib, "import_module", missing)
    with pytest.raises(
        ToolMissing, match=r"litedram was not found: pip install 'castbag\[bench\]'"
    ):
        litedram_core.timings()


def test_bad_ports():
    with pytest.raises(ValueError, match="ports = 9: must be from 1 to 8"):
        litedram_core.verilog(ports=9)


def main() -> None:
    """Measure all and keep it."""
    kept = {
        "versions": litedram_core.versions(),
        "timings": litedram_core.timings(),
        "figures": [f for ports in PORTS for f in measure(memory=LITEDRAM, ports=ports)],
    }
    KEPT.write_text(json.dumps(kept, indent=2) + "\n")


if __name__ == "__main__":
    main()
