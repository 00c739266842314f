/* SPDX-FileCopyrightText: castbag contributors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Registers and descriptors of the castbag engine, and what a board has around it.
 * Made by castbag.host.reference from rtl/control/map.py and rtl/soc/map.py: change
 * those, not this. */
#ifndef CASTBAG_H
#define CASTBAG_H

#include <stdint.h>

#define CASTBAG_IDENTITY_VALUE 0x43424147 /* What IDENTITY reads */
#define CASTBAG_VERSION_VALUE 0x00020000 /* What VERSION reads */
#define CASTBAG_REGISTER_SPACE 0x400 /* Bytes of the window */
#define CASTBAG_DESCRIPTOR_BYTES 256 /* Pitch of the ring */
#define CASTBAG_DESCRIPTOR_WORDS 38 /* Words that are read */

/* Registers: byte offsets; a wide one takes the next word too, for its upper half. */
#define CASTBAG_REG_IDENTITY 0x000 /* ro: The word "CBAG", 0x43424147 */
#define CASTBAG_REG_VERSION 0x004 /* ro: Version of this map: major << 16 | minor */
#define CASTBAG_REG_BUS_BYTES 0x008 /* ro: Bytes of a beat: buffers and row pitches are multiples */
#define CASTBAG_REG_ADDRESS_BITS 0x00c /* ro: Width of a byte address */
#define CASTBAG_REG_INDEX_BITS 0x010 /* ro: A table has at most 1 << INDEX_BITS rows */
#define CASTBAG_REG_BAG_BITS 0x014 /* ro: A batch has at most 1 << BAG_BITS bags */
#define CASTBAG_REG_MAX_LOOKUPS 0x018 /* ro: Most lookups of a batch */
#define CASTBAG_REG_MAX_DIM 0x01c /* ro: Most elements of a row */
#define CASTBAG_REG_OPTIMIZERS 0x020 /* ro: Bit k: optimizer k is built in */
#define CASTBAG_REG_CONTROL 0x024 /* rw: Bit 0: run; commands are taken from the ring while it is 1 */
#define CASTBAG_REG_STATUS 0x028 /* ro: Bit 0: busy; bit 1: stopped by an error, see ERROR; bit 2: memory still owes answers */
#define CASTBAG_REG_IRQ_ENABLE 0x02c /* rw: Bit 0: command done; bit 1: command failed */
#define CASTBAG_REG_IRQ 0x030 /* w1c: Same bits: events since they were last cleared */
#define CASTBAG_REG_RING_BASE 0x034 /* rw, wide: Byte address of the descriptor ring */
#define CASTBAG_REG_RING_SIZE 0x03c /* rw: Descriptors in the ring, less one: 0 to 65535 */
#define CASTBAG_REG_TAIL 0x040 /* rw: Slot after the last descriptor that the host has written */
#define CASTBAG_REG_HEAD 0x044 /* ro: Slot of the next descriptor to be taken */
#define CASTBAG_REG_ERROR 0x048 /* w1c: Code of the error that stopped the ring; a write of 1 resumes, once memory has answered */
#define CASTBAG_REG_ERROR_POSITION 0x04c /* ro, wide: Where: a word, lookup, bag or address */
#define CASTBAG_REG_ERROR_PHASE 0x054 /* ro: The phase that it happened in; 0 too while a descriptor is read */
#define CASTBAG_REG_VALID_LOOKUPS 0x058 /* ro: Lookups of the last command that took part */
#define CASTBAG_REG_DROPPED_LOOKUPS 0x05c /* ro: Its lookups dropped: out of bounds or padding */
#define CASTBAG_REG_UNIQUE_ROWS 0x060 /* ro: Its distinct rows */
#define CASTBAG_REG_RUN_LENGTH 0x06c /* ro: L: more lookups are sorted in runs of L, through memory */
#define CASTBAG_REG_MERGE_WAYS 0x070 /* ro: K: runs that are merged at a time */
#define CASTBAG_REG_RUN_BYTES 0x074 /* ro: R: bytes of a spilled run */
#define CASTBAG_REG_WATCHDOG 0x078 /* rw: A command in which nothing moves for so many cycles is broken off; 0: never */
#define CASTBAG_REG_READ_PORTS 0x07c /* ro: AXI4 read ports, among which addresses are dealt out */
#define CASTBAG_REG_TOTAL_CYCLES 0x200 /* ro, wide: Cycles of the last command, from launch to last answer */
#define CASTBAG_REG_FORWARD_CYCLES 0x208 /* ro, wide: Cycles of its forward phase */
#define CASTBAG_REG_FORWARD_READ_BEATS 0x210 /* ro, wide: Beats that its forward phase read */
#define CASTBAG_REG_FORWARD_WRITE_BEATS 0x218 /* ro, wide: Beats that its forward phase wrote */
#define CASTBAG_REG_CAST_CYCLES 0x220 /* ro, wide: Cycles of its cast phase */
#define CASTBAG_REG_CAST_READ_BEATS 0x228 /* ro, wide: Beats that its cast phase read */
#define CASTBAG_REG_CAST_WRITE_BEATS 0x230 /* ro, wide: Beats that its cast phase wrote */
#define CASTBAG_REG_EXPAND_CYCLES 0x238 /* ro, wide: Cycles of its expand phase */
#define CASTBAG_REG_EXPAND_READ_BEATS 0x240 /* ro, wide: Beats that its expand phase read */
#define CASTBAG_REG_EXPAND_WRITE_BEATS 0x248 /* ro, wide: Beats that its expand phase wrote */
#define CASTBAG_REG_BACKWARD_CYCLES 0x250 /* ro, wide: Cycles of its backward phase */
#define CASTBAG_REG_BACKWARD_READ_BEATS 0x258 /* ro, wide: Beats that its backward phase read */
#define CASTBAG_REG_BACKWARD_WRITE_BEATS 0x260 /* ro, wide: Beats that its backward phase wrote */
#define CASTBAG_REG_UPDATE_CYCLES 0x268 /* ro, wide: Cycles of its update phase */
#define CASTBAG_REG_UPDATE_READ_BEATS 0x270 /* ro, wide: Beats that its update phase read */
#define CASTBAG_REG_UPDATE_WRITE_BEATS 0x278 /* ro, wide: Beats that its update phase wrote */
#define CASTBAG_REG_READ_ENTRIES_BEATS 0x280 /* ro, wide: Beats read: the main path's lists: indices, cast table, unique rows */
#define CASTBAG_REG_READ_OFFSETS_BEATS 0x288 /* ro, wide: Beats read: the forward pass's offsets */
#define CASTBAG_REG_READ_VECTORS_BEATS 0x290 /* ro, wide: Beats read: rows or gradients to be summed */
#define CASTBAG_REG_READ_ROWS_BEATS 0x298 /* ro, wide: Beats read: rows to be updated */
#define CASTBAG_REG_READ_CAST_ENTRIES_BEATS 0x2a0 /* ro, wide: Beats read: the cast's indices */
#define CASTBAG_REG_READ_CAST_OFFSETS_BEATS 0x2a8 /* ro, wide: Beats read: the cast's offsets */
#define CASTBAG_REG_READ_RUNS_BEATS 0x2b0 /* ro, wide: Beats read: spilled runs, to be merged */
#define CASTBAG_REG_WRITE_VECTORS_BEATS 0x2b8 /* ro, wide: Beats written: sums and rows */
#define CASTBAG_REG_WRITE_CAST_TABLE_BEATS 0x2c0 /* ro, wide: Beats written: the cast table */
#define CASTBAG_REG_WRITE_UNIQUE_ROWS_BEATS 0x2c8 /* ro, wide: Beats written: the unique rows */
#define CASTBAG_REG_WRITE_RUNS_BEATS 0x2d0 /* ro, wide: Beats written: runs that are spilled */
#define CASTBAG_REG_INTERLEAVE_BUSY 0x2d8 /* ro, wide: Of lookups into the interleaver: cycles in which one went in */
#define CASTBAG_REG_INTERLEAVE_STARVED 0x2e0 /* ro, wide: Of lookups into the interleaver: cycles in which it would have taken one, and there was none, while its path was active */
#define CASTBAG_REG_INTERLEAVE_BLOCKED 0x2e8 /* ro, wide: Of lookups into the interleaver: cycles in which one stood there, and it did not take it */
#define CASTBAG_REG_FETCH_BUSY 0x2f0 /* ro, wide: Of vectors' beats into the fetch: cycles in which one went in */
#define CASTBAG_REG_FETCH_STARVED 0x2f8 /* ro, wide: Of vectors' beats into the fetch: cycles in which it would have taken one, and there was none, while its path was active */
#define CASTBAG_REG_FETCH_BLOCKED 0x300 /* ro, wide: Of vectors' beats into the fetch: cycles in which one stood there, and it did not take it */
#define CASTBAG_REG_REDUCE_BUSY 0x308 /* ro, wide: Of terms into the lanes: cycles in which one went in */
#define CASTBAG_REG_REDUCE_STARVED 0x310 /* ro, wide: Of terms into the lanes: cycles in which it would have taken one, and there was none, while its path was active */
#define CASTBAG_REG_REDUCE_BLOCKED 0x318 /* ro, wide: Of terms into the lanes: cycles in which one stood there, and it did not take it */
#define CASTBAG_REG_UPDATE_BUSY 0x320 /* ro, wide: Of gradients into the update: cycles in which one went in */
#define CASTBAG_REG_UPDATE_STARVED 0x328 /* ro, wide: Of gradients into the update: cycles in which it would have taken one, and there was none, while its path was active */
#define CASTBAG_REG_UPDATE_BLOCKED 0x330 /* ro, wide: Of gradients into the update: cycles in which one stood there, and it did not take it */
#define CASTBAG_REG_WRITE_BUSY 0x338 /* ro, wide: Of words into the vector writer: cycles in which one went in */
#define CASTBAG_REG_WRITE_STARVED 0x340 /* ro, wide: Of words into the vector writer: cycles in which it would have taken one, and there was none, while its path was active */
#define CASTBAG_REG_WRITE_BLOCKED 0x348 /* ro, wide: Of words into the vector writer: cycles in which one stood there, and it did not take it */
#define CASTBAG_REG_SORT_BUSY 0x350 /* ro, wide: Of pairs into the sorter: cycles in which one went in */
#define CASTBAG_REG_SORT_STARVED 0x358 /* ro, wide: Of pairs into the sorter: cycles in which it would have taken one, and there was none, while its path was active */
#define CASTBAG_REG_SORT_BLOCKED 0x360 /* ro, wide: Of pairs into the sorter: cycles in which one stood there, and it did not take it */
#define CASTBAG_REG_CAST_BUSY 0x368 /* ro, wide: Of sorted pairs into the caster: cycles in which one went in */
#define CASTBAG_REG_CAST_STARVED 0x370 /* ro, wide: Of sorted pairs into the caster: cycles in which it would have taken one, and there was none, while its path was active */
#define CASTBAG_REG_CAST_BLOCKED 0x378 /* ro, wide: Of sorted pairs into the caster: cycles in which one stood there, and it did not take it */

