# SPDX-FileCopyrightText: castbag contributors
# SPDX-License-Identifier: BSD-2-Clause
"""What sorting takes of an ECP5's block RAM, DP16KD, from the configuration alone.

A memory of `depth` words of `width` bits takes, in the mode that suits it best,

    min(ceil(depth / words) * ceil(width / bits) for words, bits in MODES)

`boards/budget.json` has what yosys makes of it; a test holds the two together.
"""

from amaranth.hdl import Fragment

from .config import EngineConfig
from .queue import LUT_RAM_DEPTH
from .sort.merge import SubRunLayout
from .sort.run_sorter import RunSorter

MODES = ((512, 36), (1024, 18), (2048, 9), (4096, 4), (8192, 2), (16384, 1))
"""(words, bits of a word) that a DP16KD can be, with a port to write and one to read."""


def block_rams(*, depth: int, width: int) -> int:
    """DP16KD of a memory; 0 if it lies in LUT RAM."""
    if depth <= LUT_RAM_DEPTH:
        return 0
    return min(-(-depth // words) * -(-width // bits) for words, bits in MODES)


def sorter_block_rams(config: EngineConfig) -> int:
    """DP16KD of the `RunSorter`: the queues of its stages."""
    width = SubRunLayout(config).size
    sorter = RunSorter(config)
    Fragment.get(sorter, None)  # or Amaranth would remark that it was made for nothing
    queues = [queue for stage in sorter.stages for queue in (*stage._a, *stage._b)]
    return sum(block_rams(depth=queue.depth, width=width) for queue in queues)


def way_block_rams(config: EngineConfig) -> int:
    """DP16KD of the buffers of the runs that are merged, and of the queue of what is free there."""
    ways, pairs = config.merge_ways, config.way_pairs
    buffers = block_rams(depth=ways * pairs, width=config.index_bits + config.source_bits)
    chunks = ways * pairs // config.packing.chunk_pairs
    return buffers + block_rams(depth=chunks, width=(ways - 1).bit_length())
