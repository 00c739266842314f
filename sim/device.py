# SPDX-FileCopyrightText: castbag contributors
# SPDX-License-Identifier: BSD-2-Clause
"""SimulatedDevice: the engine's own RTL with a simulated memory, behind the device interface."""

import json
import shutil
import tempfile
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np

from castbag.host.activity import NAMES, Activity
from castbag.host.device import RING_BYTES, Command, Outcome, Progress, Run
from castbag.rtl.config import EngineConfig
from castbag.rtl.control.map import COUNTERS, DESCRIPTOR_BYTES, Phase, field, register

from .memories import UnknownMemory, memory_of, memory_sources
from .model import SIMULATORS, Model, SimulationFailed, header_ports

SOURCES = ("held.v", "axi_rules.v", "faults.v", "records.v", "system.v")

POLL_SECONDS = 0.1

MOST_REGIONS = 24
"""Places that a command may allocate, the ring among them."""


class DeviceFault(SimulationFailed):
    """The device broke a rule of the bus, or did not come back; the message says which and where.

    An error that the engine reports in its registers is no fault: it is in the outcome.
    """


@dataclass(frozen=True, kw_only=True)
class SimulatedOutcome(Outcome):
    """An outcome, and what only the simulated memory can tell."""

    beats: tuple[int, int]
    """Bus beats (read, written) that the memory counted, the descriptor's included."""


@dataclass(frozen=True, kw_only=True)
class Faults:
    """What goes wrong on the bus while a command runs: see `faults.v`; all 0 is nothing.

    `reset_after`: so many cycles after it was launched everything is reset, once, and the command
    is launched anew.
    """

    stalls: int = 0
    order: int = 0
    late: int = 0
    fault: int = 0
    fault_at: int = 0
    fault_response: int = 0
    mute: int = 0
    reset_after: int = 0


