# SPDX-FileCopyrightText: castbag contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Bench of the memory test: memories with faults, and what it must find in each.

What it finds is that of a model in Python, which writes and reads a memory with the same fault.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace

import cocotb

from castbag.rtl.axi import DECERR, OKAY, SLVERR
from castbag.rtl.config import preset
from castbag.rtl.soc.memory_test import BURST_WORDS, PASSES, SEED, UNIT_BYTES
from castbag.sim.bench import Bench, parameters

from .axi_memory import ReadMemory, WriteMemory

GIVEN = parameters()
SIZE, PHASES, FIRST = GIVEN["memory_bytes"], GIVEN["phases"], GIVEN["phase"]
SHORT = GIVEN.get("short", False)
BRIEF = SHORT or PHASES > 0  # phases take their time, and the rest is the same without
CONFIG = replace(preset("tiny"), burst_beats=16)
WORD = 8
BEATS = 2 * len(PASSES)
"""Of a word."""

OVERHEAD = 30
"""Cycles of a pass, besides its beats: answers that are awaited, and its steps."""


def same(bits: int) -> int:
    return bits


@dataclass(frozen=True)
class Fault:
    """What a memory does to addresses of words, to strobes as written, to words as read."""

    address: Callable[[int], int] = same
    strobe: Callable[[int], int] = same
    word: Callable[[int], int] = same


class Cells:
    """A memory with a fault: bytes are written, words are read."""

    def __init__(self, content: bytes, fault: Fault):
        self.content, self.fault = bytearray(content), fault

    def __setitem__(self, at: int, byte: int) -> None:
        self.content[self.fault.address(at) % SIZE] = byte

    def __getitem__(self, span: slice) -> bytes:
        at = self.fault.address(span.start) % SIZE
        word = int.from_bytes(self.content[at : at + WORD], "little")
        return self.fault.word(word).to_bytes(WORD, "little")


class StrobedMemory(WriteMemory):
    """One whose strobes may be at fault."""

    def _write(self, burst, beat) -> None:
        strobe = self.content.fault.strobe(beat["strb"])
        super()._write(burst, {**beat, "strb": strobe})


class MemoryTestBench(Bench):
    """The test on a memory of `SIZE` bytes with a fault; what is read in a wrong phase is noise."""

    def __init__(self, dut, fault: Fault = Fault(), *, phases=range(16), stall="never", latency=5):
        super().__init__(dut)
        dut.start.value = 0
        dut.size.value = 0
        self.content = self.rng.randbytes(SIZE)
        self.phases = set(phases)
        self.fault = fault
        self.cells = Cells(self.content, replace(fault, word=self._word))
        ways = {"latency": latency, "address_stall": stall, "data_stall": stall}
        self.memory_read = ReadMemory(self, CONFIG, self.cells, bus="read", **ways)
        self.memory_write = StrobedMemory(
            self,
            CONFIG,
            self.cells,
            bus="write",
            answer_stall=stall,
            **ways,
        )

    def _word(self, word: int) -> int:
        right = int(self.dut.phase.value) in self.phases
        return self.fault.word(word) if right else self.rng.getrandbits(64)

    def show(self, *names: str) -> list[int]:
        return [int(getattr(self.dut, name).value) for name in names]

    async def start(self, size: int = 0) -> None:
        self.dut.size.value = size
        self.dut.start.value = 1
        await self.step()
        self.dut.start.value = 0
        self.dut.size.value = UNIT_BYTES  # it is looked at once
        await self.step()

    async def finish(self, *, limit: int = 400_000) -> int:
        """The cycles that it takes."""
        return await self.until(lambda: not int(self.dut.running.value), limit=limit)

    async def test(self, size: int = 0) -> int:
        await self.start(size)
        assert self.show("running", "passed", "failed") == [1, 0, 0]
        return await self.finish()


def pattern():
    """The words that are written, in order (xorshift, 13-7-17)."""
    word, mask = SEED, (1 << 64) - 1
    while True:
        yield word
        word ^= word << 13 & mask
        word ^= word >> 7
        word ^= word << 17 & mask


