# SPDX-FileCopyrightText: castbag contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Slowest: one SdramChip for a board that is sold with several."""

from castbag.rtl.sdram import SdramChip

LONGEST = (
    *("rcd", "rp", "ras", "rc", "rrd", "rfc", "wr", "mrd", "ac2", "ac3", "power_up_us"),
    *("least_wr", "least_rrd", "least_mrd", "refreshes"),
)
"""Of which the longest serves all chips."""

LEAST = ("row_bits", "column_bits", "cl2_mhz", "cl3_mhz", "oh", "refresh_ms")
"""Of which the least does: clocks, and sizes, since a chip may be used in part."""


def slowest(*chips: SdramChip) -> SdramChip:
    """A chip that each of `chips` can stand for: as slow as the slowest, as small as the smallest.

    Of a larger chip just the columns and rows that the smallest has are used; as many rows must be
    refreshed in as much time, so chips of different row counts are refused with a ValueError.
    """
    if not chips:
        raise ValueError("chips: at least one")
    if len({chip.row_bits for chip in chips}) > 1:
        raise ValueError(
            "chips: " + ", ".join(f"{chip.name} has 2**{chip.row_bits} rows" for chip in chips)
        )
    if len(chips) == 1:
        return chips[0]
    return SdramChip(
        name=" or ".join(chip.name for chip in chips),
        source="; ".join(chip.source for chip in chips),
        **{field: max(getattr(chip, field) for chip in chips) for field in LONGEST},
        **{field: min(getattr(chip, field) for chip in chips) for field in LEAST},
    )
