# SPDX-FileCopyrightText: castbag contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Bench of the SDRAM controller on its chip: contents, order, errors, phases, rules, refresh.

The model of all contents is a byte array of the chip's size.
"""

import itertools
import json
import logging
import random
from pathlib import Path

import cocotb
from cocotbext.axi import AxiBus, AxiMaster

from castbag.rtl.axi import DECERR, OKAY
from castbag.sim.bench import STALLS, Bench, parameters
from castbag.sim.sdram import SDRAM_RULES

from .axi_managers import WORD, Burst, Manager

GIVEN = parameters()
CONSTANTS = GIVEN["constants"]
PAGE = 4096
ROW_BYTES = 2 << CONSTANTS["COLUMN_BITS"]
SIZE = 4 * ROW_BYTES << CONSTANTS["ROW_BITS"]
UP = CONSTANTS["POWER_UP"] + 3 * CONSTANTS["REFRESH"] + 500  # cycles until it is ready
SHORT = GIVEN.get("short", False)  # on the slow simulator
EACH = list(itertools.product(STALLS, STALLS))
STALLED = EACH if GIVEN.get("each") else [("never", "never"), ("half", "bursts")]


async def start(dut, *, ready: bool = True, phase: int | None = None) -> Bench:
    dut.phase.value = GIVEN.get("phase", 1) if phase is None else phase
    dut.again.value = 1
    dut.poke.value = 0
    dut.word.value = 0
    dut.bytes.value = SIZE
    for channel in ("ar", "aw", "w"):
        getattr(dut, f"s_axi_{channel}valid").value = 0
    bench = Bench(dut)
    await bench.reset()
    if ready:
        await bench.until(lambda: dut.ready.value == 1, limit=UP)
    return bench


def check_rules(dut, expected: int = 0) -> None:
    rule = int(dut.broken.value)
    assert rule == expected, f"{SDRAM_RULES.get(rule)} at clock {int(dut.broken_clock.value)}"


def windows(rng: random.Random, count: int) -> list[int]:
    """4 KiB each: the first and the last, and others of which some share banks."""
    some = {0, SIZE - PAGE, 4 * ROW_BYTES // PAGE * PAGE or PAGE}
    while len(some) < count:
        some.add(rng.randrange(SIZE // PAGE) * PAGE)
    return sorted(some)


def random_burst(rng: random.Random, page: int) -> tuple[int, int]:
    """Address and words, within a page."""
    words = rng.choice((1, 2, 3, 8, 16, rng.randint(1, 64)))
    return page + rng.randrange(PAGE // WORD - words + 1) * WORD, words


def written(content: bytearray, burst: Burst) -> None:
    for k, strobe in enumerate(burst.strobes):
        for lane in range(WORD):
            if strobe >> lane & 1:
                content[burst.address + k * WORD + lane] = burst.data[k * WORD + lane]


def right(content: bytearray, burst: Burst) -> bool:
    expected = bytes(content[burst.address : burst.address + burst.words * WORD])
    return burst.data == expected and burst.response == OKAY and not burst.wrong


async def fill(manager: Manager, content: bytearray, pages) -> None:
    """Write whole pages, in bursts of 256 beats."""
    for page, half in itertools.product(pages, (0, PAGE // 2)):
        at = page + half
        data = manager.bench.rng.randbytes(PAGE // 2)
        content[at : at + PAGE // 2] = data
        manager.write(at, data)
    await manager.finish()


@cocotb.test
@cocotb.parametrize(stalls=STALLED)
async def reads_what_was_written(dut, stalls):
    """Reads of some pages while others are written, the ways changing, strobes of all kinds."""
    idle, stall = stalls
    bench = await start(dut)
    rng, content = bench.rng, bytearray(SIZE)
    manager = Manager(bench, idle=idle, stall=stall)
    pages = windows(rng, 4)
    await fill(manager, content, pages)
    for _ in range(2 if SHORT else 4):
        rng.shuffle(pages)
        half = len(pages) // 2
        reads, writes = [], []
        for _ in range(6 if SHORT else 10):
            at, words = random_burst(rng, rng.choice(pages[:half]))
            reads.append(manager.read(at, words, id=rng.randrange(2)))
            at, words = random_burst(rng, rng.choice(pages[half:]))
            strobes = [rng.choice((0xFF, 0, rng.randrange(256))) for _ in range(words)]
            writes.append(
                manager.write(at, rng.randbytes(words * WORD), strobes, id=rng.randrange(2))
            )
        await manager.finish()
        assert all(right(content, burst) for burst in reads)
        for burst in writes:
            assert burst.response == OKAY and not burst.wrong
            written(content, burst)
    whole = [manager.read(page + half, 256) for page in pages for half in (0, PAGE // 2)]
    await manager.finish()
    assert all(right(content, burst) for burst in whole)
    check_rules(dut)


@cocotb.test
@cocotb.parametrize(stall=["never"] if SHORT else ["never", "half", "bursts"])
async def serves_a_manager_that_is_not_ours(dut, stall):
    bench = await start(dut)
    logging.getLogger(f"cocotb.{dut._name}").setLevel(logging.WARNING)
    axi = AxiMaster(AxiBus.from_prefix(dut, "s_axi"), dut.clk)
    rng, span = bench.rng, 3 * PAGE
    first = SIZE - span
    content = bytearray(rng.randbytes(span))
    await axi.write(first, bytes(content))
    for channel in (
        *(axi.write_if.aw_channel, axi.write_if.w_channel, axi.write_if.b_channel),
        *(axi.read_if.ar_channel, axi.read_if.r_channel),
    ):
        channel.set_pause_generator(STALLS[stall](random.Random(rng.random())))
    for _ in range(2 if SHORT else 6):
        part = span // 4
        jobs = []
        for k in range(4):  # at once, each in a part of its own, of any first byte and length
            at = k * part + rng.randrange(part)
            data = rng.randbytes(rng.randint(1, min((k + 1) * part - at, 600)))
            content[at : at + len(data)] = data
            jobs.append(cocotb.start_soon(axi.write(first + at, data)))
        for job in jobs:
            await job
        at = rng.randrange(span - 600)
        assert (await axi.read(first + at, 600)).data == content[at : at + 600]
    assert (await axi.read(first, span)).data == content
    check_rules(dut)


@cocotb.test
async def lies_where_the_address_map_says(dut):
    """Columns lowest, above them banks, then rows; the chip's cells are numbered otherwise."""
    bench = await start(dut)
    manager, rng = Manager(bench), bench.rng
    words = {0, SIZE // WORD - 1, *(1 << k for k in range((SIZE // WORD).bit_length() - 1))}
    columns = ROW_BYTES // WORD
    for number in words:
        manager.write(number * WORD, (0x0123456789 * (number + 1)).to_bytes(WORD, "little"))
    await manager.finish()
    await bench.step(100)
    for number in sorted(words, key=lambda n: rng.random()):
        above, column = divmod(number, columns)
        row, bank = divmod(above, 4)
        dut.word.value = (row * 4 + bank) * columns + column
        await bench.step(2)
        assert int(dut.peek_data.value) == 0x0123456789 * (number + 1), f"word {number:#x}"
    check_rules(dut)


@cocotb.test
@cocotb.parametrize(stall=["never", "half"])
async def answers_decerr_behind_the_end(dut, stall):
    """Each beat of it, in its turn, and nothing is touched."""
    bench = await start(dut)
    manager, rng, content = Manager(bench, stall=stall), bench.rng, bytearray(SIZE)
    pages = [0, SIZE - PAGE]
    await fill(manager, content, pages)
    last = SIZE - WORD
    outside = [(SIZE, 1), (SIZE, 256), (2 * SIZE, 3), ((1 << 32) - PAGE, 16), (last, 2)]
    for round_ in range(2):
        bad, good = [], []
        for address, words in outside:
            reads = manager.read(address, words, id=1)
            writes = manager.write(address, rng.randbytes(words * WORD), id=1)
            bad += [reads, writes]
            good += [manager.read(last, 1), manager.read(8 * round_, 20)]
        await manager.finish()
        assert all(burst.response == DECERR and not burst.wrong for burst in bad)
        assert all(right(content, burst) for burst in good)
    whole = [manager.read(page + half, 256) for page in pages for half in (0, PAGE // 2)]
    await manager.finish()
    assert all(right(content, burst) for burst in whole)
    check_rules(dut)


@cocotb.test
async def waits_until_the_chip_is_up(dut):
    bench = await start(dut, ready=False)
    manager, before = Manager(bench), int(dut.refreshes.value)
    manager.write(64, bytes(range(64)))
    for _ in range(CONSTANTS["POWER_UP"]):
        await bench.step()
        assert dut.ready.value == 0
        assert int(dut.refreshes.value) == before
    await bench.until(lambda: dut.ready.value == 1, limit=UP)
    assert int(dut.refreshes.value) == before + CONSTANTS["REFRESHES"]
    await manager.finish(limit=200)
    burst = manager.read(64, 8)
    await manager.finish(limit=200)
    assert burst.data == bytes(range(64))
    check_rules(dut)


@cocotb.test
async def answers_within_its_latency(dut):
    bench = await start(dut)
    manager, taken = Manager(bench), []
    for k in range(8):
        burst = manager.read(8 * k, 1)
        await manager.finish()
        taken.append(burst.finished - manager.taken["ar"][-1])
    # The first finds its bank closed, and one at most a refresh.
    assert sorted(taken)[:6] == [GIVEN["latency"]] * 6, taken


@cocotb.test
async def copies_by_a_manager_that_holds_little(dut):
    """It gives the beats of a write only as those of a read come, all of one burst each way."""
    bench = await start(dut)
    manager, content = Manager(bench, idle="mostly", stall="mostly"), bytearray(SIZE)
    await fill(manager, content, [0, PAGE])
    manager.may_give = 20  # so that the write begins, and stands still
    manager.write(PAGE, bytes(256 * WORD))
    await bench.step(60)
    burst = manager.read(0, 256)
    given = 0
    for _ in range(20_000):
        await bench.step()
        manager.may_give += burst.beats - given
        given = burst.beats
        if manager.idle:
            break
    assert manager.idle
    assert right(content, burst)
    check_rules(dut)


@cocotb.test
async def forgets_what_a_reset_met(dut):
    bench = await start(dut)
    rng = bench.rng
    for _ in range(2 if SHORT else 8):
        manager, content = Manager(bench), bytearray(SIZE)
        await fill(manager, content, [0])
        for _ in range(4):
            manager.read(*random_burst(rng, 0))
            manager.write(PAGE, rng.randbytes(16 * WORD))
        await bench.step(rng.randint(10, 200))
        bench._parts.remove(manager)
        for channel in ("ar", "aw", "w"):
            getattr(dut, f"s_axi_{channel}valid").value = 0
        await bench.reset()
        assert dut.ready.value == 0
        await bench.until(lambda: dut.ready.value == 1, limit=UP)
        assert dut.s_axi_rvalid.value == 0 and dut.s_axi_bvalid.value == 0
        manager = Manager(bench)
        whole = [manager.read(half, 256) for half in (0, PAGE // 2)]
        await manager.finish()
        assert all(right(content, burst) for burst in whole)  # rows outlast it
        bench._parts.remove(manager)
    check_rules(dut)


@cocotb.test
async def samples_in_its_phase_alone(dut):
    """In each other phase the same words are noise, or another transfer's."""
    fitting = GIVEN.get("phase", 1)
    bench = await start(dut)
    manager, content = Manager(bench), bytearray(SIZE)
    await fill(manager, content, [0])
    found = []
    for phase in (*range(16), fitting):
        dut.phase.value = phase
        await bench.step(20)
        burst = manager.read(256, 16)
        await manager.finish()
        await bench.step(20)
        if right(content, burst):
            found.append(phase)
    assert found == [fitting, fitting]
    check_rules(dut)


@cocotb.test
async def refreshes_under_load(dut):
    """As often as need be whatever is asked, and not more often; late by a few accesses."""
    bench = await start(dut)
    manager, interval = Manager(bench), CONSTANTS["REFRESH"]
    pages = windows(bench.rng, 3)
    await fill(manager, bytearray(SIZE), pages)
    before, first = int(dut.refreshes.value), bench.cycle
    seen, count = [], before
    while bench.cycle - first < (4 if SHORT else 30) * interval:
        if len(manager.to_read) < 4:
            manager.read(bench.rng.choice(pages) + bench.rng.randrange(PAGE // WORD) * WORD, 1)
        if len(manager.to_write) < 4:
            manager.write(bench.rng.choice(pages), bytes(16 * WORD))
        await bench.step()
        if int(dut.refreshes.value) != count:
            count = int(dut.refreshes.value)
            seen.append(bench.cycle)
    distances = [b - a for a, b in itertools.pairwise(seen)]
    assert all(abs(distance - interval) < 80 for distance in distances), distances
    assert abs((seen[-1] - seen[0]) / (len(seen) - 1) - interval) < 80 / (len(seen) - 1)
    check_rules(dut)


@cocotb.test
async def breaks_rules(dut):
    """Under a load of all kinds; `broken.json` tells which. For controllers that are too hasty."""
    bench = await start(dut, ready=False)
    manager, rng = Manager(bench), bench.rng
    limit = UP + GIVEN.get("cycles", 4000)
    places = [number * ROW_BYTES for number in range(8)]  # two rows of each bank

    def some() -> tuple[int, int]:
        return rng.choice(places), rng.choice((1, 2, 8, 16))

    for place in places:
        manager.write(place, bytes(16 * WORD))
    while bench.cycle < limit and int(dut.broken.value) == 0:
        if not manager.to_write and not manager.writing and len(manager.to_read) < 4:
            manager.read(*some())
        if len(manager.to_write) < 2 and rng.random() < 0.2:
            at, words = some()
            manager.write(at, bytes(words * WORD))
        if len(manager.to_read) < 2 and len(manager.taken["b"]) > len(places):
            manager.read(*some())
        await bench.step(10)
    Path("broken.json").write_text(json.dumps(int(dut.broken.value)))
