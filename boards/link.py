# SPDX-FileCopyrightText: castbag contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Link: the host's end of a board's UART; `castbag.rtl.link.frames` says what goes over it.

with Link.open("/dev/ttyUSB0") as link:
    link.write(0x4000_0000, table)
    print(hex(link.read_word(0xF000_0000)))
"""

import errno
import struct
import time
import zlib
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from castbag.host.device import DeviceUnusable
from castbag.rtl.link.frames import (
    ANSWER,
    ANSWER_BYTES,
    BLOCK_READ,
    BLOCK_WRITE,
    BUS_ERROR,
    CRC_BYTES,
    DAMAGED,
    MOST_BLOCK_WORDS,
    MOST_WORDS,
    OK,
    SILENCE,
    WORDS_READ,
    WORDS_READ_FIXED,
    WORDS_SILENCES,
    WORDS_WRITE,
    WORDS_WRITE_FIXED,
)

BAUDRATE = 3_000_000

SPACE = 1 << 32
"""Bytes of the address space."""

POLL = 0.01
"""Seconds that one read of the port waits."""

MARGIN = 1.25
"""Of a silence that the host waits for, over the device's."""

Progress = Callable[[int], None]
"""Called with the bytes that are done, of one transfer."""


class LinkError(DeviceUnusable):
    """What a user can be told in a line."""


class NoDevice(LinkError):  # noqa: N818
    """There is no such port, or it may not be opened."""


class PortBusy(LinkError):  # noqa: N818
    """Another program has the port."""


class LinkLost(LinkError):  # noqa: N818
    """The board does not answer, though it was asked again and again."""


class BusError(LinkError):
    """The board answered: nothing serves this address.

    Attributes:
        address: The first byte of the word that could not be read or written.
    """

    def __init__(self, verb: str, address: int):
        super().__init__(f"the board's bus refused to {verb} 0x{address:08x}")
        self.address = address


class _OutOfStep(Exception):  # noqa: N818
    """What came is not the answer; the message says what was wrong."""


@dataclass(frozen=True)
class _Block:
    """One block of a transfer."""

    address: int
    size: int  # bytes
    data: bytes | None  # to be written, else it is read


