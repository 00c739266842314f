# SPDX-FileCopyrightText: castbag contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Where the arrays of a step lie in memory; what is written there, and what came back.

    0x1000   guard │ indices │ guard …  guard │ offsets │ guard  …  guard │ table │ guard
                   ▲ each buffer starts on a multiple of 4096, the table last

A list (indices, offsets, cast table, unique rows) is one row of entries. A matrix has rows of
`4 * D` bytes on a pitch of whole bus beats. The scratch space of the sort has a row for each half,
as long as all runs that so many lookups can spill. All that is not data is noise: the pads at the
rows' ends, the guards around each buffer, and whatever the engine is to write. So an engine that
used a pad, or wrote one, or one byte too far, is caught: `Buffer.stray` finds the first such byte.
"""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from castbag.golden.step import Op
from castbag.golden.traffic import CAST_BYTES, ELEMENT_BYTES, Dataflow
from castbag.rtl.config import EngineConfig

from .device import RING_BYTES
from .files import Refused

BASE = RING_BYTES
"""Nothing is laid out below: the device keeps its descriptors there."""
ALIGNMENT = 4096
GUARD = 256
"""Bytes of noise before and after each buffer."""

Bytes = NDArray[np.uint8]


@dataclass(frozen=True, kw_only=True)
class Buffer:
    """`rows` rows of `row_bytes` bytes, each `pitch` bytes after the one before."""

    name: str
    """The descriptor field that takes its address."""
    address: int
    rows: int
    row_bytes: int
    pitch: int

    @property
    def size(self) -> int:
        """Bytes from the first row to the end of the last one's pad."""
        return self.rows * self.pitch

    @property
    def extent(self) -> tuple[int, int]:
        """(address, bytes) of the buffer with its guards: what is loaded and dumped."""
        return self.address - GUARD, self.size + 2 * GUARD

    def _matrix(self, image: Bytes) -> Bytes:
        """The rows of an `image` [size + 2 GUARD], pads included: a view [rows, pitch]."""
        return image[GUARD : GUARD + self.size].reshape(self.rows, self.pitch)

    def image(self, data: NDArray | None) -> bytes:
        """What memory holds before a command: `data` [rows, k], if any, among noise."""
        rng = np.random.default_rng(self.address)
        image = rng.integers(256, size=self.size + 2 * GUARD, dtype=np.uint8)
        if data is not None and self.size:
            little = np.ascontiguousarray(data, dtype=data.dtype.newbyteorder("<"))
            self._matrix(image)[:, : self.row_bytes] = little.view(np.uint8)
        return image.tobytes()

    def read(self, image: bytes, dtype: str) -> NDArray:
        """The data [rows, k] of a dumped `image`, as little-endian `dtype`, pads stripped."""
        matrix = self._matrix(np.frombuffer(image, dtype=np.uint8))
        return np.ascontiguousarray(matrix[:, : self.row_bytes]).view(dtype)

    def stray(self, before: bytes, after: bytes, *, rows: int, row_bytes: int) -> int | None:
        """The address of the first byte that changed outside what was to be written, if any.

        To be written were the first `row_bytes` of each of the first `rows` rows.
        """
        changed = np.frombuffer(before, np.uint8) != np.frombuffer(after, np.uint8)
        if self.size:
            self._matrix(changed)[:rows, :row_bytes] = False  # pyright: ignore[reportArgumentType]
        found = np.flatnonzero(changed)
        return self.address - GUARD + int(found[0]) if found.size else None


@dataclass(frozen=True, kw_only=True)
class Layout:
    """The buffers of a step, for one or more dataflows. Make one with `Layout.of`."""

    buffers: dict[str, Buffer]
    """By name, in order of address."""

    @classmethod
    def of(
        cls,
        config: EngineConfig,
        *,
        lookups: int,
        bags: int,
        rows: int,
        dim: int,
        index_bytes: int,
        offset_bytes: int,
        op: Op,
        dataflows: Iterable[Dataflow],
    ) -> "Layout":
        """All that `op` needs in any of `dataflows`, from `BASE` on.

        Raises `Refused` if it ends beyond the address space of `config`.
        """
        beat = config.bus_bytes
        row_bytes, pitch = dim * ELEMENT_BYTES, config.words(dim) * beat

        def entries(count: int, size: int) -> tuple[int, int, int]:
            return 1, count * size, -(-count * size // beat) * beat

        shapes = {
            "indices": entries(lookups, index_bytes),
            "offsets": entries(bags + 1, offset_bytes),
        }
        if op != "backward":
            shapes["pooled"] = bags, row_bytes, pitch
        if op != "forward":
            shapes["gradient"] = bags, row_bytes, pitch
            if set(dataflows) - {"fused"}:
                shapes["cast_table"] = entries(lookups, CAST_BYTES)
                shapes["unique_rows"] = entries(lookups, CAST_BYTES)
                shapes["coalesced"] = lookups, row_bytes, pitch
            if "expand-coalesce" in dataflows:
                shapes["expanded"] = lookups, row_bytes, pitch
            half = config.packing.spilled_runs(lookups) * config.packing.run_bytes
            if half:
                shapes["scratch"] = config.packing.scratch_bytes(lookups) // half, half, half
        shapes["table"] = rows, row_bytes, pitch

        buffers, free, space = {}, BASE, 1 << config.address_bits
        for name, (height, width, step) in shapes.items():
            address = -(-(free + GUARD) // ALIGNMENT) * ALIGNMENT
            buffer = Buffer(name=name, address=address, rows=height, row_bytes=width, pitch=step)
            free = address + buffer.size + GUARD
            if free > space:
                larger = f"{name} larger than the address space: {buffer.size} bytes"
                raise Refused(f"{larger} from {address:#x} on; it ends at {space:#x}")
            buffers[name] = buffer
        return cls(buffers=buffers)

    @property
    def memory_bytes(self) -> int:
        """How much memory there must be: up to the last guard's end, a multiple of 4096."""
        return -(-sum(self.buffers["table"].extent) // ALIGNMENT) * ALIGNMENT
