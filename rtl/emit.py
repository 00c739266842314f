# SPDX-FileCopyrightText: castbag contributors
# SPDX-License-Identifier: BSD-2-Clause
"""The engine as a Verilog module for other people's designs."""

from functools import lru_cache

from amaranth.hdl import Module, Signal, Value
from amaranth.lib.wiring import Out

from .axi import numbered
from .config import EngineConfig
from .engine import Engine
from .verilog import to_verilog

LINT = (
    "CASEINCOMPLETE",
    "DECLFILENAME",
    "PROCASSINIT",
    "SYMRSVDWORD",
    "UNSIGNED",
    "UNUSEDSIGNAL",
    "WIDTHEXPAND",
    "WIDTHTRUNC",
)
"""What Verilator remarks on in all that Yosys writes: constants in their fewest bits, cases whose
default stands before them, names of parts that nothing reads. None of it is a fault."""


def engine_top(config: EngineConfig, *, trace: bool) -> tuple[Module, list[Signal]]:
    """The engine in a top whose ports are named as `emit_engine` says, and these ports.

    Amaranth adds `clk` and `rst`.
    """
    top = Module()
    top.submodules.engine = engine = Engine(config)
    ports = []

    def port(name: str, inner: Value, *, output: bool) -> None:
        outer = Signal(len(inner), name=name)
        top.d.comb += outer.eq(inner) if output else inner.eq(outer)
        ports.append(outer)

    names = (numbered(kind, config.read_ports) for kind in ("m_axi", "read"))
    for prefix, bus in (
        *((prefix, getattr(engine, name)) for prefix, name in zip(*names, strict=True)),
        ("m_axi", engine.write),
        ("s_axil", engine.control),
    ):
        for (name,), member, signal in bus.signature.flatten(bus):
            port(f"{prefix}_{name}", signal, output=member.flow is Out)
    port("interrupt", engine.interrupt, output=True)
    if trace:
        port("trace_valid", engine.trace_valid, output=True)
        port("trace_active", engine.active, output=True)
        port("trace_events", engine.events, output=True)
        for name in ("target", "data", "end"):
            port(f"trace_{name}", Value.cast(engine.trace[name]), output=True)
    return top, ports


@lru_cache
def emit_engine(config: EngineConfig, *, trace: bool = False) -> str:
    """Verilog of the engine as module `castbag`, its ports named as AXI names them.

    `clk`, `rst`; `m_axi_*` to memory, and where there are several read ports `m_axi1_*`,
    `m_axi2_*`, ..., which only read; `s_axil_*` for registers; `interrupt`. With `trace`, for
    benches, also `trace_valid`, `trace_target`, `trace_data`, `trace_end`: the words of coalesced
    gradients as they leave the reduction; `trace_active`, `trace_events`: see `Engine`.
    """
    top, ports = engine_top(config, trace=trace)
    text = to_verilog(top, name="castbag", ports=ports)
    rules = "".join(f"/* verilator lint_off {rule} */\n" for rule in LINT)
    return f"/* verilator lint_save */\n{rules}{text}/* verilator lint_restore */\n"