class Link:
    """Reads and writes the board's address space; what comes back is right, or it raises.

    Blocks (`read`, `write`, `read_word`, `write_word`) are checked, and are sent again from the
    first that was not acknowledged when anything is lost or damaged. So a write may be done more
    than once: with registers that count their writes, think of it. Words (`read_words`,
    `write_words`) are LiteX's UART-bone: unchecked, and after blocks they first wait for a tenth
    of a second of silence.

    Addresses and sizes are multiples of 4 bytes. At a baud rate B, a long transfer comes to
    B / 10 x 1024 / 1040 bytes a second written and B / 10 x 1024 / 1033 read, while the port's
    latency is less than the time of a window.

    Args:
        port: pyserial's `Serial`, or anything with its `read`, `write`, `timeout` and
            `reset_input_buffer`.
        baudrate: Of the port: to know how long sending takes.
        silence: Seconds without a byte that put the device in step.
        patience: Seconds that an answer may be late, beyond the time that bytes take.
        tries: How often in a row nothing may come of trying before the link counts as lost.
        block: Words of a block.
        window: Blocks that are on their way at once.
        now: A clock, in seconds.

    Raises:
        ValueError: For an address or a size that is no multiple of 4, or out of the space.
        LinkLost: As soon as the port fails, or when trying was in vain.
        BusError: At the first word that the bus refuses; what was before is done.
    """

    def __init__(
        self,
        port,
        *,
        baudrate: int = BAUDRATE,
        silence: float = SILENCE,
        words_silences: int = WORDS_SILENCES,
        patience: float = 0.2,
        tries: int = 6,
        block: int = 256,
        window: int = 8,
        now: Callable[[], float] = time.monotonic,
    ):
        for name, value, most in (
            ("tries", tries, 100),
            ("block", block, MOST_BLOCK_WORDS),
            ("window", window, 100),  # fewer than half the sequence numbers
        ):
            if not 1 <= value <= most:
                raise ValueError(f"{name} = {value}: must be from 1 to {most}")
        self.port: Any = port
        port.timeout = POLL
        self.byte_time = 10 / baudrate
        self.silence = silence * MARGIN
        self.words_silence = words_silences * silence * MARGIN
        self.patience = patience
        self.tries = tries
        self.block = block
        self.window = window
        self.retries = 0  # since it was opened
        self._now = now
        self._sequence = 0
        self._sent = 0.0  # when the last byte will have left
        self._blocks_only = True  # the device may be so, from whoever used it last

    @classmethod
    def open(cls, path: str, *, baudrate: int = BAUDRATE, **arguments) -> "Link":
        """The link at a serial port, which nobody else can open meanwhile.

        Raises:
            NoDevice, PortBusy: It cannot be opened.
            LinkLost: There is nothing at its other end that answers.
        """
        import serial

        try:
            port = serial.Serial(path, baudrate, exclusive=True, timeout=POLL)
        except (serial.SerialException, OSError, ValueError) as error:
            raise _unopened(path, baudrate, error) from error
        link = cls(port, baudrate=baudrate, **arguments)
        try:
            link.synchronise()
        except BaseException:
            port.close()
            raise
        return link

    def close(self) -> None:
        """Give the port back."""
        self.port.close()

    def __enter__(self) -> "Link":
        return self

    def __exit__(self, *_) -> None:
        self.close()

    def synchronise(self) -> None:
        """Get in step with the device, whatever was on the line before; LinkLost if it's silent."""
        self._settle(self.words_silence)  # or the rest of a request for words is awaited
        self._transfer([_Block(0, 0, None)], "reach the board", None)

    def read(self, address: int, size: int, progress: Progress | None = None) -> bytes:
        """Bytes of memory, in checked blocks."""
        _check(address, size)
        blocks = [_Block(at, n, None) for at, n in self._cut(address, size)]
        return self._transfer(blocks, f"read {size} bytes", progress)

    def write(self, address: int, data: bytes, progress: Progress | None = None) -> None:
        """Set bytes of memory, in checked blocks; returns when the last one is written."""
        content = memoryview(data).cast("B")
        _check(address, len(content))
        blocks = [
            _Block(at, n, bytes(content[at - address : at - address + n]))
            for at, n in self._cut(address, len(content))
        ]
        self._transfer(blocks, f"write {len(content)} bytes", progress)

    def read_word(self, address: int) -> int:
        """One word, checked."""
        return int.from_bytes(self.read(address, 4), "little")

    def write_word(self, address: int, value: int) -> None:
        """Set one word, checked."""
        self.write(address, value.to_bytes(4, "little"))

    def read_words(self, address: int, count: int, *, fixed: bool = False) -> list[int]:
        """Words by UART-bone; `fixed`: all from one address. A bus error reads as all ones."""
        _check(address, 4 if fixed else 4 * count)
        command = WORDS_READ_FIXED if fixed else WORDS_READ
        words: list[int] = []
        tried = 0
        self._await_words()
        while len(words) < count:
            at = address if fixed else address + 4 * len(words)
            n = min(count - len(words), MOST_WORDS - 1)
            self._send(struct.pack(">BBI", command, n, at // 4))
            answer = self._receive(4 * n)
            if len(answer) == 4 * n:
                words += struct.unpack(f">{n}I", answer)
                tried = 0
                continue
            tried += 1
            self.retries += 1
            if tried == self.tries:
                raise self._lost("read words", at, "no answer")
            self._settle(self.words_silence)
        return words

    def write_words(self, address: int, words: Sequence[int], *, fixed: bool = False) -> None:
        """Set words by UART-bone, which does not tell what became of them."""
        _check(address, 4 if fixed else 4 * len(words))
        command = WORDS_WRITE_FIXED if fixed else WORDS_WRITE
        self._await_words()
        for first in range(0, len(words), MOST_WORDS - 1):
            part = words[first : first + MOST_WORDS - 1]
            at = address if fixed else address + 4 * first
            head = struct.pack(">BBI", command, len(part), at // 4)
            self._send(head + struct.pack(f">{len(part)}I", *part))

    def _cut(self, address: int, size: int):
        """(address, bytes) of each block."""
        step = 4 * self.block
        for at in range(address, address + size, step):
            yield at, min(step, address + size - at)

    def _transfer(self, blocks: list[_Block], what: str, progress: Progress | None) -> bytes:
        """All blocks, in order; what was read."""
        done = bytearray()
        finished, total, tried = 0, 0, 0
        while finished < len(blocks):
            flying: deque[tuple[int, _Block]] = deque()  # sequence number and block
            try:
                while finished < len(blocks):
                    ahead = finished + len(flying)
                    if len(flying) < self.window and ahead < len(blocks):
                        flying.append((self._request(blocks[ahead]), blocks[ahead]))
                        continue
                    done += self._answer(*flying[0])
                    flying.popleft()
                    total += blocks[finished].size
                    finished += 1
                    tried = 0
                    if progress is not None:
                        progress(total)
            except _OutOfStep as error:
                tried += 1
                self.retries += 1
                if tried == self.tries:
                    raise self._lost(what, blocks[finished].address, str(error)) from None
                # Longer each time: bytes may lie in buffers that nobody sees from here.
                self._settle(self.silence * (1 + tried))
        return bytes(done)

    def _request(self, block: _Block) -> int:
        """Send what asks for a block; returns its sequence number."""
        self._sequence = (self._sequence + 1) % 256
        command = BLOCK_READ if block.data is None else BLOCK_WRITE
        header = struct.pack(">BBHI", command, self._sequence, block.size // 4, block.address // 4)
        self._blocks_only = True
        self._send(_with_crc(header) + (_with_crc(block.data) if block.data is not None else b""))
        return self._sequence

    def _answer(self, sequence: int, block: _Block) -> bytes:
        """The data that a request's answer brings."""
        reading = block.data is None
        size = ANSWER_BYTES + (block.size if reading else 0)
        answer = self._receive(size)
        if len(answer) < size:
            raise _OutOfStep("no answer" if not answer else "an answer broke off")
        head = bytes([(BLOCK_READ if reading else BLOCK_WRITE) + ANSWER, sequence])
        if answer[:2] != head or _with_crc(answer[:-CRC_BYTES]) != answer:
            raise _OutOfStep("answers are damaged")
        status, place = struct.unpack(">BH", answer[-CRC_BYTES - 3 : -CRC_BYTES])
        good = 4 * ((place - block.address // 4) % (1 << 16))  # bytes
        if status == DAMAGED:
            raise _OutOfStep("requests are damaged")
        if status == BUS_ERROR and good < block.size:
            self._settle()  # what is on its way is of no use now
            raise BusError("read" if reading else "write", block.address + good)
        if status != OK or good != block.size:
            raise _OutOfStep(f"an answer of status {status} makes no sense")
        return answer[2 : 2 + block.size] if reading else b""

    def _send(self, content: bytes) -> None:
        self._sent = max(self._sent, self._now()) + len(content) * self.byte_time
        rest = content
        while rest:
            rest = rest[self._call(self.port.write, rest) :]

    def _receive(self, size: int) -> bytes:
        """That many bytes, or what has come of them when no more came for too long."""
        content = b""
        heard = max(self._now(), self._sent)
        while len(content) < size:
            # The rest of the answer takes its time even if the port hands it over at once.
            limit = heard + self.patience + (size - len(content)) * self.byte_time
            if self._now() >= limit:
                break
            part = self._call(self.port.read, size - len(content))
            if part:
                content += part
                heard = max(self._now(), self._sent)
        return content

    def _settle(self, silence: float | None = None) -> None:
        """Let the device get in step: be silent, and ignore what comes until all is silent."""
        silence = self.silence if silence is None else silence
        until = max(self._now(), self._sent) + silence
        # A device that never stops talking has at most a window to say.
        last = until + self.patience + self.window * (4 * self.block + 20) * self.byte_time
        while self._now() < min(until, last):
            if self._call(self.port.read, 4096):
                until = max(until, self._now() + silence)
        self._call(self.port.reset_input_buffer)

    def _await_words(self) -> None:
        """Make the device take words, if it was used for blocks."""
        if self._blocks_only:
            self._settle(self.words_silence)
            self._blocks_only = False

    def _call(self, method: Callable, *arguments) -> Any:
        """Call the port."""
        try:
            return method(*arguments)
        except OSError as error:  # pyserial's exceptions are this too
            raise LinkLost(f"the serial port failed ({error}): is the board plugged in?") from error

    def _lost(self, what: str, address: int, why: str) -> LinkLost:
        return LinkLost(
            f"the link was lost: could not {what}, stopped at 0x{address:08x}; {why}, "
            f"{self.tries} times in a row"
        )


def _with_crc(content: bytes) -> bytes:
    return content + zlib.crc32(content).to_bytes(CRC_BYTES, "little")


def _check(address: int, size: int) -> None:
    if address % 4 or not 0 <= address < SPACE:
        raise ValueError(f"address = {address:#x}: must be a multiple of 4 below 2^32")
    if size % 4 or not 0 <= size <= SPACE - address:
        raise ValueError(f"size = {size}: must be a multiple of 4 that ends within 2^32")


def _unopened(path: str, baudrate: int, error: Exception) -> LinkError:
    """What to tell a user about a port that does not open."""
    code = getattr(error, "errno", None)
    if code in (errno.EAGAIN, errno.EBUSY):
        return PortBusy(f"{path}: another program has the port open; close it there")
    if code in (errno.EACCES, errno.EPERM):
        return NoDevice(
            f"{path}: no permission; join the group that owns it (often dialout), log in anew"
        )
    if code in (errno.ENOENT, errno.ENODEV, errno.ENXIO):
        return NoDevice(f"{path}: there is no such port; is the board plugged in?")
    return NoDevice(f"{path}: cannot be opened at {baudrate} baud ({error})")