/* Phases of a command, each with counters of its own. */
#define CASTBAG_PHASE_FORWARD 0 /* gather-reduce of the table by bag */
#define CASTBAG_PHASE_CAST 1 /* sort the pairs by row; runs beside FORWARD */
#define CASTBAG_PHASE_EXPAND 2 /* a gradient copy a lookup (`expand-coalesce` only) */
#define CASTBAG_PHASE_BACKWARD 3 /* (casted) gather-reduce: the coalesced gradient; in `fused` with the update */
#define CASTBAG_PHASE_UPDATE 4 /* scatter: optimizer over the unique rows (`cast`, `expand-coalesce`) */

/* How a backward pass is carried out. */
#define CASTBAG_DATAFLOW_EXPAND_COALESCE 0
#define CASTBAG_DATAFLOW_CAST 1
#define CASTBAG_DATAFLOW_FUSED 2

/* How a row is updated. */
#define CASTBAG_OPTIMIZER_SGD 0

/* How a bag is pooled. */
#define CASTBAG_MODE_SUM 0

/* Why a command stopped; `position` says where. */
#define CASTBAG_ERROR_NONE 0 /* no error */
#define CASTBAG_ERROR_FIELD 1 /* a descriptor field is not legal here; position: the field's word */
#define CASTBAG_ERROR_EXTENT 2 /* a buffer ends beyond the address space; position: its address field's word */
#define CASTBAG_ERROR_INDEX 3 /* a row index outside the table; position: the lookup */
#define CASTBAG_ERROR_OFFSET_START 4 /* the first offset is not 0; position: 0 */
#define CASTBAG_ERROR_OFFSET_FALL 5 /* a bag ends before it starts; position: the bag */
#define CASTBAG_ERROR_OFFSET_END 6 /* offsets end off the number of lookups, or beyond it; position: the bag */
#define CASTBAG_ERROR_READ 7 /* the memory answered a read with an error; position: the burst's address */
#define CASTBAG_ERROR_WRITE 8 /* the memory answered a write with an error; position: the burst's address */
#define CASTBAG_ERROR_SCRATCH 9 /* less scratch space than the batch needs; position: the word of `scratch_bytes` */
#define CASTBAG_ERROR_WATCHDOG 10 /* nothing moved for WATCHDOG cycles; position: what was awaited, see Awaited */

