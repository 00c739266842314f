# SPDX-FileCopyrightText: castbag contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Scratch memory for the benches of the sorter: one read client and one write client of a port.

Reads answer `latency` cycles later, a beat a cycle, and see what had been written when they were
asked. So a read of a place whose write has not been answered is caught: both count as faults.
"""

from collections import deque

from castbag.rtl.config import EngineConfig
from castbag.rtl.layouts import RequestLayout, WriteBeatLayout
from castbag.sim.bench import Bench


class ScratchMemory:
    """`size` bytes from `base` on; nothing else may be touched.

    Attributes:
        written: Bytes that were written, by address.
        reads, writes: Sinks of the read requests, and of the beats that are written.
        beats_read, beats_written: So far.
    """

    def __init__(self, bench: Bench, config: EngineConfig, *, base: int, size: int, **ways):
        """`ways`: latency (64), stall ("never"), read and write (the prefix of the streams' names,
        "read_" and "write_"; or None, if there is no such client)."""
        self.latency = ways.get("latency", 64)
        stall = ways.get("stall", "never")
        read, write = ways.get("read", "read_"), ways.get("write", "write_")
        self._bench, self._bytes = bench, config.bus_bytes
        self._range = range(base, base + size)
        self.written: dict[int, int] = {}
        self.beats_read = self.beats_written = 0
        self.reads = self._writes = self.writes = None
        if read is not None:
            self.reads = bench.sink(f"{read}request", RequestLayout(config), stall=stall)
            self._data_out = bench.source(f"{read}data", config.bus_bits, stall=stall)
        if write is not None:
            self._writes = bench.sink(f"{write}request", RequestLayout(config), stall=stall)
            self.writes = bench.sink(f"{write}data", WriteBeatLayout(config), stall=stall)
        self._asked, self._answers = 0, deque()
        self._to_write, self._stored, self._unanswered = deque(), 0, deque()
        self.requested = 0
        bench.add(self)

    @property
    def pending(self) -> bool:
        """A write was asked for and not answered."""
        return bool(self._to_write or self._unanswered)

    @property
    def idle(self) -> bool:
        """All that was asked for has been read."""
        return not self._answers and self._data_out.idle

    def _place(self, address: int) -> int:
        assert address % self._bytes == 0, f"{address:#x} is not on a beat"
        assert address in self._range, f"{address:#x} is outside the scratch space"
        assert address + self._bytes - 1 in self._range
        return address

    def _beats(self, sink, done: int):
        for request in sink.items[done:]:
            for beat in range(request["beats"]):
                yield self._place(request["address"] + beat * self._bytes)

    def tick(self) -> None:
        now = self._bench.cycle
        if self.reads is not None:
            for address in self._beats(self.reads, self._asked):
                unanswered = [*self._to_write, *(place for _, place in self._unanswered)]
                assert address not in unanswered, f"{address:#x} was read before it was answered"
                assert address in self.written, f"{address:#x} was read before it was written"
                self._answers.append((now + self.latency, self.written[address]))
                self.beats_read += 1
            self._asked = len(self.reads.items)
            while self._answers and self._answers[0][0] <= now:
                self._data_out.send(self._answers.popleft()[1])
        if self._writes is not None:
            self._to_write.extend(self._beats(self._writes, self.requested))
            self.requested = len(self._writes.items)
            while self._to_write and self._stored < len(self.writes.items):
                beat = self.writes.items[self._stored]
                assert beat["strobe"] == (1 << self._bytes) - 1
                place = self._to_write.popleft()
                self.written[place] = beat["data"]
                self._stored += 1
                self.beats_written += 1
                self._unanswered.append((now + self.latency, place))
            while self._unanswered and self._unanswered[0][0] <= now:
                self._unanswered.popleft()
            if hasattr(self._bench.dut, "pending"):
                self._bench.dut.pending.value = int(self.pending)
