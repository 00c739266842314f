# SPDX-FileCopyrightText: castbag contributors
# SPDX-License-Identifier: BSD-2-Clause
"""EngineConfig: every size of the machine, stated once, checked once, named by presets."""

from dataclasses import dataclass
from functools import cached_property

from .packing import Packing

WORD_BYTES = 4
"""Bytes of a binary32 element, and of an entry of the cast table and the row list."""


class ConfigError(ValueError):
    """An impossible engine: the message names the field, its value and what would be right."""


def _power_of_two(value: int) -> bool:
    return value > 0 and value & (value - 1) == 0


@dataclass(frozen=True, kw_only=True)
class EngineConfig:
    """What an engine is built for. All limits that a batch must respect follow from here.

    Attributes:
        bus_bits: Data width of the AXI4 port; there is one reduction lane for each 32 bits.
        address_bits: Width of a byte address.
        index_bits: Width of a row index: a table has at most `2**index_bits` rows.
        bag_bits: Width of a bag number: a batch has at most `2**bag_bits` bags.
        max_lookups: The most lookups of a batch.
        run_length: Pairs that are sorted on chip. Longer batches are sorted in runs, which are
            merged through memory.
        merge_ways: Runs that are merged at a time.
        way_pairs: Pairs buffered of each run that is merged; with the memory's latency they bound
            the rate while one run alone is read.
        max_dim: The most elements of a row.
        window: Pairs that the interleaver looks ahead.
        burst_beats: The longest burst.
        vector_beats: Read data buffered for the vectors being fetched; with the memory's latency
            it bounds the rate: a port is kept full while `vector_beats` cover the latency.
        vector_requests: Vectors that may be on their way at a time.
        read_ports: AXI4 ports for reading, 1, 2, 4 or 8. Each but one alone has a buffer of
            `vector_beats` of its own.
        read_stripe: Bytes that lie at one read port: an address belongs to port
            `address / read_stripe % read_ports`. No burst leaves its stripe, so that it should
            hold a longest burst; short stripes spread lists and long rows over more ports. (256 is
            that of `base` and a row of 64 elements, and what many memories' channels are made of.)
        optimizers: Optimizers built in.
    """

    bus_bits: int = 128
    address_bits: int = 40
    index_bits: int = 32
    bag_bits: int = 24
    max_lookups: int = 1 << 24
    run_length: int = 4096
    merge_ways: int = 16
    way_pairs: int = 128
    max_dim: int = 1024
    window: int = 512
    burst_beats: int = 16
    vector_beats: int = 512
    vector_requests: int = 128
    read_ports: int = 1
    read_stripe: int = 256
    optimizers: tuple[str, ...] = ("sgd",)

    def __post_init__(self):
        limits = {
            "bus_bits": (64, 1024),
            "max_lookups": (16, 1 << 24),
            "run_length": (16, 16384),
            "merge_ways": (4, 64),
            "way_pairs": (16, 4096),
            "window": (16, 4096),
            "burst_beats": (2, 256),
            "vector_beats": (16, 4096),
            "vector_requests": (8, 1024),
            "read_ports": (1, 8),
        }
        for name, (low, high) in limits.items():
            value = getattr(self, name)
            if not (_power_of_two(value) and low <= value <= high):
                raise ConfigError(f"{name} = {value}: must be a power of two, {low} to {high}")
        if not (_power_of_two(self.read_stripe) and self.bus_bytes <= self.read_stripe <= 4096):
            raise ConfigError(
                f"read_stripe = {self.read_stripe}: must be a power of two,"
                f" {self.bus_bytes} (a bus word) to 4096"
            )
        for name, (low, high) in {
            "address_bits": (16, 64),
            "index_bits": (4, 32),
            "bag_bits": (4, 31),
            "max_dim": (1, 256 * self.lanes),
        }.items():
            value = getattr(self, name)
            if not low <= value <= high:
                raise ConfigError(f"{name} = {value}: must be {low} to {high}")
        if self.vector_beats < 2 * self.burst_beats:
            raise ConfigError(
                f"vector_beats = {self.vector_beats}: must hold two bursts of {self.burst_beats}"
            )
        if self.burst_beats * self.bus_bytes > 4096:
            raise ConfigError(
                f"burst_beats = {self.burst_beats}: a burst of {self.bus_bytes}-byte beats"
                " must fit in 4096 bytes"
            )
        try:
            _ = self.packing
        except ValueError as error:
            raise ConfigError(str(error)) from None
        unknown = sorted(set(self.optimizers) - {"sgd"})
        if unknown:
            raise ConfigError(f"optimizers: {', '.join(unknown)} unknown; there is sgd")

    @property
    def bus_bytes(self) -> int:
        """Bytes of a bus beat."""
        return self.bus_bits // 8

    @property
    def lanes(self) -> int:
        """Elements of a bus beat, and adders of the reduction."""
        return self.bus_bits // 32

    @property
    def max_words(self) -> int:
        """Most bus beats of a row: `ceil(max_dim / lanes)`."""
        return -(-self.max_dim // self.lanes)

    @property
    def source_bits(self) -> int:
        """Width of a casted source: a bag, or a lookup's ordinal in `expand-coalesce`."""
        return max(self.bag_bits, self.ordinal_bits)

    @property
    def lookup_bits(self) -> int:
        """Width of a count of lookups, `0 .. max_lookups`."""
        return self.max_lookups.bit_length()

    @property
    def ordinal_bits(self) -> int:
        """Width of a lookup's number, `0 .. max_lookups - 1`."""
        return self.lookup_bits - 1

    @cached_property
    def packing(self) -> Packing:
        """How runs lie in memory."""
        return Packing(
            pair_bits=self.index_bits + self.source_bits,
            bus_bytes=self.bus_bytes,
            burst_beats=self.burst_beats,
            run_length=self.run_length,
            merge_ways=self.merge_ways,
            way_pairs=self.way_pairs,
        )

    @property
    def vector_index_bits(self) -> int:
        """Width of any vector's index in any table: rows, bags, lookups."""
        return max(self.index_bits, self.source_bits)

    def words(self, dim: int) -> int:
        """Bus beats of a row of `dim` elements: its pitch."""
        return -(-dim // self.lanes)


PRESETS: dict[str, EngineConfig] = {
    # The default of `castbag run`: a mid-size FPGA's AXI port.
    "base": EngineConfig(),
    # Tests and formal proofs: every limit is near.
    "tiny": EngineConfig(
        bus_bits=64,
        address_bits=32,
        index_bits=16,
        bag_bits=8,
        max_lookups=1 << 14,
        run_length=64,
        merge_ways=4,
        way_pairs=64,
        max_dim=64,
        window=64,
        burst_beats=8,
        vector_beats=64,
        vector_requests=16,
    ),
    # ULX3S 85F and 45F: 32 MB of 16-bit SDR SDRAM, four transfers a bus word. Rows of one word
    # would fill them; a million lookups take an eighth of them.
    "ulx3s": EngineConfig(
        bus_bits=64,
        address_bits=25,
        index_bits=22,
        bag_bits=20,
        max_lookups=1 << 20,
        max_dim=512,
    ),
    # Boards of an LFE5U-25F and 32 MB: a row of 32 bytes for each index fills them. LUTs are what
    # is short: the sorter of runs of 16, merged 4 at a time, has 1,700 less than that of 1,024, and
    # 300 less than merged 8 at a time. Of 65,536 lookups it merges five times before the last time,
    # not twice: 12 bytes a lookup each, little beside the vectors.
    "ecp5-25f": EngineConfig(
        bus_bits=64,
        address_bits=25,
        index_bits=20,
        bag_bits=16,
        max_lookups=1 << 16,
        run_length=16,
        merge_ways=4,
        way_pairs=64,
        max_dim=256,
        window=128,
        vector_beats=512,
        vector_requests=128,
    ),
    # One DDR4-3200 rank of the paper's near-memory system: 25.6 GB/s at 800 MHz.
    "rank": EngineConfig(
        bus_bits=256,
        max_dim=2048,
        run_length=16384,
        way_pairs=256,
        vector_beats=1024,
        vector_requests=256,
    ),
}


def preset(name: str) -> EngineConfig:
    """The named preset; an unknown name raises ConfigError that lists those there are."""
    if name not in PRESETS:
        raise ConfigError(f"preset {name!r} unknown: there are {', '.join(PRESETS)}")
    return PRESETS[name]
