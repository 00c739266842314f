# SPDX-FileCopyrightText: castbag contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Memories for the benches of the ports: latency, many bursts in flight, errors, rules checked.

Both are parts of a `Bench` and act on the members `axi__…` of its unit, or those of another read
bus. They serve a beat a cycle in each direction however many bursts are on their way, and hold the
unit to Arm IHI 0022: an offer stands until it is taken, a burst keeps within its page and within
the config's length.
"""

import random
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass

from castbag.rtl.axi import INCR, OKAY
from castbag.rtl.config import EngineConfig
from castbag.sim.bench import STALLS, Bench

PAGE = 4096


def _seldom(rng: random.Random) -> Iterator[bool]:
    while True:
        yield from [True] * 15
        yield False


PATTERNS = STALLS | {"seldom": _seldom}
"""Those of all benches, and one that takes something every 16 cycles."""


@dataclass
class Burst:
    """A burst as its address channel gave it."""

    cycle: int
    address: int
    beats: int


class Channel:
    """One channel that the unit drives: what is transferred, and that offers stand.

    Attributes:
        standing: The offer that was not taken at the last edge.
        accepting: Ready, as driven for the next edge.
    """

    def __init__(
        self, bench: Bench, name: str, fields: tuple[str, ...], stall: str, *, bus: str = "axi"
    ):
        self.standing: dict[str, int] | None = None
        self.accepting = False
        self._name, self._bench = name, bench
        self._valid = getattr(bench.dut, f"{bus}__{name}valid")
        self._ready = getattr(bench.dut, f"{bus}__{name}ready")
        self._signals = {field: getattr(bench.dut, f"{bus}__{name}{field}") for field in fields}
        self._stall = PATTERNS[stall](bench.rng)
        self.drive(False)

    def sample(self) -> dict[str, int] | None:
        """What is transferred at this edge, if anything."""
        offer = None
        if int(self._valid.value):
            offer = {field: int(signal.value) for field, signal in self._signals.items()}
        assert self.standing is None or offer == self.standing, (
            f"{self._name}: {self.standing} became {offer} at cycle {self._bench.cycle}"
        )
        self.standing = None if self.accepting else offer
        return offer if self.accepting else None

    def stalled(self) -> bool:
        """The next of the stall pattern."""
        return next(self._stall)

    def drive(self, accepting: bool) -> None:
        """Drive ready for the next edge."""
        self.accepting = accepting
        self._ready.value = int(accepting)


ADDRESS_FIELDS = ("id", "addr", "len", "size", "burst", "lock", "cache", "prot", "qos")


def checked_burst(config: EngineConfig, cycle: int, fields: dict[str, int]) -> Burst:
    """The burst on an address channel, which must be one that the engine may issue."""
    address, beats = fields["addr"], fields["len"] + 1
    assert fields["id"] == 0 and fields["lock"] == 0
    assert fields["burst"] == INCR
    assert 1 << fields["size"] == config.bus_bytes
    assert address % config.bus_bytes == 0, f"{address:#x} lies on no beat"
    assert beats <= config.burst_beats, f"{beats} beats"
    assert address % PAGE + beats * config.bus_bytes <= PAGE, (
        f"{address:#x}+{beats} leaves its page"
    )
    return Burst(cycle, address, beats)


class ReadMemory:
    """Answers every burst in order, `latency` cycles after it was taken at the earliest.

    The first beats of two bursts are at least `pace` cycles apart, like those of a bank.

    Attributes:
        hold: True: offer nothing more.
        content: The memory, as bytes.
        responses: Response other than OKAY, by byte address of the beat.
        bursts: Every burst that was taken.
        times: Cycle in which each beat was taken from R.
        refused: Cycles in which a beat stood on R and was not taken.
    """

    def __init__(
        self,
        bench: Bench,
        config: EngineConfig,
        content: bytes,
        *,
        bus: str = "axi",
        latency: int = 1,
        pace: int = 0,
        address_stall: str = "never",
        data_stall: str = "never",
    ):
        self.content = content
        self.responses: dict[int, int] = {}
        self.bursts: list[Burst] = []
        self.times: list[int] = []
        self.refused = 0
        self.hold = False
        self._bench, self._config, self._latency, self._pace = bench, config, latency, pace
        self._address = Channel(bench, "ar", ADDRESS_FIELDS, address_stall, bus=bus)
        self._stall = PATTERNS[data_stall](bench.rng)
        self._beats: deque[tuple[int, int, bool]] = deque()  # not before, address, last
        self._next = 0  # cycle of the next burst's first beat, at the earliest
        self._offering = False
        names = ("id", "valid", "ready", "data", "resp", "last")
        self._data = {name: getattr(bench.dut, f"{bus}__r{name}") for name in names}
        self._data["valid"].value = 0
        self._data["id"].value = 0
        bench.add(self)

    @property
    def on_their_way(self) -> int:
        """Beats asked for that have not been taken."""
        return len(self._beats)

    def tick(self) -> None:
        bench, size = self._bench, self._config.bus_bytes
        fields = self._address.sample()
        if fields is not None:
            burst = checked_burst(self._config, bench.cycle, fields)
            self.bursts.append(burst)
            due = max(bench.cycle + self._latency, self._next)
            self._next = due + self._pace
            for k in range(burst.beats):
                self._beats.append((due, burst.address + k * size, k == burst.beats - 1))
        self._address.drive(not self._address.stalled())

        if self._offering:
            if int(self._data["ready"].value):
                self._beats.popleft()
                self.times.append(bench.cycle)
                self._offering = False
            else:
                self.refused += 1
        if not self._offering:
            due = self._beats and bench.cycle + 1 >= self._beats[0][0]
            self._offering = bool(due and not self.hold and not next(self._stall))
            self._data["valid"].value = int(self._offering)
            if self._offering:
                _, address, last = self._beats[0]
                word = self.content[address : address + size]
                self._data["data"].value = int.from_bytes(word, "little")
                self._data["resp"].value = self.responses.get(address, OKAY)
                self._data["last"].value = int(last)


ORDERS = ("any", "address first", "data first", "together")
"""When a memory takes a burst's address and when its data."""