/* Bits of the position of a WATCHDOG error: what the engine had offered or asked for. */
#define CASTBAG_AWAITED_READ_ADDRESS 1 /* a read burst stood on AR */
#define CASTBAG_AWAITED_READ_DATA 2 /* a read burst was not answered on R */
#define CASTBAG_AWAITED_WRITE_ADDRESS 4 /* a write burst stood on AW */
#define CASTBAG_AWAITED_WRITE_DATA 8 /* a beat stood on W */
#define CASTBAG_AWAITED_WRITE_ANSWER 16 /* a write burst was not answered on B */

/* Descriptor fields, for castbag_put: word, lowest bit in it, bits. */
#define CASTBAG_FIELD_FORWARD 0, 0, 1 /* Run the forward pass */
#define CASTBAG_FIELD_BACKWARD 0, 1, 1 /* Run the backward pass and the update */
#define CASTBAG_FIELD_DATAFLOW 0, 4, 4 /* A Dataflow */
#define CASTBAG_FIELD_OPTIMIZER 0, 8, 4 /* An Optimizer */
#define CASTBAG_FIELD_MODE 0, 12, 4 /* A Mode */
#define CASTBAG_FIELD_WIDE_INDICES 0, 16, 1 /* Indices are 64-bit, else 32-bit; signed both */
#define CASTBAG_FIELD_WIDE_OFFSETS 0, 17, 1 /* Offsets are 64-bit, else 32-bit; signed both */
#define CASTBAG_FIELD_IGNORE_BOUNDS 0, 18, 1 /* Drop lookups outside the table instead of stopping */
#define CASTBAG_FIELD_HAS_PADDING 0, 19, 1 /* Drop lookups of row `padding_index` */
#define CASTBAG_FIELD_LOOKUPS 1, 0, 32 /* n: entries of `indices` */
#define CASTBAG_FIELD_BAGS 2, 0, 32 /* B: `offsets` has B + 1 entries */
#define CASTBAG_FIELD_DIM 3, 0, 32 /* D: elements of a row */
#define CASTBAG_FIELD_ROWS 4, 0, 64 /* N: rows of the table */
#define CASTBAG_FIELD_PADDING_INDEX 6, 0, 32 /* Row whose lookups are dropped */
#define CASTBAG_FIELD_LEARNING_RATE 8, 0, 32 /* binary32 */
#define CASTBAG_FIELD_INDICES 16, 0, 64 /* Address of the row indices, n entries */
#define CASTBAG_FIELD_OFFSETS 18, 0, 64 /* Address of the offsets, B + 1 entries */
#define CASTBAG_FIELD_TABLE 20, 0, 64 /* Address of the table, N rows */
#define CASTBAG_FIELD_GRADIENT 22, 0, 64 /* Address of the bags' gradients, B rows */
#define CASTBAG_FIELD_POOLED 24, 0, 64 /* Address that takes the pooled bags, B rows */
#define CASTBAG_FIELD_COALESCED 26, 0, 64 /* Takes the coalesced gradient, up to n rows (not `fused`) */
#define CASTBAG_FIELD_CAST_TABLE 28, 0, 64 /* Takes the cast table, up to n words (not `fused`) */
#define CASTBAG_FIELD_UNIQUE_ROWS 30, 0, 64 /* Takes the unique rows, up to n words (not `fused`) */
#define CASTBAG_FIELD_EXPANDED 32, 0, 64 /* Takes the expanded gradient, n rows (`expand-coalesce`) */
#define CASTBAG_FIELD_SCRATCH 34, 0, 64 /* Takes the runs that a backward pass of n > L lookups spills */
#define CASTBAG_FIELD_SCRATCH_BYTES 36, 0, 64 /* Bytes there, as many as are needed or more */

