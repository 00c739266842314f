# SPDX-FileCopyrightText: castbag contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Memories: what the simulated memory is like, by name, and how the Verilog is told.

`ideal` has a latency and a rate. The others have the timing of a DRAM, in clocks of its command
bus; `memory.v` is told all of it when a simulation starts, so one model serves for all. A name may
be followed by changes: `ideal,latency=40,rate=8` or `ddr3-800-x16,window=8`.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path


class UnknownMemory(ValueError):  # noqa: N818  (what was asked for, not a fault)
    """A memory that there is not, or that cannot be; the message names what is wrong."""


def _within(name: str, value: int, least: int, most: int) -> None:
    if not least <= value <= most:
        raise UnknownMemory(f"{name} = {value}: must be {least} to {most}")


def _arguments(constants: Mapping[str, int]) -> list[str]:
    return [f"+MEMORY_{name}={value}" for name, value in constants.items()]


@dataclass(frozen=True, kw_only=True)
class Ideal:
    """Answers after a fixed time, at a fixed rate.

    Attributes:
        latency: Cycles from a burst's address to its first beat, and from a write's last beat to
            its response.
        rate: Beats in 16 cycles, each way.
    """

    latency: int = 64
    rate: int = 16

    def __post_init__(self):
        _within("latency", self.latency, 2, 4096)
        _within("rate", self.rate, 1, 16)

    @property
    def peak_bytes(self) -> None:
        """It has no bound but the bus."""
        return None

    def slowest_beat(self, bus_bytes: int) -> int:
        """Cycles that a beat takes at the worst."""
        return -(-16 // self.rate)

    @property
    def burst_bytes(self) -> int:
        """What counts as an access: a usual cache line."""
        return 64

    @property
    def capacity(self) -> None:
        """It is as large as need be."""
        return None

    def arguments(self) -> list[str]:
        """Tells a simulation of `memory.v` what it is like."""
        # What only a DRAM has divides, so none is 0.
        unused = dict.fromkeys(_DRAM_NAMES, 1)
        return _arguments({"IDEAL": 1, "LATENCY": self.latency, "RATE": self.rate} | unused)


@dataclass(frozen=True, kw_only=True)
class Dram:
    """One rank of DRAM and the controller before it.

    Times are in clocks of the command bus. `_s` and `_l` are of two commands to different bank
    groups and to the same one; without groups they are equal.

    Attributes:
        source: Where the figures come from.
        clock_ps: Period of a clock.
        clocks: Clocks in a cycle of the engine.
        data_bits: Width of the data bus.
        rate: Transfers in a clock: 1, or 2 for DDR.
        length: Transfers of a burst.
        banks, groups: Banks in all, and the groups they form.
        row_bytes: Bytes of a row of one bank (a page), over all chips of the rank.
        rows: Rows of a bank.
        cl, cwl: From a column command to its first datum, read and write.
        rcd, rp, ras, rc: Activate to column; precharge to activate; activate to precharge; activate
            to activate, of one bank.
        rrd_s, rrd_l, faw: Activate to activate of other banks; of any five, the first to the last.
        ccd_s, ccd_l: Column to column.
        rtp: Read to precharge.
        wr: End of a write's data to precharge.
        wtr_s, wtr_l: End of a write's data to a read.
        turn: Clocks that the data bus rests between a read's data and a write's.
        rfc, refi: Refresh to activate; refresh to refresh.
        group_shift: Bank group = bits of the address above this many bits of the burst number.
        window: Accesses, each way, among which the controller chooses; 1 keeps their order.
        in_order: Keep the order of the column commands; only rows are opened ahead of them.
        front, back: Cycles of the engine that the controller and its wires add, before an access
            can be chosen and behind its data.
    """

    source: str
    clock_ps: int
    clocks: int
    data_bits: int
    rate: int
    length: int
    banks: int
    groups: int = 1
    row_bytes: int
    rows: int
    cl: int
    cwl: int
    rcd: int
    rp: int
    ras: int
    rc: int
    rrd_s: int
    rrd_l: int
    faw: int
    ccd_s: int
    ccd_l: int
    rtp: int
    wr: int
    wtr_s: int
    wtr_l: int
    turn: int
    rfc: int
    refi: int
    group_shift: int = 0
    window: int = 32
    in_order: bool = False
    front: int
    back: int

    def __post_init__(self):
        _within("window", self.window, 1, 64)
        _within("front", self.front, 0, 1000)
        _within("back", self.back, 0, 1000)

    @property
    def burst_bytes(self) -> int:
        """Bytes of an access: the least that is read or written."""
        return self.data_bits // 8 * self.length

    @property
    def burst_clocks(self) -> int:
        """Clocks that an access's data take."""
        return self.length // self.rate

    @property
    def patience(self) -> int:
        """How often an access may be overtaken."""
        return 0 if self.in_order else 4 * self.window

    @property
    def peak_bytes(self) -> float:
        """Bytes in a cycle of the engine, if the data bus never rests."""
        return self.burst_bytes * self.clocks / self.burst_clocks

    @property
    def capacity(self) -> int:
        """Bytes."""
        return self.banks * self.rows * self.row_bytes

    @property
    def latency(self) -> int:
        """Cycles of the engine from an address to data, where the row must be opened."""
        clocks = self.rp + self.rcd + self.cl + self.burst_clocks
        return self.front + self.back + -(-clocks // self.clocks)

    def slowest_beat(self, bus_bytes: int) -> int:
        """Cycles that a beat takes at the worst: each of its accesses opens a row."""
        accesses = -(-bus_bytes // self.burst_bytes)
        return accesses * -(-(self.rc + self.wr + self.cl + self.faw) // self.clocks)

    def arguments(self) -> list[str]:
        """Tells a simulation of `memory.v` what it is like."""
        names = {name: getattr(self, name.removeprefix("T_").lower()) for name in _DRAM_NAMES}
        return _arguments({"IDEAL": 0, "LATENCY": 2, "RATE": 16} | names)


_DRAM_NAMES = (
    *("CLOCKS", "BURST_BYTES", "BURST_CLOCKS", "BANKS", "GROUPS", "ROW_BYTES", "ROWS"),
    *("GROUP_SHIFT", "WINDOW", "PATIENCE", "FRONT", "BACK", "T_CL", "T_CWL", "T_RCD", "T_RP"),
    *("T_RAS", "T_RC", "T_RRD_S", "T_RRD_L", "T_FAW", "T_CCD_S", "T_CCD_L", "T_RTP", "T_WR"),
    *("T_WTR_S", "T_WTR_L", "T_TURN", "T_RFC", "T_REFI"),
)

PARTS = ("memory.v", "storage.v", "dram.v", "dram_rules.v", "memory_timing.vh")

Memory = Ideal | Dram


def memory_sources() -> dict[str, str]:
    """Name and text of each file that module `memory` is made of."""
    here = Path(__file__).parent
    return {name: (here / name).read_text() for name in PARTS}


MEMORIES: dict[str, Memory] = {
    "ideal": Ideal(),
    "sdr-133": Dram(
        source="Micron data sheet 256Mb SDRAM, MT48LC16M16A2-7E: CL 2 at 133 MHz",
        clock_ps=7500,
        clocks=1,
        data_bits=16,
        rate=1,
        length=4,
        banks=4,
        row_bytes=1024,
        rows=8192,
        cl=2,
        cwl=0,
        rcd=2,  # 15 ns
        rp=2,  # 15 ns
        ras=5,  # 37 ns
        rc=8,  # 60 ns
        rrd_s=2,  # 14 ns
        rrd_l=2,
        faw=8,  # there is no such rule: four times rrd
        ccd_s=4,  # a burst of four is not cut short
        ccd_l=4,
        rtp=4,  # a precharge sooner would cut the burst short
        wr=1,  # 1 clock + 7 ns behind the last datum's clock: one behind the end of the burst
        wtr_s=0,
        wtr_l=0,
        turn=1,
        rfc=9,  # 66 ns
        refi=1041,  # 64 ms / 8192
        # The controller is castbag.rtl.sdram's, which tests hold this against. It gives the chip
        # its column commands in order, and opens rows four accesses ahead. `front` is its way from
        # a burst's address to the first command on the pins. It answers a write sooner than this
        # does: once its place in the order is fixed.
        window=4,
        in_order=True,
        front=8,
        back=2,
    ),
    "ddr3-800-x16": Dram(
        source="JEDEC JESD79-3F, DDR3-800E (6-6-6), one 2 Gb chip x16",
        clock_ps=2500,
        clocks=4,
        data_bits=16,
        rate=2,
        length=8,
        banks=8,
        row_bytes=2048,
        rows=16384,
        cl=6,
        cwl=5,
        rcd=6,  # 15 ns
        rp=6,  # 15 ns
        ras=15,  # 37.5 ns
        rc=21,  # 52.5 ns
        rrd_s=4,  # 10 ns, pages of 2 KiB
        rrd_l=4,
        faw=20,  # 50 ns, pages of 2 KiB
        ccd_s=4,
        ccd_l=4,
        rtp=4,  # 7.5 ns, 4 clocks at least
        wr=6,  # 15 ns
        wtr_s=4,  # 7.5 ns, 4 clocks at least
        wtr_l=4,
        turn=2,
        rfc=64,  # 160 ns, 2 Gb
        refi=3120,  # 7.8 us
        front=4,
        back=4,
    ),
    "ddr4-3200-x64": Dram(
        source="JEDEC JESD79-4B, DDR4-3200AA (22-22-22), a rank of eight 8 Gb chips x8",
        clock_ps=625,
        clocks=2,
        data_bits=64,
        rate=2,
        length=8,
        banks=16,
        groups=4,
        row_bytes=8192,
        rows=65536,
        cl=22,
        cwl=16,
        rcd=22,  # 13.75 ns
        rp=22,  # 13.75 ns
        ras=52,  # 32 ns
        rc=74,  # 45.75 ns
        rrd_s=4,  # 2.5 ns, 4 clocks at least; chips' pages of 1 KiB
        rrd_l=8,  # 4.9 ns
        faw=34,  # 21 ns
        ccd_s=4,
        ccd_l=8,  # 5 ns
        rtp=12,  # 7.5 ns
        wr=24,  # 15 ns
        wtr_s=4,  # 2.5 ns
        wtr_l=12,  # 7.5 ns
        turn=2,
        rfc=560,  # 350 ns, 8 Gb
        refi=12480,  # 7.8 us
        group_shift=2,
        window=64,
        front=8,
        back=8,
    ),
    "hbm2-pseudochannel": Dram(
        source=(
            "JEDEC JESD235B, 2 Gb/s a pin, half of a 4 Gb channel; times in ns as DRAMsim3's"
            " HBM2_4Gb_x128 has them, columns twice as far apart, since a burst of four takes two"
            " clocks on half the wires"
        ),
        clock_ps=1000,
        clocks=2,
        data_bits=64,
        rate=2,
        length=4,
        banks=16,
        groups=4,
        row_bytes=1024,
        rows=16384,
        cl=14,
        cwl=4,
        rcd=14,
        rp=14,
        ras=34,
        rc=48,
        rrd_s=4,
        rrd_l=6,
        faw=30,
        ccd_s=2,
        ccd_l=4,
        rtp=6,
        wr=16,
        wtr_s=6,
        wtr_l=8,
        turn=2,
        rfc=260,
        refi=3900,
        group_shift=2,
        window=64,
        front=6,
        back=6,
    ),
}
"""By name: `ideal` has 64 cycles latency and a beat a cycle each way."""

CHANGES = {"ideal": ("latency", "rate"), "": ("window", "front", "back")}
"""What may be changed behind a name."""


def memory_of(text: str) -> Memory:
    """The memory of that name, with the changes behind it; UnknownMemory says what is wrong."""
    name, *changes = text.split(",")
    if name not in MEMORIES:
        raise UnknownMemory(f"memory {name!r} unknown: there are {', '.join(MEMORIES)}")
    known = CHANGES.get(name, CHANGES[""])
    given: dict[str, int] = {}
    for change in changes:
        key, _, value = change.partition("=")
        if key not in known:
            raise UnknownMemory(
                f"memory {name}: {key!r} cannot be set; there is {', '.join(known)}"
            )
        try:
            given[key] = int(value)
        except ValueError:
            raise UnknownMemory(f"memory {name}: {key} = {value!r}: must be a number") from None
    try:
        return replace(MEMORIES[name], **given)
    except UnknownMemory as error:
        raise UnknownMemory(f"memory {name}: {error}") from None
