# SPDX-FileCopyrightText: castbag contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Bench of the command reader: what it takes from descriptors, and what it refuses, where."""

import cocotb

from castbag.rtl.config import preset
from castbag.rtl.control.command import ADDRESSES, CommandLayout
from castbag.rtl.control.map import (
    DESCRIPTOR,
    DESCRIPTOR_WORDS,
    Dataflow,
    Error,
    encode_descriptor,
    field,
)
from castbag.sim.bench import Bench, Codec

CONFIG = preset("tiny")
MOST_ROWS, MOST_BAGS = 1 << CONFIG.index_bits, 1 << CONFIG.bag_bits
TOP = 1 << CONFIG.address_bits
BEAT = CONFIG.bus_bytes
RUN, WAYS, RUN_BYTES = 64, 4, 256
"""Of `tiny`: pairs of a run, runs merged at a time, bytes of a run (pairs of 4 bytes)."""

SCRATCH = [
    # (lookups, the bytes that they need)
    (0, 0),
    (1, 0),
    (RUN, 0),
    (RUN + 1, 1 * RUN_BYTES),
    (2 * RUN, 1 * RUN_BYTES),
    (2 * RUN + 1, 2 * RUN_BYTES),
    (WAYS * RUN, 3 * RUN_BYTES),
    (WAYS * RUN + 1, 4 * RUN_BYTES),
    ((WAYS + 1) * RUN, 4 * RUN_BYTES),
    ((WAYS + 1) * RUN + 1, 2 * 5 * RUN_BYTES),  # more than are merged at a time: two halves
    (CONFIG.max_lookups - RUN, 2 * 254 * RUN_BYTES),
    (CONFIG.max_lookups, 2 * 255 * RUN_BYTES),
]

LEGAL = {
    "forward": 1,
    "backward": 1,
    "dataflow": Dataflow.EXPAND_COALESCE,
    "lookups": 40,
    "bags": 7,
    "dim": 5,
    "rows": 100,
    "padding_index": 3,
    "learning_rate": 0x3DCCCCCD,
    **{name: 0x1000 * (k + 1) for k, name in enumerate(ADDRESSES)},
    "scratch_bytes": 0,
}

LIMITS = [
    {},
    {"forward": 0},
    {"backward": 0},
    {"dataflow": Dataflow.CAST, "wide_indices": 1},
    {"dataflow": Dataflow.FUSED, "wide_offsets": 1},
    {"ignore_bounds": 1, "has_padding": 1, "padding_index": 99},
    {"lookups": 0, "bags": 0},
    {"rows": 0},
    {
        "lookups": CONFIG.max_lookups,
        "bags": MOST_BAGS,
        "rows": MOST_ROWS,
        "dim": CONFIG.max_dim,
        "scratch_bytes": SCRATCH[-1][1],
    },
    {"has_padding": 1, "rows": MOST_ROWS, "padding_index": MOST_ROWS - 1},
    {"padding_index": 4321},  # not looked at without has_padding
    {"learning_rate": 0xFFFFFFFF},
    *({"dim": dim} for dim in (1, 2, 3, 63)),
    *({name: 0} for name in ADDRESSES),
]
"""Changes to LEGAL that leave it legal."""