/* Put a value into a descriptor that was zeroed, for instance
 * castbag_put(descriptor, CASTBAG_FIELD_TABLE, address). A descriptor lies on a
 * multiple of CASTBAG_DESCRIPTOR_BYTES; its words are little-endian. */
static inline void castbag_put(uint32_t *descriptor, unsigned word, unsigned low,
                               unsigned bits, uint64_t value)
{
    descriptor[word] |= (uint32_t)(value << low);
    if (bits > 32)
        descriptor[word + 1] |= (uint32_t)(value >> 32);
}

/* Bytes of scratch space that a command with `backward` over so many lookups needs; the
 * other arguments are the registers of these names. */
static inline uint64_t castbag_scratch_bytes(uint32_t lookups, uint32_t run_length,
                                             uint32_t merge_ways, uint32_t run_bytes)
{
    uint32_t runs = lookups ? (lookups - 1) / run_length : 0;
    return (uint64_t)runs * run_bytes * (runs > merge_ways ? 2 : 1);
}

/* A board: its address space, all of which its host reaches. */
#define CASTBAG_ENGINE_BASE 0x00000000 /* The engine's registers */
#define CASTBAG_BOARD_BASE 0x00010000 /* The board's registers */
#define CASTBAG_MEMORY_BASE 0x40000000 /* Memory, MEMORY_BYTES of it: the engine's address 0 */
#define CASTBAG_BOARD_IDENTITY_VALUE 0x43425244 /* What its IDENTITY reads */
#define CASTBAG_BOARD_VERSION_VALUE 0x00010000 /* What its VERSION reads */
#define CASTBAG_BOARD_REGISTER_SPACE 0x100 /* Bytes of the window */