class WriteMemory:
    """Writes every burst and answers in order, `latency` cycles after its last beat or later.

    Attributes:
        content: The memory; beats are written as they are taken, once their address is known.
        responses: Response other than OKAY, by byte address of the burst.
        bursts: Every burst that was taken.
        times: Cycle in which each beat was taken from W.
        strobes: Of every beat that was taken, in order.
        gaps: Cycles within a burst in which W had nothing.
        answered: Bursts that were answered.
    """

    def __init__(
        self,
        bench: Bench,
        config: EngineConfig,
        content: bytearray,
        *,
        bus: str = "axi",
        latency: int = 1,
        order: str = "any",
        address_stall: str = "never",
        data_stall: str = "never",
        answer_stall: str = "never",
    ):
        assert order in ORDERS
        self.content = content
        self.responses: dict[int, int] = {}
        self.bursts: list[Burst] = []
        self.times: list[int] = []
        self.strobes: list[int] = []
        self.gaps = 0
        self.answered = 0
        self._bench, self._config, self._latency, self._order = bench, config, latency, order
        self._address = Channel(bench, "aw", ADDRESS_FIELDS, address_stall, bus=bus)
        self._data = Channel(bench, "w", ("data", "strb", "last"), data_stall, bus=bus)
        self._stall = PATTERNS[answer_stall](bench.rng)
        self._open: deque[Burst] = deque()  # bursts whose data are not all written
        self._beats: deque[dict[str, int]] = deque()  # taken before their address
        self._written = 0  # beats of the oldest open burst
        self._runs = 0  # lasts taken, less addresses taken
        self._within = False  # the last beat that was taken did not end its burst
        self._answers: deque[tuple[int, int]] = deque()  # not before, response
        self._answering = False
        names = ("id", "valid", "ready", "resp")
        self._response = {name: getattr(bench.dut, f"{bus}__b{name}") for name in names}
        self._response["valid"].value = 0
        self._response["id"].value = 0
        bench.add(self)

    def tick(self) -> None:
        cycle = self._bench.cycle
        fields = self._address.sample()
        if fields is not None:
            burst = checked_burst(self._config, cycle, fields)
            self.bursts.append(burst)
            self._open.append(burst)
            self._runs -= 1
        beat = self._data.sample()
        if beat is not None:
            self.times.append(cycle)
            self.strobes.append(beat["strb"])
            self._beats.append(beat)
            self._within = not beat["last"]
            self._runs += beat["last"]
        elif self._within and self._data.standing is None:
            self.gaps += 1
        while self._open and self._beats:
            self._write(self._open[0], self._beats.popleft())
        self._answer()
        self._choose()

    def _write(self, burst: Burst, beat: dict[str, int]) -> None:
        size = self._config.bus_bytes
        address = burst.address + self._written * size
        word = beat["data"].to_bytes(size, "little")
        for k in range(size):
            if beat["strb"] >> k & 1:
                self.content[address + k] = word[k]
        self._written += 1
        last = self._written == burst.beats
        assert beat["last"] == last, f"wlast = {beat['last']} at beat {self._written} of {burst}"
        if last:
            self._open.popleft()
            self._written = 0
            response = self.responses.get(burst.address, OKAY)
            self._answers.append((self._bench.cycle + self._latency, response))

    def _answer(self) -> None:
        if self._answering and int(self._response["ready"].value):
            self._answers.popleft()
            self._answering = False
            self.answered += 1
        if not self._answering:
            due = self._answers and self._bench.cycle + 1 >= self._answers[0][0]
            self._answering = bool(due and not next(self._stall))
            self._response["valid"].value = int(self._answering)
            if self._answering:
                self._response["resp"].value = self._answers[0][1]

    def _choose(self) -> None:
        """Drive ready of both channels as the order of this memory has it."""
        stalled = self._address.stalled()
        match self._order:
            case "any":
                address = data = True
            case "address first":  # and one burst at a time
                address, data = not self._open, bool(self._open)
            case "data first":  # all of a burst's
                address, data = self._runs > 0, self._runs == 0
            case _:  # an address at the same edge as its first beat
                both = self._address.standing is not None and self._data.standing is not None
                address = not self._open and both
                data = bool(self._open) or (address and not stalled)
                self._address.drive(address and not stalled)
                self._data.drive(data)
                return
        self._address.drive(address and not stalled)
        self._data.drive(data and not self._data.stalled())
