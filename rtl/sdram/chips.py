# SPDX-FileCopyrightText: castbag contributors
# SPDX-License-Identifier: BSD-2-Clause
"""SdramChip: geometry and timings of single-data-rate SDRAMs.

Checked against its own data sheet: AS4C32M16SB-7. Against that of a sister part: W9825G6KH-6. Not
checked in full: IS42S16160G-7 and MT48LC16M16A2-7E; compare with the sheet before you rely on them.
"""

import math
from dataclasses import dataclass

BURST = 4
"""Transfers of an access: four of 16 bits are the port's word."""


@dataclass(frozen=True, kw_only=True)
class Timings:
    """A chip's timings in clocks; the least that keeps every rule of its data sheet.

    Attributes:
        cl: Read command to its first datum.
        rcd, rp: Activate to column command; precharge to activate.
        ras, rc: Activate to precharge; activate to activate, of one bank.
        rrd: Activate to activate of another bank.
        rfc: Refresh to refresh or activate.
        wr: Last datum written to precharge.
        mrd: Mode register set to the next command.
        turn: Clocks that the data bus rests between the last datum read and the first written.
        power_up: Clocks of quiet before the first command.
        refresh: Clocks from one refresh to the next, on average at most.
    """

    cl: int
    rcd: int
    rp: int
    ras: int
    rc: int
    rrd: int
    rfc: int
    wr: int
    mrd: int
    turn: int = 1
    power_up: int
    refresh: int

    @property
    def read_to_precharge(self) -> int:
        """Read to precharge, of one bank: the burst is whole, and tRAS and tRC are kept too.

        A bank is activated for an access, so a column command always comes between. What follows
        from tRAS and tRC can then be had by waiting behind it alone.
        """
        return max(BURST, self.ras - self.rcd, self.rc - self.rp - self.rcd)

    @property
    def write_to_precharge(self) -> int:
        """The same behind a write."""
        return max(self.read_to_precharge, BURST - 1 + self.wr)

    @property
    def read_to_write(self) -> int:
        """Read command to write command."""
        return self.cl + BURST + self.turn


@dataclass(frozen=True, kw_only=True)
class SdramChip:
    """One chip of four banks and 16 data bits. Times are in ns unless their name says else.

    Attributes:
        name: As ordered, with its speed grade.
        source: The data sheet.
        row_bits, column_bits: Of an address; a column holds `data_bits`.
        cl2_mhz, cl3_mhz: The fastest clock at that CAS latency.
        rcd, rp, ras, rc, rrd, rfc, wr, mrd: See `Timings`.
        least_wr, least_rrd, least_mrd: In clocks, where the sheet says so.
        ac2, ac3: Clock to valid data, at that CAS latency.
        oh: How long data stay valid behind the clock's next edge.
        power_up_us: Quiet before the first command, in microseconds.
        refresh_ms: Time in which every row is refreshed, in milliseconds.
        refreshes: Refreshes before the mode register is set.
    """

    name: str
    source: str
    row_bits: int
    column_bits: int
    cl2_mhz: float
    cl3_mhz: float
    rcd: float
    rp: float
    ras: float
    rc: float
    rrd: float
    rfc: float
    wr: float
    mrd: float = 0
    least_wr: int = 2
    least_rrd: int = 2
    least_mrd: int = 2
    ac2: float
    ac3: float
    oh: float
    power_up_us: float
    refresh_ms: float = 64
    refreshes: int = 8
    banks: int = 4
    data_bits: int = 16

    def __post_init__(self):
        if self.banks != 4:
            raise ValueError(f"banks = {self.banks}: must be 4")
        if self.data_bits != 16:
            raise ValueError(f"data_bits = {self.data_bits}: must be 16")
        if not 11 <= self.row_bits <= 16:
            raise ValueError(f"row_bits = {self.row_bits}: must be 11 to 16")
        if not 8 <= self.column_bits <= 10:
            raise ValueError(f"column_bits = {self.column_bits}: must be 8 to 10")

    @property
    def capacity(self) -> int:
        """Bytes."""
        return self.banks * self.data_bits // 8 << (self.row_bits + self.column_bits)

    @property
    def page_bytes(self) -> int:
        """Bytes of a row of one bank."""
        return self.data_bits // 8 << self.column_bits

    def timings(self, mhz: float) -> Timings:
        """The timings at a clock, with the lower CAS latency that it allows.

        Raises ValueError for a clock that the chip does not have, or at which its rows could not
        be kept.
        """
        if not 0 < mhz <= self.cl3_mhz:
            raise ValueError(f"mhz = {mhz}: {self.name} has up to {self.cl3_mhz}")

        def clocks(time: float, least: int = 1) -> int:
            # Sheets round clocks to a tenth of a ns (133 MHz is 7.5 ns): a thousandth is allowed.
            return max(least, math.ceil(time * mhz / 1000 - 1e-3))

        refresh = math.floor(self.refresh_ms * 1000 * mhz / (1 << self.row_bits))
        if refresh < 100:
            raise ValueError(f"mhz = {mhz}: {self.name} would do little but refresh")
        return Timings(
            cl=2 if mhz <= self.cl2_mhz else 3,
            rcd=clocks(self.rcd),
            rp=clocks(self.rp),
            ras=clocks(self.ras),
            rc=clocks(self.rc),
            rrd=clocks(self.rrd, self.least_rrd),
            rfc=clocks(self.rfc),
            wr=clocks(self.wr, self.least_wr),
            mrd=clocks(self.mrd, self.least_mrd),
            power_up=clocks(self.power_up_us * 1000),
            refresh=refresh,
        )


