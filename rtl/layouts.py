# SPDX-FileCopyrightText: castbag contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Payloads of the streams between units: each declared once, a line a field."""

from amaranth.lib import data

from .config import EngineConfig

SLOTS = 8
"""Accumulators of the reduction: as many as its adders' loop has cycles, see `reduce`."""

SLOT_BITS = 3

REQUEST_BITS = 9
"""Width of a request's beat count, 1 to 256: a vector of the largest row."""


class PairLayout(data.StructLayout):
    """A lookup as the batch states it; or, where `valid` is 0, an empty bag's only item."""

    def __init__(self, config: EngineConfig):
        super().__init__(
            {
                "row": config.index_bits,  # table row
                "bag": config.bag_bits,  # output vector
                "ordinal": config.ordinal_bits,  # position among the valid lookups
                "valid": 1,  # 0: the bag has no valid lookup, row and ordinal mean nothing
                "first": 1,  # first item of its bag
                "last": 1,  # last item of its bag
                "end": 1,  # last item of the batch
            }
        )


class SortPairLayout(data.StructLayout):
    """What is sorted: key and payload of a valid lookup."""

    def __init__(self, config: EngineConfig):
        super().__init__(
            {
                "row": config.index_bits,  # the key
                "source": config.source_bits,  # bag, or ordinal for `expand-coalesce`
                "end": 1,  # last pair of the run
            }
        )


class CastedLayout(data.StructLayout):
    """A lookup of the casted gather-reduce."""

    def __init__(self, config: EngineConfig):
        super().__init__(
            {
                "source": config.source_bits,  # casted source: vector to gather
                "row": config.index_bits,  # the table row that the segment belongs to
                "segment": config.ordinal_bits,  # casted destination: row boundaries so far
                "first": 1,  # first lookup of its row
                "last": 1,  # last lookup of its row
                "end": 1,  # last lookup of the batch
            }
        )


class LookupLayout(data.StructLayout):
    """A lookup of the generic path: gather vector `source`, add it to the sum for `target`."""

    def __init__(self, config: EngineConfig):
        super().__init__(
            {
                "source": config.vector_index_bits,  # index in the source table
                "target": config.vector_index_bits,  # index of the segment's sum in the sink
                "valid": 1,  # 0: nothing is gathered, the vector is +0.0
                "again": 1,  # the vector is the one gathered before, not read anew
                "first": 1,  # first lookup of its segment
                "last": 1,  # last lookup of its segment
            }
        )


class SlottedLookupLayout(data.StructLayout):
    """A lookup that the interleaver has given an accumulator."""

    def __init__(self, config: EngineConfig):
        super().__init__(
            {
                "lookup": LookupLayout(config),
                "slot": SLOT_BITS,  # accumulator of its segment
            }
        )


class TermLayout(data.StructLayout):
    """One word of a gathered vector, on its way into a sum."""

    def __init__(self, config: EngineConfig):
        super().__init__(
            {
                "data": config.bus_bits,  # `lanes` binary32 elements, the lowest column lowest
                "target": config.vector_index_bits,  # index of the sum in the sink
                "slot": SLOT_BITS,  # accumulator
                "word": range(config.max_words),  # position in the vector
                "end": 1,  # last word of the vector
                "first": 1,  # of the segment's first lookup
                "last": 1,  # of the segment's last lookup
            }
        )


class VectorWordLayout(data.StructLayout):
    """One word of a finished vector."""

    def __init__(self, config: EngineConfig):
        super().__init__(
            {
                "data": config.bus_bits,  # `lanes` binary32 elements, the lowest column lowest
                "target": config.vector_index_bits,  # index of the vector in its table
                "end": 1,  # last word of the vector
            }
        )


class RequestLayout(data.StructLayout):
    """Consecutive beats to read or to write; the address lies on a beat."""

    def __init__(self, config: EngineConfig):
        super().__init__({"address": config.address_bits, "beats": REQUEST_BITS})


class WriteBeatLayout(data.StructLayout):
    """One beat to write."""

    def __init__(self, config: EngineConfig):
        super().__init__({"data": config.bus_bits, "strobe": config.bus_bytes})
