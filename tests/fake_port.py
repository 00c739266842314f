# SPDX-FileCopyrightText: castbag contributors
# SPDX-License-Identifier: BSD-2-Clause
"""A serial port with a device behind it, in a time of its own, on a line that may be bad.

The device is written from the tables of what goes over the line, beside the RTL's and the
host's code, so that neither is held against itself.
"""

import struct
import zlib
from collections import defaultdict, deque
from collections.abc import Callable, Iterable, Iterator, Mapping

Damage = tuple[str, float]
"""What befalls a byte: ("lose", 0), ("flip", mask), ("extra", byte) or ("pause", seconds)."""


class Device:
    """The link's RTL, as it looks from the line; memory of words by their number."""

    def __init__(self, *, silence: float, words_silences: int, bad: range):
        self.silence = silence
        self.words_silence = silence * words_silences
        self.bad = bad  # byte addresses that the bus refuses
        self.words: dict[int, int] = defaultdict(int)
        self.blocks_only = False
        self.whole = True  # so was the last frame
        self.executed: list[tuple[int, int]] = []  # (address, words) of each block's header
        self._frame = bytearray()
        self._rubbish = False

    def pause(self, seconds: float) -> None:
        """The line was silent so long."""
        words = bool(self._frame) and self._frame[0] <= 4
        if seconds >= (self.words_silence if words else self.silence):
            self._frame.clear()
            self._rubbish = False
        if seconds >= self.words_silence and self.whole:
            self.blocks_only = False

    def byte(self, value: int) -> bytes:
        """A byte has come; what is answered."""
        if self._rubbish:
            return b""
        frame = self._frame
        if not frame:
            self.whole = False
        frame.append(value)
        if frame[0] in (0xB1, 0xB2):
            return self._block(frame)
        if frame[0] in (1, 2, 3, 4) and not self.blocks_only:
            return self._words(frame)
        return self._discard()

    def _discard(self) -> bytes:
        self._frame.clear()
        self._rubbish = True
        return b""

    def _words(self, frame: bytearray) -> bytes:
        if len(frame) < 6:
            return b""
        command, count, first = struct.unpack(">BBI", frame[:6])
        count = count or 256
        places = [first + k if command < 3 else first for k in range(count)]
        if command in (2, 4):
            frame.clear()
            return b"".join(
                struct.pack(">I", 0xFFFFFFFF if 4 * place in self.bad else self.words[place])
                for place in places
            )
        if len(frame) == 6 + 4 * count:
            for place, word in zip(places, struct.unpack(f">{count}I", frame[6:]), strict=True):
                if 4 * place not in self.bad:
                    self.words[place] = word
            frame.clear()
        return b""

    def _block(self, frame: bytearray) -> bytes:
        if len(frame) < 12:
            return b""
        command, sequence, count, first = struct.unpack(">BBHI", frame[:8])
        if len(frame) == 12:
            if zlib.crc32(frame[:8]).to_bytes(4, "little") != frame[8:]:
                return self._discard()
            self.blocks_only = True
            self.executed.append((4 * first, count))
            self.whole = command == 0xB2
        size = 12 if command == 0xB2 else 16 + 4 * count
        if len(frame) < size:
            return b""
        good = next((k for k in range(count) if 4 * (first + k) in self.bad), count)
        status = 0 if good == count else 2
        data = b""
        if command == 0xB1:
            content = bytes(frame[12:-4])
            for k, word in enumerate(struct.unpack(f"<{count}I", content)[:good]):
                self.words[first + k] = word
            self.whole = zlib.crc32(content).to_bytes(4, "little") == frame[-4:]
            if not self.whole:
                status = 1
        else:
            kept = [self.words[first + k] for k in range(good)]
            data = struct.pack(f"<{count}I", *kept, *[0xFFFFFFFF] * (count - good))
        frame.clear()
        if not self.whole:
            self._discard()
        head = bytes([command + 0x20, sequence]) + data
        answer = head + struct.pack(">BH", status, first + good & 0xFFFF)
        return answer + zlib.crc32(answer).to_bytes(4, "little")


class FakePort:
    """What of pyserial's `Serial` the link uses. Time passes in its calls only.

    Args:
        device: At the other end, or None: nothing is there.
        outward, inward: What befalls a byte on its way to and from the device: a function of
            its number, counted from the first ever sent that way.
        latency: Seconds that a byte takes more than its time on the line.
    """

    def __init__(
        self,
        device: Device | None,
        *,
        baudrate: int,
        outward: Mapping[int, Damage] | Callable[[int], Damage | None] = {}.get,
        inward: Mapping[int, Damage] | Callable[[int], Damage | None] = {}.get,
        latency: float = 0.0,
    ):
        self.device = device
        self.timeout = 0.0
        self.time = 0.0
        self.written = bytearray()
        self.answered = bytearray()  # by the device, whatever befell it then
        self.gone = False
        self._byte_time = 10 / baudrate
        self._latency = latency
        self._damage = [way.get if isinstance(way, Mapping) else way for way in (outward, inward)]
        self._count = [0, 0]
        self._free = [0.0, 0.0]  # when the line is, each way
        self._last = 0.0  # end of the last byte on the line, either way
        self._coming: deque[tuple[float, int]] = deque()

    def now(self) -> float:
        return self.time

    def _over(self, way: int, content: Iterable[int], start: float) -> Iterator[tuple[float, int]]:
        """(end, byte) of what arrives at the other end of the line."""
        for byte in content:
            kind, value = self._damage[way](self._count[way]) or ("", 0)
            self._count[way] += 1
            here = {"lose": [], "flip": [byte ^ int(value)], "extra": [int(value), byte]}
            start = max(start, self._free[way]) + (value if kind == "pause" else 0)
            for arriving in here.get(kind, [byte]):
                start += self._byte_time
                yield start, arriving
            self._free[way] = start

    def write(self, content: bytes) -> int:
        if self.gone:
            raise OSError(5, "Input/output error")
        self.written += bytes(content)  # LiteX hands over a list
        for end, byte in self._over(0, content, self.time + self._latency):
            if self.device is None:
                continue
            self.device.pause(end - self._byte_time - min(self._last, end))
            self._last = max(self._last, end)
            answer = self.device.byte(byte)
            self.answered += answer
            for back, answered in self._over(1, answer, end):
                self._last = max(self._last, back)
                self._coming.append((back + self._latency, answered))
        return len(content)

    @property
    def in_waiting(self) -> int:
        return sum(time <= self.time for time, _ in self._coming)

    def inWaiting(self) -> int:  # noqa: N802  (pyserial's older name, which LiteX uses)
        return self.in_waiting

    def read(self, size: int = 1) -> bytes:
        if self.gone:
            raise OSError(5, "Input/output error")
        limit = self.time + (1.0 if self.timeout is None else self.timeout)
        content = bytearray()
        while len(content) < size and self._coming and self._coming[0][0] <= limit:
            time, byte = self._coming.popleft()
            self.time = max(self.time, time)
            content.append(byte)
        if len(content) < size:
            self.time = limit
        return bytes(content)

    def reset_input_buffer(self) -> None:
        while self._coming and self._coming[0][0] <= self.time:
            self._coming.popleft()

    def close(self) -> None:
        self.gone = True