FIELD_FAULTS = [
    ({"forward": 0, "backward": 0}, 0),
    *(({"dataflow": dataflow}, 0) for dataflow in (3, 4, 8, 15)),
    *(({"optimizer": optimizer}, 0) for optimizer in (1, 2, 8, 15)),
    *(({"mode": mode}, 0) for mode in (1, 2, 8, 15)),
    *(
        ({"lookups": CONFIG.max_lookups + more}, 1)
        for more in (1, CONFIG.max_lookups - 1, CONFIG.max_lookups)
    ),
    ({"lookups": 1 << 31}, 1),
    *(({"bags": bags}, 2) for bags in (257, 511, 512, 1 << 31)),
    *(({"dim": dim}, 3) for dim in (0, 65, 127, 128, 1 << 31)),
    *(({"rows": rows}, 4) for rows in (MOST_ROWS + 1, 2 * MOST_ROWS - 1, 2 * MOST_ROWS, 1 << 31)),
    *(({"rows": rows}, 5) for rows in (1 << 32, 1 << 63)),
    *(({"has_padding": 1, "padding_index": row}, 6) for row in (100, MOST_ROWS - 1)),
    ({"has_padding": 1, "padding_index": 0, "rows": 0}, 6),
    *(({"padding_index": row}, 6) for row in (MOST_ROWS, 1 << 31)),
    # Addresses off a beat and beyond any address, of unused buffers too.
    *(
        ({name: 0x1000 + off, "backward": 0}, field(name).word)
        for name in ADDRESSES
        for off in (1, BEAT // 2)
    ),
    *(
        ({name: address, "backward": 0}, field(name).word + 1)
        for name in ADDRESSES
        for address in (TOP, 1 << 63)
    ),
    # Of two faults the one in the lower word.
    ({"bags": 257, "dim": 65}, 2),
    ({"lookups": 1 << 31, "rows": 1 << 63}, 1),
    ({"dataflow": 3, "lookups": 1 << 31}, 0),
    ({"dim": 0, "expanded": 4, "table": TOP - BEAT}, 3),
]
"""(changes to LEGAL, the word that they make wrong)"""


def unused_bits(word: int) -> list[int]:
    """Bits of a descriptor word that no field has."""
    taken: set[int] = set()
    for entry in DESCRIPTOR:
        low = 32 * entry.word + entry.low
        taken |= set(range(low, low + entry.bits))
    return [bit for bit in range(32) if 32 * word + bit not in taken]


def scratch_bytes(lookups: int) -> int:
    """What a command with a backward pass needs."""
    runs = max(0, -(-lookups // RUN) - 1)
    return (2 if runs > WAYS else 1) * runs * RUN_BYTES


def buffers(values: dict) -> dict[str, tuple[int, bool]]:
    """Bytes of each buffer, and whether the command uses it."""
    pitch = -(-values["dim"] // CONFIG.lanes) * BEAT
    entry = {name: 8 if values.get(f"wide_{name}") else 4 for name in ("indices", "offsets")}
    n, backward = values["lookups"], bool(values["backward"])
    kept = backward and values["dataflow"] != Dataflow.FUSED
    copied = backward and values["dataflow"] == Dataflow.EXPAND_COALESCE
    return {
        "indices": (n * entry["indices"], True),
        "offsets": ((values["bags"] + 1) * entry["offsets"], True),
        "table": (values["rows"] * pitch, True),
        "gradient": (values["bags"] * pitch, backward),
        "pooled": (values["bags"] * pitch, bool(values["forward"])),
        "coalesced": (n * pitch, kept),
        "cast_table": (4 * n, kept),
        "unique_rows": (4 * n, kept),
        "expanded": (n * pitch, copied),
        "scratch": (scratch_bytes(n), backward),
    }


class CommandBench(Bench):
    """The reader, with a list reader's words."""

    def __init__(self, dut, *, idle="never"):
        super().__init__(dut)
        self.words = self.source("i", 64, stall=idle)
        dut.start.value = 0

    async def send(self, descriptor: bytes) -> tuple[int, int]:
        """Give a descriptor; (error, position), once it is judged."""
        words = [descriptor[4 * k : 4 * k + 4] for k in range(DESCRIPTOR_WORDS)]
        self.dut.start.value = 1
        await self.step()
        self.dut.start.value = 0
        await self.step()
        # List readers sign-extend: the upper half of a payload means nothing.
        self.words.send_all(int.from_bytes(word, "little", signed=True) % 2**64 for word in words)
        await self.until(lambda: self.verdict != (0, 0) or self.words.idle)
        assert self.verdict == (0, 0), "the last verdict stands, or a new one is early"
        await self.until(lambda: self.verdict != (0, 0), limit=1000)
        verdict = self.verdict
        await self.step(5)
        assert self.verdict == verdict
        return int(self.dut.error.value), int(self.dut.position.value)

    @property
    def verdict(self) -> tuple[int, int]:
        """(done, error)."""
        return int(self.dut.done.value), int(self.dut.error.value)

    async def check_legal(self, values: dict) -> None:
        """The command must hold these values, those left out as 0, and what follows from them."""
        assert (await self.send(encode_descriptor(**values)))[0] == Error.NONE, values
        command = Codec(CommandLayout(CONFIG)).decode(int(self.dut.command.value))
        zeros = dict.fromkeys((entry.name for entry in DESCRIPTOR), 0)
        derived = {
            "words": -(-values["dim"] // CONFIG.lanes),
            "scratch_half": scratch_bytes(values["lookups"]) // 2,
        }
        given = zeros | values | derived
        del given["scratch_bytes"]  # known to be enough, and of no use any more
        assert command == given

    async def check_refused(self, descriptor: bytes, error: Error, word: int) -> None:
        assert await self.send(descriptor) == (error, word)


@cocotb.test
@cocotb.parametrize(idle=["never", "half", "bursts"])
async def takes_legal_commands(dut, idle):
    bench = CommandBench(dut, idle=idle)
    await bench.reset()
    for changes in LIMITS:
        await bench.check_legal(LEGAL | changes)


@cocotb.test
@cocotb.parametrize((("dim", "wide"), [(1, 0), (5, 1), (CONFIG.max_dim, 0)]))
async def judges_after_its_latency(dut, dim, wide):
    bench = CommandBench(dut)
    await bench.reset()
    dut.start.value = 1
    await bench.step()
    dut.start.value = 0
    await bench.step()
    words = encode_descriptor(**(LEGAL | {"dim": dim, "wide_indices": wide}))
    bench.words.send_all(
        int.from_bytes(words[4 * k : 4 * k + 4], "little") for k in range(DESCRIPTOR_WORDS)
    )
    await bench.until(lambda: bench.words.idle)
    cycles = await bench.until(lambda: bench.verdict != (0, 0))
    row = -(-dim // CONFIG.lanes) * BEAT
    index, offset = (8 if wide else 4), 4
    pitches = [index, offset, row, row, row, row, 4, 4, row, RUN_BYTES, RUN_BYTES]
    assert cycles == 6 + sum(2 + pitch.bit_length() for pitch in pitches)


@cocotb.test
async def refuses_illegal_fields(dut):
    bench = CommandBench(dut)
    await bench.reset()
    for changes, word in FIELD_FAULTS:
        await bench.check_refused(encode_descriptor(**(LEGAL | changes)), Error.FIELD, word)
    await bench.check_legal(LEGAL)


@cocotb.test
async def refuses_unused_bits(dut):
    bench = CommandBench(dut)
    await bench.reset()
    for word in range(DESCRIPTOR_WORDS):
        unused = unused_bits(word)
        for bit in {*unused[:1], *unused[len(unused) // 2 :][:1], *unused[-1:]}:
            descriptor = bytearray(encode_descriptor(**LEGAL))
            descriptor[4 * word + bit // 8] |= 1 << bit % 8
            await bench.check_refused(bytes(descriptor), Error.FIELD, word)
    await bench.check_legal(LEGAL)


@cocotb.test
@cocotb.parametrize(
    (
        ("forward", "backward", "dataflow", "wide"),
        [
            (1, 0, Dataflow.FUSED, 0),
            (0, 1, Dataflow.FUSED, 1),
            (0, 1, Dataflow.CAST, 0),
            (0, 1, Dataflow.EXPAND_COALESCE, 0),
            (1, 0, Dataflow.EXPAND_COALESCE, 1),
            (1, 1, Dataflow.CAST, 0),
        ],
    )
)
async def holds_used_buffers_inside_the_address_space(dut, forward, backward, dataflow, wide):
    bench = CommandBench(dut)
    await bench.reset()
    values = LEGAL | {"forward": forward, "backward": backward, "dataflow": dataflow}
    values |= {"wide_indices": wide, "wide_offsets": wide}
    values |= {"lookups": RUN + 1, "scratch_bytes": RUN_BYTES}
    for name, (size, used) in buffers(values).items():
        last = (TOP - size) // BEAT * BEAT
        await bench.check_legal(values | {name: last})
        if used:
            outside = encode_descriptor(**(values | {name: last + BEAT}))
            await bench.check_refused(outside, Error.EXTENT, field(name).word)
        else:
            await bench.check_legal(values | {name: TOP - BEAT})


@cocotb.test
async def an_empty_buffer_fits_anywhere(dut):
    bench = CommandBench(dut)
    await bench.reset()
    empty = LEGAL | {"lookups": 0, "bags": 0, "rows": 0}
    places = dict.fromkeys(ADDRESSES, TOP - BEAT)
    await bench.check_legal(empty | places)


@cocotb.test
async def of_two_buffers_outside_the_first_counts(dut):
    bench = CommandBench(dut)
    await bench.reset()
    values = LEGAL | {"pooled": TOP - BEAT, "expanded": TOP - BEAT}
    await bench.check_refused(encode_descriptor(**values), Error.EXTENT, field("pooled").word)


@cocotb.test
@cocotb.parametrize((("lookups", "needed"), SCRATCH))
async def holds_the_scratch_space_to_what_the_batch_needs(dut, lookups, needed):
    bench = CommandBench(dut)
    await bench.reset()
    values = LEGAL | {"lookups": lookups, "dataflow": Dataflow.FUSED}
    last = {"scratch": TOP - max(needed, BEAT)}
    plenty = (needed + 1, 2 * needed + 3, TOP - 1, TOP, TOP + needed, 1 << 63, (1 << 64) - 1)
    for room in (needed, *plenty):
        await bench.check_legal(values | last | {"scratch_bytes": room})
    alone = {"backward": 0, "scratch": TOP - BEAT}
    await bench.check_legal(values | alone)
    if needed:
        word = field("scratch_bytes").word
        for room in (0, 1, needed // 2, needed - 1):
            descriptor = encode_descriptor(**(values | last | {"scratch_bytes": room}))
            await bench.check_refused(descriptor, Error.SCRATCH, word)
        outside = values | {"scratch": last["scratch"] + BEAT, "scratch_bytes": needed}
        for room in (needed, 0):  # where both are wrong, the address counts
            descriptor = encode_descriptor(**(outside | {"scratch_bytes": room}))
            await bench.check_refused(descriptor, Error.EXTENT, field("scratch").word)
        await bench.check_legal(values | last | {"scratch_bytes": needed})
