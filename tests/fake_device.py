# SPDX-FileCopyrightText: castbag contributors
# SPDX-License-Identifier: BSD-2-Clause

"""A device without hardware, for tests of the host's side: the golden model behind a memory.

It knows nothing of the host's buffers: it reads descriptors and memory as the engine does, with
rows on whole bus beats, and writes only what the engine writes. `tamper` makes it a faulty one.
"""

import struct
from collections.abc import Callable

import numpy as np

from castbag.golden.batch import Batch
from castbag.golden.casting import cast
from castbag.golden.step import step
from castbag.golden.traffic import Runs, phases, sums, terms
from castbag.host.device import Outcome, Progress, Run
from castbag.rtl.config import EngineConfig
from castbag.rtl.control.map import DESCRIPTOR, REGISTERS

DATAFLOWS = ("expand-coalesce", "cast", "fused")


def decode(descriptor: bytes) -> dict[str, int]:
    """The fields of a descriptor."""
    words = struct.unpack("<64I", descriptor)
    values = {}
    for entry in DESCRIPTOR:
        value = words[entry.word] | (words[entry.word + 1] << 32 if entry.bits == 64 else 0)
        values[entry.name] = value >> entry.low & (1 << entry.bits) - 1
    return values


class FakeDevice:
    """A device of `config`; `tamper(fields, memory, registers)` may spoil what a command left."""

    def __init__(
        self,
        config: EngineConfig,
        *,
        memory_bytes: int,
        tamper: Callable[[dict, bytearray, dict], None] = lambda *_: None,
    ):
        self.config = config
        self.memory = bytearray(memory_bytes)
        self.tamper = tamper
        self.commands = []

    def run(self, commands, *, progress=None) -> Run:
        """As `castbag.host.device.Device.run`."""
        outcomes = []
        for number, command in enumerate(commands, start=1):
            self.commands.append(command)
            for address, content in command.loads:
                assert address >= 0x1000 and address + len(content) <= len(self.memory)
                assert address % self.config.bus_bytes == len(content) % self.config.bus_bytes == 0
                self.memory[address : address + len(content)] = content
            fields = decode(command.descriptor)
            registers, traced = self._execute(fields)
            self.tamper(fields, self.memory, registers)
            dumps = tuple(bytes(self.memory[at : at + size]) for at, size in command.dumps)
            outcomes.append(Outcome(registers=registers, dumps=dumps, coalesced=traced))
            if progress:
                progress(Progress(cycles=1000 * number, commands=number, lookups=10 * number))
        return Run(outcomes=tuple(outcomes), cycles=1000 * len(commands), seconds=0.5)

    def _matrix(self, address: int, rows: int, dim: int) -> np.ndarray:
        pitch = self.config.words(dim) * self.config.lanes
        flat = np.frombuffer(self.memory, "<f4", rows * pitch, address)
        return flat.reshape(rows, pitch)[:, :dim]

    def _list(self, address: int, count: int, kind: str) -> np.ndarray:
        return np.frombuffer(self.memory, kind, count, address)

    def _execute(self, f: dict[str, int]):
        kinds = {name: "<i8" if f[f"wide_{name}"] else "<i4" for name in ("indices", "offsets")}
        batch = Batch.of(
            self._list(f["indices"], f["lookups"], kinds["indices"]),
            self._list(f["offsets"], f["bags"] + 1, kinds["offsets"]),
            rows=f["rows"],
            padding_idx=f["padding_index"] if f["has_padding"] else None,
            bounds="ignore" if f["ignore_bounds"] else "error",
            include_last_offset=True,
        )
        op = {(1, 1): "step", (1, 0): "forward", (0, 1): "backward"}[f["forward"], f["backward"]]
        dataflow = DATAFLOWS[f["dataflow"]]
        table = self._matrix(f["table"], f["rows"], f["dim"])
        grad = self._matrix(f["gradient"], f["bags"], f["dim"]) if f["backward"] else None
        lr = np.array([f["learning_rate"]], "<u4").view("<f4")[0]
        result = step(table.copy(), grad, batch, op=op, lr=lr)
        if f["forward"]:
            self._matrix(f["pooled"], f["bags"], f["dim"])[:] = result.pooled
        traced = None
        if f["backward"]:
            count = result.unique_rows.size
            table[:] = result.table
            if dataflow == "fused":
                words = np.full(
                    (count, self.config.words(f["dim"]) * self.config.lanes), 0xBAD, "u4"
                )
                words[:, : f["dim"]] = result.coalesced.view(np.uint32)
                order = np.random.default_rng(0).permutation(count)  # of completion
                traced = result.unique_rows[order], words[order]
            else:
                self._list(f["unique_rows"], count, "<u4")[:] = result.unique_rows
                self._matrix(f["coalesced"], count, f["dim"])[:] = result.coalesced
                src = cast(batch).src
                self._list(f["cast_table"], src.size, "<u4")[:] = src
            if dataflow == "expand-coalesce":
                copies = grad[batch.bag_of[batch.valid]]
                self._matrix(f["expanded"], len(copies), f["dim"])[:] = copies
            self._spill(f, batch)
        return self._registers(f, batch, op, dataflow), traced

    def _spill(self, f: dict[str, int], batch: Batch) -> None:
        """Something else in every byte that the runs and merged runs of the batch take."""
        run = self._runs()
        room = (f["lookups"] - 1) // run.run_length * run.run_bytes  # for all lookups, valid or not
        valid = batch.lookups - batch.dropped
        halves = 2 if run.passes(f["lookups"]) else 1
        assert f["scratch_bytes"] >= halves * max(room, 0)
        used = run.spilled(valid) * run.run_bytes
        for half in range(2 if run.passes(valid) else 1):
            start = f["scratch"] + half * room
            self.memory[start : start + used] = (
                byte ^ 0xFF for byte in self.memory[start : start + used]
            )

    def _runs(self) -> Runs:
        # Pairs in whole bytes, as many of a row and a source as they take.
        pair_bytes = -(-(self.config.index_bits + self.config.source_bits) // 8)
        return Runs(
            run_length=self.config.run_length,
            merge_ways=self.config.merge_ways,
            run_bytes=self.config.run_length * pair_bytes,
        )

    def _registers(self, f: dict[str, int], batch: Batch, op: str, dataflow: str) -> dict[str, int]:
        registers = dict.fromkeys((entry.name for entry in REGISTERS), 0)
        registers["VALID_LOOKUPS"] = batch.lookups - batch.dropped
        registers["DROPPED_LOOKUPS"] = batch.dropped
        if op != "forward":
            registers["UNIQUE_ROWS"] = np.unique(batch.indices[batch.valid]).size
        listed = list(
            terms(
                batch,
                dim=f["dim"],
                bus_bytes=self.config.bus_bytes,
                index_bytes=8 if f["wide_indices"] else 4,
                offset_bytes=8 if f["wide_offsets"] else 4,
                dataflow=dataflow,
                op=op,
                runs=self._runs(),
            )
        )
        for term in listed:
            registers[f"{term.direction}_{term.client}_BEATS".upper()] += term.beats
        moved = sums(listed, phases(dataflow, op), self.config.bus_bytes)
        for name, bytes_ in moved.items():
            phase = {"coalesce": "BACKWARD"}.get(name, name.upper())
            reads = bytes_.bytes_read // self.config.bus_bytes
            writes = bytes_.bytes_written // self.config.bus_bytes
            registers[f"{phase}_READ_BEATS"], registers[f"{phase}_WRITE_BEATS"] = reads, writes
            registers[f"{phase}_CYCLES"] = 2 * max(reads, writes)
            registers["TOTAL_CYCLES"] += 2 * max(reads, writes)
        return registers
