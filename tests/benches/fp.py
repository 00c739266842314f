# SPDX-FileCopyrightText: castbag contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Bench of the binary32 units: waits while `fp.v` checks a file of operands and results."""

import cocotb
from cocotb.triggers import RisingEdge, with_timeout

from castbag.sim.bench import parameters


@cocotb.test
async def gives_the_expected_bits(dut):
    count, interval = parameters()["count"], parameters()["interval"]
    await with_timeout(RisingEdge(dut.done), 10 * interval * (3 * count + 10_000), "ns")
    got = dut.result.value
    assert dut.failed.value == 0, (
        f"pair {int(dut.checked.value)}: {int(dut.a.value):#010x} and {int(dut.b.value):#010x} "
        f"gave {f'{int(got):#010x}' if got.is_resolvable else got}, "
        f"expected {int(dut.expected.value):#010x}"
    )
    assert int(dut.checked.value) == count