/* A board's registers: byte offsets from CASTBAG_BOARD_BASE. */
#define CASTBAG_BOARD_REG_IDENTITY 0x000 /* ro: The word "CBRD", 0x43425244 */
#define CASTBAG_BOARD_REG_VERSION 0x004 /* ro: Version of this map: major << 16 | minor */
#define CASTBAG_BOARD_REG_SCRATCH 0x008 /* rw: Means nothing: for a host to try the link */
#define CASTBAG_BOARD_REG_CLOCK 0x00c /* ro: Hertz of the engine's clock */
#define CASTBAG_BOARD_REG_MEMORY_BYTES 0x010 /* ro: Bytes of memory */
#define CASTBAG_BOARD_REG_RESET 0x014 /* w1c: A write of 1 resets all but the link; memory is tested anew */
#define CASTBAG_BOARD_REG_TEST 0x018 /* w1c: A Test; a write of 1 starts one, unless the engine is busy; memory's contents are lost */
#define CASTBAG_BOARD_REG_TEST_BYTES 0x01c /* rw: How much is tested, a multiple of 4096; 0, or more than there is: all */
#define CASTBAG_BOARD_REG_TEST_ADDRESS 0x020 /* ro: Byte address of the first word that was wrong */
#define CASTBAG_BOARD_REG_TEST_EXPECTED 0x024 /* ro, wide: What was written there */
#define CASTBAG_BOARD_REG_TEST_READ 0x02c /* ro, wide: What was read */
#define CASTBAG_BOARD_REG_PHASE 0x034 /* ro: Capture phase of read data, in half clocks; bits 8 to 11 and 16 to 19: the least and the most that the last test found right; bit 31: none was */
#define CASTBAG_BOARD_REG_BOARD_0 0x040 /* ro: The board's name, bytes 0 on */
#define CASTBAG_BOARD_REG_BOARD_1 0x044 /* ro: The board's name, bytes 4 on */
#define CASTBAG_BOARD_REG_BOARD_2 0x048 /* ro: The board's name, bytes 8 on */
#define CASTBAG_BOARD_REG_BOARD_3 0x04c /* ro: The board's name, bytes 12 on */
#define CASTBAG_BOARD_REG_PRESET_0 0x050 /* ro: The engine's preset, bytes 0 on */
#define CASTBAG_BOARD_REG_PRESET_1 0x054 /* ro: The engine's preset, bytes 4 on */
#define CASTBAG_BOARD_REG_PRESET_2 0x058 /* ro: The engine's preset, bytes 8 on */
#define CASTBAG_BOARD_REG_PRESET_3 0x05c /* ro: The engine's preset, bytes 12 on */
#define CASTBAG_BOARD_REG_BUILD_0 0x060 /* ro: Hash of what the bitstream was made from, bytes 0 on */
#define CASTBAG_BOARD_REG_BUILD_1 0x064 /* ro: Hash of what the bitstream was made from, bytes 4 on */
#define CASTBAG_BOARD_REG_BUILD_2 0x068 /* ro: Hash of what the bitstream was made from, bytes 8 on */
#define CASTBAG_BOARD_REG_BUILD_3 0x06c /* ro: Hash of what the bitstream was made from, bytes 12 on */
#define CASTBAG_BOARD_REG_TOOLS_0 0x080 /* ro: Tools that made it, and their versions, bytes 0 on */
#define CASTBAG_BOARD_REG_TOOLS_1 0x084 /* ro: Tools that made it, and their versions, bytes 4 on */
#define CASTBAG_BOARD_REG_TOOLS_2 0x088 /* ro: Tools that made it, and their versions, bytes 8 on */
#define CASTBAG_BOARD_REG_TOOLS_3 0x08c /* ro: Tools that made it, and their versions, bytes 12 on */
#define CASTBAG_BOARD_REG_TOOLS_4 0x090 /* ro: Tools that made it, and their versions, bytes 16 on */
#define CASTBAG_BOARD_REG_TOOLS_5 0x094 /* ro: Tools that made it, and their versions, bytes 20 on */
#define CASTBAG_BOARD_REG_TOOLS_6 0x098 /* ro: Tools that made it, and their versions, bytes 24 on */
#define CASTBAG_BOARD_REG_TOOLS_7 0x09c /* ro: Tools that made it, and their versions, bytes 28 on */
#define CASTBAG_BOARD_REG_TOOLS_8 0x0a0 /* ro: Tools that made it, and their versions, bytes 32 on */
#define CASTBAG_BOARD_REG_TOOLS_9 0x0a4 /* ro: Tools that made it, and their versions, bytes 36 on */
#define CASTBAG_BOARD_REG_TOOLS_10 0x0a8 /* ro: Tools that made it, and their versions, bytes 40 on */
#define CASTBAG_BOARD_REG_TOOLS_11 0x0ac /* ro: Tools that made it, and their versions, bytes 44 on */
#define CASTBAG_BOARD_REG_TOOLS_12 0x0b0 /* ro: Tools that made it, and their versions, bytes 48 on */
#define CASTBAG_BOARD_REG_TOOLS_13 0x0b4 /* ro: Tools that made it, and their versions, bytes 52 on */
#define CASTBAG_BOARD_REG_TOOLS_14 0x0b8 /* ro: Tools that made it, and their versions, bytes 56 on */
#define CASTBAG_BOARD_REG_TOOLS_15 0x0bc /* ro: Tools that made it, and their versions, bytes 60 on */

/* Bits of TEST: the test of memory. */
#define CASTBAG_BOARD_TEST_RUNNING 1 /* it runs; memory is not to be used */
#define CASTBAG_BOARD_TEST_PASSED 2 /* the last one found nothing */
#define CASTBAG_BOARD_TEST_FAILED 4 /* it found the word of TEST_ADDRESS wrong */

#endif
