# SPDX-FileCopyrightText: castbag contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Bench of the host link on a bad line: nothing untoward is done, and it gets in step again."""

import cocotb

from .link import DAMAGED, LinkBench, read_block, write_block, written


@cocotb.test
async def words_that_stop_coming_are_dropped(dut):
    bench = LinkBench(dut)
    await bench.reset()
    for fragment in ("01", "01 01 0000", "02 01 000004", "01 02 00000400 00000001 5566"):
        bench.wire.send(bytes.fromhex(fragment))
        await bench.silent(bench.words_silences)
        await bench.works()
        await bench.silent(bench.words_silences)
    assert bench.memory.words[0x1000] == 1 and 0x1004 not in bench.memory.words
    # They may pause for less.
    bench.wire.send(bytes.fromhex("02 01"))
    bench.wire.pause(bench.silence * (bench.words_silences - 1))
    bench.wire.send(bytes.fromhex("00000400"))
    await bench.expect(bytes.fromhex("00000001"))


@cocotb.test
async def a_damaged_header_does_nothing(dut):
    bench = LinkBench(dut)
    await bench.reset()
    # Words that look like a request for words, if they were taken for one.
    trap = bytes.fromhex("01 01 00000001 deadbeef") * 2
    good = write_block(1, 0x20, trap)
    for place in range(1, 12, 2 if bench.bit > 8 else 1):
        damaged = bytearray(good)
        damaged[place] ^= 1 << bench.rng.randrange(8)
        bench.wire.send(bytes(damaged) + read_block(2, 0, 1))
        await bench.expect(b"")
        assert not bench.memory.accesses, place
        await bench.silent()
    await bench.works()


@cocotb.test
async def damaged_words_are_told_and_stay_in_their_place(dut):
    bench = LinkBench(dut)
    await bench.reset()
    data = bench.rng.randbytes(16)
    damaged = bytearray(write_block(1, 0x20, data))
    damaged[bench.rng.randrange(12, 32)] ^= 0x10
    bench.wire.send(bytes(damaged) + write_block(2, 0x60, data))
    await bench.expect(written(1, 0x30, DAMAGED))
    assert set(bench.memory.words) == set(range(0x20, 0x30, 4))
    await bench.silent()
    await bench.works()


@cocotb.test
@cocotb.parametrize(kind=["lost", "extra"])
async def a_byte_too_few_or_too_many(dut, kind):
    bench = LinkBench(dut)
    await bench.reset()
    trap = bytes.fromhex("01010000 0001dead 01010000 0001dead")
    # A sequence number that is a command, should the next block be taken up in its middle.
    request, after = write_block(1, 0x20, trap), write_block(1, 0x60, trap) * 2
    for place in (1, 11, 12, 27):
        head, tail = request[:place], request[place + 1 if kind == "lost" else place :]
        bench.wire.send(head + (b"" if kind == "lost" else b"\x01") + tail + after)
        told = [written(1, 0x30, DAMAGED)] if place >= 12 else []
        await bench.expect(b"".join(told))
        assert set(bench.memory.words) <= set(range(0x20, 0x30, 4)), place
        await bench.silent()
        await bench.works()
        bench.memory.words.clear()


@cocotb.test
async def a_stray_byte_between_blocks(dut):
    bench = LinkBench(dut)
    await bench.reset()
    await bench.works()
    bench.memory.accesses.clear()
    for stray in range(0, 256, 1 if bench.bit < 8 else 85):
        if stray in (0xB1, 0xB2):
            continue
        if stray > 4 and stray % 16:
            continue
        bench.wire.send(bytes([stray]) + write_block(1, 0x20, bytes(8)))
        await bench.expect(b"")
        assert not bench.memory.accesses, stray
        await bench.silent()
    await bench.works()


@cocotb.test
async def a_block_that_stops_coming_is_dropped(dut):
    bench = LinkBench(dut)
    await bench.reset()
    request = write_block(1, 0x20, bytes.fromhex("01010000 0001dead"))
    for size in (1, 2, 11, 12, 18, len(request) - 1):
        bench.wire.send(request[:size])
        await bench.silent()
        await bench.works()
        # The rest comes late, and is no request: whatever it looks like, however late.
        bench.wire.send(request[:size])
        await bench.silent(bench.words_silences + 1)
        bench.memory.accesses.clear()
        bench.wire.send(request[16:])
        await bench.expect(b"")
        assert not bench.memory.accesses
        await bench.silent()
        await bench.works()
    # It may pause for less.
    bench.wire.send(request[:15])
    bench.wire.pause(bench.silence * 0.9)
    bench.wire.send(request[15:])
    await bench.expect(written(1, 0x28))


@cocotb.test
async def words_are_welcome_again_after_a_while(dut):
    bench = LinkBench(dut)
    await bench.reset()
    await bench.works()
    ask, told = bytes.fromhex("02 01 00000400"), bytes.fromhex("dead1000")
    bench.wire.send(ask)
    await bench.expect(b"")
    await bench.silent(bench.words_silences)
    bench.wire.send(ask)
    await bench.expect(b"")  # what came was no whole frame, so only one ends this
    await bench.silent()
    await bench.works()
    await bench.silent(bench.words_silences)
    bench.wire.send(ask)
    await bench.expect(told)
    await bench.works()  # blocks are welcome always


@cocotb.test
async def a_byte_without_stop_bit_and_a_break(dut):
    bench = LinkBench(dut)
    await bench.reset()
    wire = bench.wire
    for byte in (0x00, 0x41, 0xFF):
        wire.levels([0, *(byte >> k & 1 for k in range(8)), 0], wire.bit)
        wire.pause(3 * wire.bit)
        await bench.works()
    wire.levels([0], 57.3 * wire.bit)
    wire.pause(2 * wire.bit)
    wire.levels([0], 0.2 * wire.bit)  # too short for a start bit
    wire.pause(12 * wire.bit)
    await bench.works()
    # Within a block: the break is no silence, and what comes after it is no part of the block.
    wire.send(write_block(1, 0x20, bytes(16))[:20])
    wire.levels([0], 2 * bench.silence)
    wire.pause(2 * wire.bit)
    await bench.silent()
    await bench.works()