CHIPS: dict[str, SdramChip] = {
    chip.name: chip
    for chip in (
        SdramChip(
            name="MT48LC16M16A2-7E",
            source="Micron, 256Mb x4, x8, x16 SDRAM (MT48LC16M16A2)",
            row_bits=13,
            column_bits=9,
            cl2_mhz=133.4,
            cl3_mhz=143,
            rcd=15,
            rp=15,
            ras=37,
            rc=60,
            rrd=14,
            rfc=66,
            wr=14,
            ac2=5.4,
            ac3=5.4,
            oh=2.7,
            power_up_us=100,
        ),
        SdramChip(
            name="W9825G6KH-6",
            source="Winbond, W9825G6KH 4M x 4 banks x 16 bits SDRAM",
            row_bits=13,
            column_bits=9,
            cl2_mhz=133.4,
            cl3_mhz=166.7,
            rcd=15,
            rp=15,
            ras=42,
            rc=60,
            rrd=0,  # stated in clocks, as tWR and tRSC (here mrd) are
            rfc=60,  # tRC, which is said to be from refresh too
            wr=0,
            ac2=6,
            ac3=5,
            oh=3,
            power_up_us=200,
        ),
        SdramChip(
            name="AS4C32M16SB-7",
            source="Alliance Memory, AS4C32M16SB 512Mb SDRAM, rev. 1.0, table 16",
            row_bits=13,
            column_bits=10,
            cl2_mhz=100,
            cl3_mhz=143,
            rcd=21,
            rp=21,
            ras=42,
            rc=63,
            rrd=14,
            rfc=63,
            wr=14,
            mrd=14,
            ac2=6,
            ac3=5.4,
            oh=2.5,
            power_up_us=200,
        ),
        SdramChip(
            name="IS42S16160G-7",
            source="ISSI, IS42S16160G 256Mb synchronous DRAM",
            row_bits=13,
            column_bits=9,
            cl2_mhz=133.4,
            cl3_mhz=143,
            rcd=15,
            rp=15,
            ras=37,
            rc=60,
            rrd=14,
            rfc=60,
            wr=14,
            mrd=14,
            ac2=5.4,
            ac3=5.4,
            oh=2.7,
            power_up_us=200,
        ),
    )
}
"""By name."""
