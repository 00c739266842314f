# SPDX-FileCopyrightText: castbag contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Registers folded into one block: which are, and which must stay as they are."""

from castbag.rtl.control.counters import CounterBank
from castbag.rtl.verilog import to_verilog
from castbag.sim.fold import fold

START = "    if (\\$auto$verilog_backend.cc:2352:dump_module$1 ) begin end\n"


def module(*, extra: str = "") -> str:
    return (
        "module counter(clk, step, o);\n"
        "  reg \\$auto$verilog_backend.cc:2352:dump_module$1  = 0;\n"
        "  reg [3:0] \\$3 ;\n"
        "  always @* begin\n" + START + "    \\$3  = count;\n"
        "    if (step) begin\n"
        "      \\$3  = \\$1 [3:0];\n"
        "    end\n"
        "  end\n"
        "  always @(posedge clk)\n"
        "    count <= \\$3 ;\n" + extra + "endmodule\n"
    )


def test_a_register_and_its_next_value_become_one_block():
    folded = fold(module())
    assert "\\$3 " not in folded.replace("reg [3:0] \\$3 ;", "")
    assert "count <= \\$1 [3:0];" in folded
    assert folded.count("always @(posedge clk)") == 1
    assert "count <= count;" not in folded  # what stays is not copied


def test_a_next_value_that_others_read_stays():
    text = module(extra="  assign o = \\$3 ;\n")
    assert fold(text) == text


def test_what_has_no_such_register_is_as_it_was():
    text = "module wires(i, o);\n  input i;\n  output o;\n  assign o = i;\nendmodule\n"
    assert fold(text) == text


def test_most_blocks_of_a_real_unit_are_folded():
    text = to_verilog(CounterBank(20), name="bank")
    assert fold(text).count("always @*") < text.count("always @*") / 2
