# SPDX-FileCopyrightText: castbag contributors
# SPDX-License-Identifier: BSD-2-Clause
"""A device for tests: the engine's RTL on a memory that is not ours (cocotbext-axi's)."""

import pickle
from collections.abc import Sequence
from pathlib import Path

from castbag.host.device import Command, Run
from castbag.rtl.config import EngineConfig
from castbag.rtl.emit import emit_engine
from castbag.sim.bench import module_ports
from castbag.sim.model import Model
from tests.benches.job import Job


class AxiDevice:
    """Runs commands as `castbag.host.device.Device` does."""

    def __init__(
        self,
        config: EngineConfig,
        *,
        simulator: str,
        folder: Path,
        memory_bytes: int,
        stall: str = "never",
        faults: tuple[int, ...] = (),
        limit: int = 200_000,
    ):
        self.config = config
        self.simulator = simulator
        self.folder = folder
        self.memory_bytes, self.stall = memory_bytes, stall
        self.faults, self.limit = faults, limit

    def run(self, commands: Sequence[Command], *, progress=None) -> Run:
        """Run all commands in one simulation; times are not measured."""
        text = emit_engine(self.config, trace=True)
        model = Model(
            top="castbag",
            sources=(("castbag.v", text),),
            simulator=self.simulator,
            ports=module_ports(text, "castbag"),
        )
        job = Job(
            commands=tuple(commands),
            memory_bytes=self.memory_bytes,
            bus_bytes=self.config.bus_bytes,
            stall=self.stall,
            faults=self.faults,
            limit=self.limit,
        )
        self.folder.mkdir(parents=True, exist_ok=True)
        ends = {name: str(self.folder / f"{name}.pickle") for name in ("job", "outcomes")}
        Path(ends["job"]).write_bytes(pickle.dumps(job))
        model.run("tests.benches.engine", folder=self.folder, parameters=ends)
        outcomes = pickle.loads(Path(ends["outcomes"]).read_bytes())
        return Run(outcomes=tuple(outcomes), cycles=0, seconds=0.0)
