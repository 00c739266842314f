# SPDX-FileCopyrightText: castbag contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Yosys' Verilog with the next values of registers folded into the registers, for simulators.

Yosys writes a register as two blocks: one that works out its next value whenever anything
changes, and one that takes it over at the clock's edge.

    always @* begin                                     always @(posedge clk) begin
      if (\\$auto$verilog_backend... ) begin end            if (step) begin
      \\$9  = place;                                          place <= \\$1 [4:0];
      if (step) begin                          becomes      end
        \\$9  = \\$1 [4:0];                               end
      end
    end
    always @(posedge clk)
      place <= \\$9 ;

It is the same machine, but a simulator neither keeps the next value nor copies a value that
stays. For a model of a whole engine that is a tenth of its instructions a cycle, and half of the
time that Verilator takes.
"""

import re
from collections import Counter

_NEXT = r"\\\$\d+ "
_MODULE = re.compile(r"^module .*?^endmodule", re.DOTALL | re.MULTILINE)
_REGISTER = re.compile(rf"  always @\(posedge (\w+)\)\n    (\\\S+ |\w+) <= ({_NEXT});\n")
_BLOCK = re.compile(
    rf"  always @\* begin\n    if \(\\\$auto\$verilog_backend\S+ \) begin end\n"
    rf"((?: +)({_NEXT}).*?)\n  end\n",
    re.DOTALL,
)


def fold(text: str) -> str:
    """The same modules, with each register in one block where its next value is its alone."""
    return _MODULE.sub(lambda module: _fold_module(module[0]), text)


def _fold_module(text: str) -> str:
    seen = Counter(re.findall(_NEXT, text))
    takers = Counter(following for _, _, following in _REGISTER.findall(text))
    registers = {
        following: (clock, name)
        for clock, name, following in _REGISTER.findall(text)
        if takers[following] == 1
    }
    folded = set()

    def fold_block(block: re.Match) -> str:
        body, following = block[1], block[2]
        # Beside the block, there are its declaration and the register.
        if following not in registers or seen[following] != body.count(following) + 2:
            return block[0]
        clock, name = registers[following]
        target = re.compile(rf"^( +){re.escape(following)}(\[[^]]+\])? = ", re.MULTILINE)
        body, assignments = target.subn(lambda found: f"{found[1]}{name}{found[2] or ''} <= ", body)
        if assignments != block[1].count(following):  # it is read there as well
            return block[0]
        folded.add(following)
        body = body.removeprefix(f"    {name} <= {name};").lstrip("\n")
        return f"  always @(posedge {clock}) begin\n{body}\n  end\n"

    text = _BLOCK.sub(fold_block, text)
    return _REGISTER.sub(lambda found: "" if found[3] in folded else found[0], text)
