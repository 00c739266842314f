# SPDX-FileCopyrightText: castbag contributors
# SPDX-License-Identifier: BSD-2-Clause
"""What host and device say to each other, byte by byte; both sides take their constants here.

The line carries 8N1 bytes. The first byte of a request says which of two protocols it speaks.

**Words**: LiteX's UART-bone, as `Stream2Wishbone` of its `soc/cores/uart.py` defines it. Nothing
is checked, and a write has no answer.

    bytes        request
    0            WORDS_WRITE, WORDS_READ: each next word 4 bytes on;
                 WORDS_WRITE_FIXED, WORDS_READ_FIXED: all at the one address
    1            words, 0 for 256
    2 to 5       address of the first word / 4, big-endian
    6 on         (writes) the words, each big-endian

    bytes        answer to a read
    0 on         the words, each big-endian; all ones where the bus answered with an error

**Blocks**: checked, so that a transfer survives a bad line. CRC is CRC-32 as zlib computes it,
sent low byte first.

    bytes        request
    0            BLOCK_WRITE or BLOCK_READ
    1            sequence number: any, the answer bears it
    2, 3         words n, big-endian; 0 asks only whether the link is there
    4 to 7       address of the first word / 4, big-endian
    8 to 11      CRC of bytes 0 to 7
    12 on        (writes) 4n bytes in the order of memory
    then 4       (writes) CRC of those 4n bytes

    bytes        answer
    0            the request's byte 0, with ANSWER added
    1            the request's byte 1
    2 on         (reads) 4n bytes in the order of memory, all ones from a bus error on
    then 1       status: OK, DAMAGED (the CRC of a write's words) or BUS_ERROR
    then 2       bits 15 to 0 of (address / 4) of the word after the last good one, big-endian
    then 4       CRC of all bytes of the answer before

Requests are carried out and answered in their order, and a host may send the next ones while
answers are under way: the device holds some hundred bytes of requests meanwhile.

**Out of step.** Nothing happens and nothing is answered after a header whose CRC is wrong. What
has come of a write whose words are damaged may have been written, in the block's own place only;
the answer says DAMAGED. After either, and after a byte that is no command, the device takes every
byte for rubbish until the line was silent for SILENCE, in both directions: so words of a block
are never taken for commands. A block that stops coming is dropped, unanswered, after the same
silence, a request for words after WORDS_SILENCES of them.

**Words between blocks.** Requests for words have no check, so they are rubbish to a device that
has accepted a block until the line was silent for WORDS_SILENCES silences after a whole frame: a
stray byte between blocks, or the rest of a block that comes after a pause, cannot become a write
to anywhere. After a frame that was broken off, only a whole one ends this (or reset).
"""

WORDS_WRITE, WORDS_READ, WORDS_WRITE_FIXED, WORDS_READ_FIXED = 0x01, 0x02, 0x03, 0x04

BLOCK_WRITE, BLOCK_READ = 0xB1, 0xB2

ANSWER = 0x20
"""An answer's first byte is that of its request plus this."""

OK, DAMAGED, BUS_ERROR = 0, 1, 2
"""Statuses."""

MOST_WORDS = 256
"""Words of one request for words."""

MOST_BLOCK_WORDS = 65535
"""Words of one block; some hundreds are enough, and are less to send again."""

HEADER_BYTES = 12
"""Of a request for a block: with its CRC."""

CRC_BYTES = 4

ANSWER_BYTES = 9
"""Of an answer about a block, its words excepted."""

SILENCE = 0.025
"""Seconds without a byte after which a device is in step again."""

WORDS_SILENCES = 4
"""Silences that a request for words may be late, and that make words welcome after blocks."""
