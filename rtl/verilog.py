# SPDX-FileCopyrightText: castbag contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Verilog out of any unit, by the Yosys that came with Amaranth."""

import os
from collections.abc import Iterable

from amaranth.back import verilog
from amaranth.hdl import Signal
from amaranth.lib import wiring


def to_verilog(unit, *, name: str, ports: Iterable[Signal] | None = None) -> str:
    """Verilog text of `unit`, its top module called `name`.

    Args:
        unit: A component (its members become ports, nested names joined by `__`), or any
            elaboratable with an explicit list of `ports`.
    """
    # A system Yosys may be too old for Amaranth: take the one in the wheel.
    os.environ["AMARANTH_USE_YOSYS"] = "builtin"
    if ports is None and not isinstance(unit, wiring.Component):
        raise TypeError(f"{type(unit).__name__} is no component: name its ports")
    chosen = None if ports is None else list(ports)
    return verilog.convert(unit, name=name, ports=chosen, emit_src=False, strip_internal_attrs=True)