def first_wrong(fault: Fault, content: bytes, size: int, errors=()) -> tuple[int, int, int] | None:
    """Address, expected and read word of what the test of such a memory finds."""
    cells, held = Cells(content, fault), 0  # bits that are the inverse of the pattern
    errors = set(errors)
    for number, strobes in enumerate(PASSES):
        strobed = sum(0xFF << 8 * lane for lane in range(WORD) if strobes >> lane & 1)
        inverted = held | strobed if number else 0
        offered = inverted ^ ((1 << 64) - 1 ^ strobed)  # to masked bytes not what they hold
        for at, word in zip(range(0, size, WORD), pattern(), strict=False):
            data = (word ^ offered).to_bytes(WORD, "little")
            for lane in range(WORD):
                if fault.strobe(strobes) >> lane & 1:
                    cells[at + lane] = data[lane]
        held = inverted
        for at, word in zip(range(0, size, WORD), pattern(), strict=False):
            read, expected = int.from_bytes(cells[at : at + WORD], "little"), word ^ inverted
            if read != expected or at in errors:
                return at, expected, read
    return None


STUCK_BIT = 37
FAULTS: dict[str, Fault] = {
    "a data bit is 0": Fault(word=lambda word: word & ~(1 << STUCK_BIT)),
    "a data bit is 1": Fault(word=lambda word: word | 1 << STUCK_BIT),
    "two data bits are one": Fault(word=lambda word: word & ~2 | (word & 1) << 1),
    "the lowest address bit is 0": Fault(address=lambda at: at & ~WORD),
    "the highest address bit is 1": Fault(address=lambda at: at | SIZE // 2),
    "two address bits are one": Fault(address=lambda at: at & ~0x400 | (at & 0x80) << 3),
    "masks mask nothing": Fault(strobe=lambda strobe: 0xFF),
    "an even byte's mask masks nothing": Fault(strobe=lambda strobe: strobe | 4),
    "an odd byte's mask masks nothing": Fault(strobe=lambda strobe: strobe | 8),
    "an even byte is always masked": Fault(strobe=lambda strobe: strobe & ~4),
    "an odd byte is always masked": Fault(strobe=lambda strobe: strobe & ~8),
    "two bytes' masks are swapped": Fault(
        strobe=lambda strobe: strobe & ~3 | (strobe & 1) << 1 | strobe >> 1 & 1
    ),
}
GOOD, MIDDLE = ({4, 5, 6}, 5) if PHASES else ({FIRST}, FIRST)
"""Phases that are right in most tests, and the one to be chosen."""


def tried(phases) -> int:
    """Cycles of trying phases, at the most."""
    right = len([phase for phase in range(PHASES) if phase in phases])
    beats = UNIT_BYTES // WORD
    return right * (BEATS * beats + 3 * OVERHEAD) + (PHASES - right) * (2 * beats + OVERHEAD)


@cocotb.test
@cocotb.parametrize(stall=["never", "bursts"] if BRIEF else ["never", "half", "mostly", "bursts"])
async def passes_what_is_right(dut, stall):
    size = UNIT_BYTES if SHORT or stall != "never" else SIZE
    bench = MemoryTestBench(dut, phases=GOOD, stall=stall)
    await bench.reset()
    assert bench.show("running", "passed", "failed", "phase") == [0, 0, 0, FIRST]
    cycles = await bench.test(size)
    assert bench.show("passed", "failed", "none_right") == [1, 0, 0]
    assert bench.show("phase") == [MIDDLE]
    words = [word ^ (1 << 64) - 1 for word, _ in zip(pattern(), range(size // WORD), strict=False)]
    expected = b"".join(word.to_bytes(WORD, "little") for word in words)
    assert bench.cells.content == expected + bench.content[size:]
    if stall == "never":
        least = BEATS * size // WORD
        most = least + 3 * OVERHEAD + tried(GOOD)
        assert least <= cycles <= most


@cocotb.test(skip=SHORT and PHASES > 0)
@cocotb.parametrize(fault=list(FAULTS)[:: 7 if SHORT else 4 if BRIEF else 1])
async def finds_the_first_wrong_word(dut, fault):
    bench = MemoryTestBench(dut, FAULTS[fault], phases=GOOD)
    expected = first_wrong(FAULTS[fault], bench.content, SIZE)
    assert expected is not None
    await bench.reset()
    await bench.test()
    assert bench.show("passed", "failed") == [0, 1]
    # A fault in the first bytes has every phase wrong: the last one's noise is what was found.
    if PHASES and first_wrong(FAULTS[fault], bench.content, UNIT_BYTES):
        assert bench.show("none_right") == [1]
    else:
        assert bench.show("none_right") == [0]
        assert tuple(bench.show("address", "expected", "got")) == expected
    bench.cells.fault = replace(Fault(), word=bench._word)
    bench.fault = Fault()
    await bench.test(UNIT_BYTES)
    assert bench.show("passed", "failed") == [1, 0]


@cocotb.test(skip=SHORT and PHASES > 0)
@cocotb.parametrize(
    (("response", "word"), [(SLVERR, UNIT_BYTES), (DECERR, SIZE - WORD), (SLVERR, 0)][: 3 - BRIEF])
)
async def counts_an_error_as_wrong(dut, response, word):
    """And of several it keeps the first."""
    bench = MemoryTestBench(dut, phases=GOOD)
    await bench.reset()
    bench.memory_read.responses = dict.fromkeys((word, SIZE - WORD), response)
    await bench.test()
    assert bench.show("passed", "failed") == [0, 1]
    found = tuple(bench.show("address", "expected", "got"))
    assert found == first_wrong(Fault(), bench.content, SIZE, [word])
    bench.memory_read.responses = {word: OKAY}
    await bench.test(UNIT_BYTES)
    assert bench.show("passed", "failed") == [1, 0]


SIZES = {
    0: SIZE,
    1: SIZE,  # rounded down to 0
    UNIT_BYTES: UNIT_BYTES,
    2 * UNIT_BYTES - 1: UNIT_BYTES,
    SIZE - 1: SIZE - UNIT_BYTES,
    SIZE: SIZE,
    SIZE + UNIT_BYTES: SIZE,
    (1 << 32) - 1: SIZE,
}
"""What is tested, by what is asked for."""

BURST = BURST_WORDS * WORD
BEGUN = (len(PASSES) + PHASES - 1) * UNIT_BYTES // BURST if PHASES else 0
"""Bursts each way that try phases, of which one is right."""


@cocotb.test(skip=SHORT and PHASES > 0)
@cocotb.parametrize(asked=[0, UNIT_BYTES, (1 << 32) - 1] if BRIEF else list(SIZES))
async def tests_as_much_as_it_is_asked_to(dut, asked):
    bench = MemoryTestBench(dut, phases={FIRST})
    await bench.reset()
    await bench.test(asked)
    assert bench.show("passed") == [1]
    tested = SIZES[asked]
    writes = [burst.address for burst in bench.memory_write.bursts[BEGUN:]]
    reads = [burst.address for burst in bench.memory_read.bursts[BEGUN:]]
    assert writes == reads == list(range(0, tested, BURST)) * len(PASSES)
    assert bench.cells.content[tested:] == bench.content[tested:]


@cocotb.test(skip=SHORT and PHASES > 0)
async def loses_a_start_while_it_runs(dut):
    bench = MemoryTestBench(dut, phases={FIRST})
    await bench.reset()
    await bench.start(2 * UNIT_BYTES)
    for _ in range(20):
        await bench.step(bench.rng.randint(1, 300))
        assert bench.show("running") == [1]
        await bench.start(UNIT_BYTES)
    await bench.finish()
    await bench.step(50)
    assert bench.show("running", "passed") == [0, 1]
    assert len(bench.memory_read.bursts) == BEGUN + len(PASSES) * 2 * UNIT_BYTES // BURST


RIGHT = {
    # right phases: the least and the most of the first run
    (): None,
    (0,): (0, 0),
    (7,): (7, 7),
    (15,): (15, 15),
    (3, 4, 5, 9): (3, 5),
    (0, 4, 5, 6): (0, 0),
    (6, 7, 8, 9): (6, 9),
    (1, 14, 15): (1, 1),
    tuple(range(16)): (0, 15),
}


@cocotb.test(skip=PHASES != 16)
@cocotb.parametrize(right=[(3, 4, 5, 9)] if SHORT else list(RIGHT))
async def takes_the_middle_of_the_first_run_of_phases(dut, right):
    bench = MemoryTestBench(dut, phases=right)
    await bench.reset()
    cycles = await bench.test(UNIT_BYTES)
    if RIGHT[right] is None:
        assert bench.show("passed", "failed", "none_right") == [0, 1, 1]
        assert cycles <= tried(right)
    else:
        least, most = RIGHT[right]
        assert bench.show("passed", "failed", "none_right") == [1, 0, 0]
        assert bench.show("least", "most", "phase") == [least, most, (least + most) // 2]
        assert cycles <= tried(right) + BEATS * UNIT_BYTES // WORD + 3 * OVERHEAD
    if len(right) in (0, 3):  # and the next test finds its own
        bench.phases = {2, 3}
        await bench.test(UNIT_BYTES)
        assert bench.show("passed", "none_right", "least", "most", "phase") == [1, 0, 2, 3, 2]