class SimulatedDevice:
    """Runs commands in a simulator: cycle-exact, every rule of the bus watched.

    Memory is filled with noise, then lives as long as one `run`: a command finds what the one
    before it left. Each `run` is a simulation of its own, in a process of its own; the model is
    built on first use and kept.

    Args:
        config: The engine's.
        simulator: "verilator", or "icarus": some hundred times slower, and sees X.
        memory: A name of `castbag.sim.memories.MEMORIES`, with changes behind it if need be.
        memory_bytes: Its size, a multiple of 4096; an access beyond is answered DECERR, and if the
            engine does not report that as an error of its own, DeviceFault is raised.
        waves: Write all signals of each run to this FST file.
        record: Note every burst (`Outcome.requests`).
        faults: What goes wrong during each command; none, nothing.
        watchdog: The engine's, in cycles; None leaves it at its reset value.
    """

    def __init__(
        self,
        config: EngineConfig,
        *,
        simulator: str = "verilator",
        memory: str = "ideal",
        memory_bytes: int,
        waves: Path | None = None,
        record: bool = False,
        faults: Sequence[Faults] = (),
        watchdog: int | None = None,
    ):
        if simulator not in SIMULATORS:
            raise ValueError(f"simulator {simulator!r} unknown: there are {', '.join(SIMULATORS)}")
        self.kind = memory_of(memory)
        if memory_bytes % 4096 or not RING_BYTES < memory_bytes <= 1 << config.address_bits:
            raise ValueError(
                f"memory_bytes = {memory_bytes}: must be a multiple of 4096, more than the ring's"
                f" {RING_BYTES}, and at most 2**{config.address_bits}"
            )
        if self.kind.capacity is not None and memory_bytes > self.kind.capacity:
            raise UnknownMemory(
                f"memory {memory} holds {self.kind.capacity:,} bytes; {memory_bytes:,} are needed"
            )
        self.config = config
        self.simulator = simulator
        self.memory = memory
        self.memory_bytes = memory_bytes
        self.waves = waves
        self.record = record
        self.faults = tuple(faults)
        self.watchdog = register("WATCHDOG").reset if watchdog is None else watchdog

    def engine(self) -> str:
        """Verilog of the engine, as module `castbag` with its trace port."""
        from castbag.rtl.emit import emit_engine  # late: it loads all of the RTL

        return emit_engine(self.config, trace=True)

    @property
    def model(self) -> Model:
        """What is built for it."""
        here = Path(__file__).parent
        own = {name: (here / name).read_text() for name in SOURCES}
        own["read_ports.vh"] = _read_ports(self.config)
        constants = {
            "ADDRESS_BITS": self.config.address_bits,
            "DATA_BITS": self.config.bus_bits,
            "INDEX_BITS": self.config.vector_index_bits,
            "SIZE_BITS": _size_bits(self.memory_bytes, self.config, self.simulator),
            "READ_PORTS": self.config.read_ports,
            "REGIONS": MOST_REGIONS,
            "PHASES": len(Phase),
            "EVENTS": len(COUNTERS),
            "LOOKUP_EVENT": [name for name, _ in COUNTERS].index("INTERLEAVE_BUSY"),
        }
        return Model(
            top="system",
            sources=(*own.items(), *memory_sources().items(), ("castbag.v", self.engine())),
            simulator=self.simulator,
            ports=header_ports(own["system.v"]),
            constants=tuple(constants.items()),
            fast=True,
            waves=self.waves is not None,
        )

    def run(
        self, commands: Sequence[Command], *, progress: Callable[[Progress], None] | None = None
    ) -> Run:
        """Run the commands in order; `progress` is called with how far it is.

        Raises DeviceFault, ValueError for a load or dump that is not whole words of the memory
        above the ring, ToolMissing, and SimulationFailed if it is the simulation that fails.
        """
        for number, command in enumerate(commands):
            self._check(number, command)
        model = self.model
        model.build()
        folder = Path(tempfile.mkdtemp(prefix="castbag-"))
        self._write_job(folder, commands)
        keep = False
        try:
            _simulate(model, folder, self.kind.arguments(), progress)
            return self._read_run(folder, commands)
        except SimulationFailed:
            fault = folder / "fault.txt"
            if fault.exists():
                raise DeviceFault(fault.read_text()) from None
            keep = True  # the log, which the message names
            raise
        finally:
            if self.waves is not None and (folder / "waves.fst").exists():
                shutil.move(folder / "waves.fst", self.waves)
            if not keep:
                shutil.rmtree(folder)

    def _check(self, number: int, command: Command) -> None:
        if len(command.descriptor) != DESCRIPTOR_BYTES:
            raise ValueError(
                f"command {number}: its descriptor has {len(command.descriptor)} bytes,"
                f" not {DESCRIPTOR_BYTES}"
            )
        if len(command.allocated) >= MOST_REGIONS:
            raise ValueError(
                f"command {number}: {len(command.allocated)} places are allocated:"
                f" at most {MOST_REGIONS - 1}"
            )
        loads = [("load", address, len(content)) for address, content in command.loads]
        dumps = [("dump", address, size) for address, size in command.dumps]
        places = [("allocation", address, size) for address, size in command.allocated]
        for kind, address, size in loads + dumps + places:
            if address % self.config.bus_bytes or size % self.config.bus_bytes:
                problem = f"not whole words of {self.config.bus_bytes} bytes"
            elif not RING_BYTES <= address <= address + size <= self.memory_bytes:
                problem = f"outside {RING_BYTES:#x} to {self.memory_bytes:#x}"
            else:
                continue
            raise ValueError(f"command {number}: {kind} of {size} bytes at {address:#x}: {problem}")

    def _write_job(self, folder: Path, commands: Sequence[Command]) -> None:
        """Files are numbered through; places are in bus words."""
        bus_bytes = self.config.bus_bytes
        slots = RING_BYTES // DESCRIPTOR_BYTES
        job, loads, dumps = [], 0, 0

        def written(content: bytes) -> tuple[int, int]:
            """Its file, and its words; $fread takes a word's first byte for its highest."""
            nonlocal loads
            words = np.frombuffer(content, np.uint8).reshape(-1, bus_bytes)[:, ::-1]
            words.tofile(folder / f"load_{loads}.bin")
            loads += 1
            return loads - 1, len(words)

        for number, command in enumerate(commands):
            faults = asdict(self.faults[number] if number < len(self.faults) else Faults())
            entry = {
                "limit": self._limit(command),
                "descriptor": written(command.descriptor),
                "loads": [],
                "dumps": [],
                "allocated": [],
                "reset_after": faults.pop("reset_after"),
                "faults": faults,
            }
            for address, content in command.loads:
                file, words = written(content)
                entry["loads"].append((file, address // bus_bytes, words))
            for address, size in command.dumps:
                entry["dumps"].append((dumps, address // bus_bytes, size // bus_bytes))
                dumps += 1
            for address, size in command.allocated and ((0, RING_BYTES), *command.allocated):
                entry["allocated"].append((address // bus_bytes, size // bus_bytes))
            job.append(entry)
        whole = {
            "memory_bytes": self.memory_bytes,
            "ring_slots": slots,
            "record": self.record,
            "watchdog": self.watchdog,
            "commands": job,
        }
        (folder / "job.json").write_text(json.dumps(whole))

    def _limit(self, command: Command) -> int:
        """Cycles in which the command must be over: as if nothing overlapped, and then some."""
        most = self.memory_bytes // 4
        lookups = min(_value(command, "lookups"), self.config.max_lookups, most)
        bags = min(_value(command, "bags"), most)
        words = self.config.words(min(_value(command, "dim"), self.config.max_dim))
        latency = self.kind.latency
        sorts = 2 + self.config.packing.merge_passes(lookups)  # a pair's ways through a sorter
        beats = 4 * words * self.kind.slowest_beat(self.config.bus_bytes)
        each = 4 * ((lookups + bags) * (beats + 2 * latency) + 4 * lookups * sorts)
        return 100_000 + self.watchdog + 8 * each * bool(self.faults) + each

    def _read_run(self, folder: Path, commands: Sequence[Command]) -> Run:
        told = json.loads((folder / "outcomes.json").read_text())
        # What was recorded until a command was over is its own.
        ends = np.cumsum([entry["records"] for entry in told], axis=0)
        records = zip(
            *(
                np.split(np.fromfile(folder / name, kind).reshape(-1, width), ends[:-1, place])
                for place, (name, kind, width) in enumerate(
                    (
                        ("trace.bin", "<u4", self.config.lanes + 2),
                        ("samples.bin", "<i8", len(NAMES)),
                        ("requests.bin", "<u8", 3),
                    )
                )
            ),
            strict=True,
        )
        outcomes, dumps = [], 0
        for number, (command, entry, (traced, sampled, requested)) in enumerate(
            zip(commands, told, records, strict=True)
        ):
            contents = []
            for _ in command.dumps:
                contents.append((folder / f"dump_{dumps}.bin").read_bytes())
                dumps += 1
            coalesced = None
            if _value(command, "backward") and not entry["registers"]["ERROR"]:
                words = self.config.words(_value(command, "dim"))
                coalesced = _vectors(number, traced, words, self.config.lanes)
            outcomes.append(
                SimulatedOutcome(
                    registers=entry["registers"],
                    dumps=tuple(contents),
                    coalesced=coalesced,
                    activity=Activity(sampled),
                    requests=requested if self.record else None,
                    beats=tuple(entry["beats"]),
                )
            )
        return Run(
            outcomes=tuple(outcomes),
            cycles=sum(entry["cycles"] for entry in told),
            seconds=sum(entry["seconds"] for entry in told),
        )


def _simulate(
    model: Model,
    folder: Path,
    arguments: Sequence[str],
    progress: Callable[[Progress], None] | None,
) -> None:
    """Run the session; pass its progress on as it comes, from this thread."""
    lines = folder / "progress.txt"
    told = 0
    with ThreadPoolExecutor(1) as worker:
        job = worker.submit(model.run, "castbag.sim.session", folder=folder, arguments=arguments)
        running = True
        while running:
            running = bool(wait([job], timeout=POLL_SECONDS).not_done)
            # A line that is being written has no end yet.
            news = lines.read_text().split("\n")[:-1] if progress and lines.exists() else []
            if progress and len(news) > told:
                told = len(news)
                progress(Progress(*map(int, news[-1].split())))
        job.result()


def _read_ports(config: EngineConfig) -> str:
    """Connections of the engine's read ports, for `system.v`."""
    from castbag.rtl.axi import AXI4ReadSignature, numbered  # late: it loads Amaranth

    bus = AXI4ReadSignature(address_bits=config.address_bits, data_bits=config.bus_bits)
    widths = {name: len(signal) for (name,), _, signal in bus.flatten(bus.create())}
    return "".join(
        f".{prefix}_{name}({name}[{width * port}+:{width}]),\n"
        for port, prefix in enumerate(numbered("m_axi", config.read_ports))
        for name, width in widths.items()
    )


def _size_bits(size: int, config: EngineConfig, simulator: str) -> int:
    """Address bits of the memory's array: in few steps where a model takes long to build.

    The least is what short runs start quickly with; a wide engine takes longer to build than that.
    """
    bits = (size - 1).bit_length()
    least = 24 if config.bus_bits < 128 else 26
    return max(bits + bits % 2, least) if simulator == "verilator" else bits


def _value(command: Command, name: str) -> int:
    """A field of the command's descriptor."""
    entry = field(name)
    words = np.frombuffer(command.descriptor, "<u4")[entry.word : entry.word + -(-entry.bits // 32)]
    return int.from_bytes(words.tobytes(), "little") >> entry.low & (1 << entry.bits) - 1


def _vectors(number: int, records: np.ndarray, words: int, lanes: int):
    """Trace records (data, target, end) as targets int64[k] and words uint32[k, words * lanes]."""
    if len(records) % words:
        raise DeviceFault(f"command {number}: {len(records)} words traced, in vectors of {words}")
    vectors = records.reshape(-1, words, lanes + 2)
    targets, ends = vectors[..., lanes], vectors[..., lanes + 1]
    if (targets != targets[:, :1]).any() or (ends != (np.arange(words) == words - 1)).any():
        raise DeviceFault(f"command {number}: words of traced vectors are not together")
    data = np.ascontiguousarray(vectors[..., :lanes]).reshape(len(vectors), words * lanes)
    return targets[:, 0].astype(np.int64), data
