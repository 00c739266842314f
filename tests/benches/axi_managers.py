# SPDX-FileCopyrightText: castbag contributors
# SPDX-License-Identifier: BSD-2-Clause
"""AXI managers of the benches' own, and an AXI4-Lite subordinate.

All are parts of a `Bench`. An offer of theirs stands until it is taken, whatever they are stalled
by, and they hold the unit to the same.
"""

from collections import deque
from dataclasses import dataclass

from castbag.rtl.axi import INCR, OKAY
from castbag.sim.bench import STALLS, Bench

from .axi_memory import Channel

WORD = 8
"""Bytes of a beat of `Manager`."""


@dataclass
class Burst:
    """A burst to be carried out, and what came of it."""

    address: int
    words: int
    id: int = 0
    data: bytes = b""  # to write, or as read
    strobes: list[int] | None = None
    response: int | None = None
    beats: int = 0
    wrong: str = ""
    finished: int = 0  # cycle


class Manager:
    """A manager of our own: any number of bursts outstanding, each channel stalled for itself.

    Args:
        idle, stall: Patterns of its offers, and of its taking.
        read, write: What the names of its two buses' signals begin with.
    """

    def __init__(
        self,
        bench: Bench,
        *,
        idle: str = "never",
        stall: str = "never",
        read: str = "s_axi_",
        write: str = "s_axi_",
    ):
        self.bench = bench
        self._buses = {"ar": read, "r": read, "aw": write, "w": write, "b": write}
        self.to_read: deque[Burst] = deque()
        self.to_write: deque[Burst] = deque()
        self.reading: deque[Burst] = deque()
        self.writing: deque[Burst] = deque()
        self.beats: deque[tuple[int, int, int]] = deque()
        self.may_give = None  # beats that may be given on W; None: all
        self.read_cycles: list[int] = []
        self.taken: dict[str, list[int]] = {name: [] for name in self._buses}
        self.offered: dict[str, list[int]] = {"ar": [], "aw": []}  # first cycle that may take it
        self._ports = {
            name: [self._signal(name, part) for part in ("valid", "ready")] for name in self.taken
        }
        self._stalls = {
            name: STALLS[stall if name in "rb" else idle](bench.rng) for name in self.taken
        }
        self._offering = dict.fromkeys(("ar", "aw", "w"), False)
        self._standing: dict[str, tuple | None] = {"r": None, "b": None}
        for name, (valid, ready) in self._ports.items():
            (ready if name in "rb" else valid).value = 0
        for name, value in {
            "size": 3,
            "burst": INCR,
            "lock": 0,
            "cache": 3,
            "prot": 0,
            "qos": 0,
        }.items():
            for channel in ("ar", "aw"):
                self._signal(channel, name).value = value
        bench.add(self)

    def _signal(self, channel: str, name: str):
        return getattr(self.bench.dut, f"{self._buses[channel]}{channel}{name}")

    @property
    def idle(self) -> bool:
        return not (self.to_read or self.to_write or self.reading or self.writing)

    def read(self, address: int, words: int, **more) -> Burst:
        burst = Burst(address, words, **more)
        self.to_read.append(burst)
        return burst

    def write(self, address: int, data: bytes, strobes=None, **more) -> Burst:
        words = len(data) // WORD
        strobes = strobes or [0xFF] * words
        burst = Burst(address, words, data=data, strobes=strobes, **more)
        self.to_write.append(burst)
        for k, strobe in enumerate(strobes):
            value = int.from_bytes(data[k * WORD : (k + 1) * WORD], "little")
            self.beats.append((value, strobe, int(k == words - 1)))
        return burst

    def tick(self) -> None:
        cycle = self.bench.cycle
        went = {}
        for name, (valid, ready) in self._ports.items():
            went[name] = valid.value == 1 and ready.value == 1
            if went[name]:
                self.taken[name].append(cycle)
        for name, fields in (("r", ("id", "data", "resp", "last")), ("b", ("id", "resp"))):
            offer = None
            if self._ports[name][0].value == 1:
                offer = tuple(int(self._signal(name, field).value) for field in fields)
            stood = self._standing[name]
            assert stood is None or offer == stood, f"{name}: {stood} became {offer}"
            self._standing[name] = None if went[name] else offer
            if went[name]:
                (self._take_read if name == "r" else self._take_answer)(cycle, *offer)
            self._ports[name][1].value = int(not next(self._stalls[name]))

        for name, waiting, under_way in (
            ("ar", self.to_read, self.reading),
            ("aw", self.to_write, self.writing),
        ):
            if went[name]:
                under_way.append(waiting.popleft())
                self._offering[name] = False
            if not self._offering[name]:
                self._offering[name] = bool(waiting) and not next(self._stalls[name])
                if self._offering[name]:
                    self.offered[name].append(cycle + 1)
                    for field, value in (
                        ("addr", waiting[0].address),
                        ("len", waiting[0].words - 1),
                        ("id", waiting[0].id),
                    ):
                        self._signal(name, field).value = value
            self._ports[name][0].value = int(self._offering[name])
        if went["w"]:
            self.beats.popleft()
            self._offering["w"] = False
            if self.may_give is not None:
                self.may_give -= 1
        if not self._offering["w"]:
            may = self.may_give is None or self.may_give > 0
            self._offering["w"] = bool(self.beats) and may and not next(self._stalls["w"])
            if self._offering["w"]:
                for field, value in zip(("data", "strb", "last"), self.beats[0], strict=True):
                    self._signal("w", field).value = value
        self._ports["w"][0].value = int(self._offering["w"])

    def _take_read(self, cycle: int, id_: int, data: int, response: int, last: int) -> None:
        burst = self.reading[0]
        burst.data += data.to_bytes(WORD, "little")
        burst.beats += 1
        burst.response = max(burst.response or 0, response)
        if id_ != burst.id or last != (burst.beats == burst.words):
            burst.wrong = f"id {id_}, last {last} on beat {burst.beats} of {burst.words}"
        if burst.beats == burst.words:
            burst.finished = cycle
            self.reading.popleft()

    def _take_answer(self, cycle: int, id_: int, response: int) -> None:
        # It may not come before the burst's last beat; AW's place among the beats is not watched.
        burst = self.writing.popleft()
        burst.response = response
        burst.finished = cycle
        if id_ != burst.id:
            burst.wrong = f"id {id_}"

    async def finish(self, *, limit: int = 100_000) -> None:
        """Wait until all is done."""
        await self.bench.until(lambda: self.idle, limit=limit)


class Offer:
    """One channel that a bench drives: what waits is offered in order.

    Attributes:
        times: Cycle of each transfer.
    """

    def __init__(
        self, bench: Bench, name: str, fields: tuple[str, ...], stall: str = "never", *, bus: str
    ):
        self.times: list[int] = []
        self._bench = bench
        self._waiting: deque[tuple[int, dict[str, int]]] = deque()  # not before this cycle
        self._signals = {part: getattr(bench.dut, f"{bus}__{name}{part}") for part in fields}
        self._valid = getattr(bench.dut, f"{bus}__{name}valid")
        self._ready = getattr(bench.dut, f"{bus}__{name}ready")
        self._stall = STALLS[stall](bench.rng)
        self._offering = False
        for signal in (self._valid, *self._signals.values()):
            signal.value = 0

    def send(self, values: dict[str, int], *, after: int = 0) -> None:
        """Queue an offer, to be made in so many cycles at the earliest."""
        self._waiting.append((self._bench.cycle + after, values))

    def sample(self) -> bool:
        """Whether the offer was taken at this edge."""
        taken = self._offering and int(self._ready.value) == 1
        if taken:
            self._waiting.popleft()
            self.times.append(self._bench.cycle)
            self._offering = False
        return taken

    def drive(self) -> None:
        """Drive the channel for the next edge."""
        if not self._offering and self._waiting:
            due = self._bench.cycle >= self._waiting[0][0]
            self._offering = due and not next(self._stall)
            if self._offering:
                for part, value in self._waiting[0][1].items():
                    self._signals[part].value = value
        self._valid.value = int(self._offering)

    def clear(self) -> None:
        """Withdraw all."""
        self._waiting.clear()
        self._offering = False
        self._valid.value = 0


@dataclass(eq=False)
class Access:
    """A word to be read or written, and what came of it."""

    address: int
    word: int = 0  # to write, or as read
    strobe: int = 0xF
    address_after: int = 0  # cycles that the address waits once its turn has come
    data_after: int = 0
    response: int | None = None
    begun: int = 0  # cycle in which its turn came
    finished: int = 0  # cycle of its answer


class LiteManager:
    """AXI4-Lite: an access each way at a time, reads and writes without regard to each other.

    Attributes:
        ar, aw, w: What it offers.
    """

    def __init__(self, bench: Bench, *, bus: str = "i", idle: str = "never", stall: str = "never"):
        self.ar = Offer(bench, "ar", ("addr",), idle, bus=bus)
        self.aw = Offer(bench, "aw", ("addr",), idle, bus=bus)
        self.w = Offer(bench, "w", ("data", "strb"), idle, bus=bus)
        self._r = Channel(bench, "r", ("data", "resp"), stall, bus=bus)
        self._b = Channel(bench, "b", ("resp",), stall, bus=bus)
        self._waiting: dict[Channel, deque[Access]] = {self._r: deque(), self._b: deque()}
        self._current: dict[Channel, Access | None] = {self._r: None, self._b: None}
        self._bench = bench
        for channel in ("ar", "aw"):
            getattr(bench.dut, f"{bus}__{channel}prot").value = 0
        bench.add(self)

    @property
    def idle(self) -> bool:
        """Whether all is answered."""
        return not (any(self._waiting.values()) or any(self._current.values()))

    def read(self, address: int, **more) -> Access:
        """Queue a read."""
        self._waiting[self._r].append(access := Access(address, **more))
        return access

    def write(self, address: int, word: int, strobe: int = 0xF, **more) -> Access:
        """Queue a write."""
        self._waiting[self._b].append(access := Access(address, word, strobe, **more))
        return access

    async def finish(self, *, limit: int = 20_000) -> None:
        """Wait until all is answered."""
        await self._bench.until(lambda: self.idle, limit=limit)

    def tick(self) -> None:
        for offer in (self.ar, self.aw, self.w):
            offer.sample()
        for channel, waiting in self._waiting.items():
            answer, access = channel.sample(), self._current[channel]
            if answer is not None:
                assert access is not None, f"{answer} answers nothing"
                access.word = answer.get("data", access.word)
                access.response = answer["resp"]
                access.finished = self._bench.cycle
                self._current[channel] = None
            if self._current[channel] is None and waiting:
                self._current[channel] = access = waiting.popleft()
                access.begun = self._bench.cycle
                self._begin(access, writes=channel is self._b)
            channel.drive(not channel.stalled())
        for offer in (self.ar, self.aw, self.w):
            offer.drive()

    def _begin(self, access: Access, *, writes: bool) -> None:
        address = self.aw if writes else self.ar
        address.send({"addr": access.address}, after=access.address_after)
        if writes:
            beat = {"data": access.word, "strb": access.strobe}
            self.w.send(beat, after=access.data_after)


class LiteSubordinate:
    """AXI4-Lite: an access each way at a time, address and data in any order.

    Attributes:
        words: What is read, by address; else the address itself.
        responses: Response other than OKAY, by address.
        reads, writes: Every address that was read; every (address, word, strobe).
        mute: True: answer nothing.
    """

    def __init__(
        self, bench: Bench, bus: str, *, latency: int = 1, idle: str = "never", stall: str = "never"
    ):
        self.words: dict[int, int] = {}
        self.responses: dict[int, int] = {}
        self.reads: list[int] = []
        self.writes: list[tuple[int, int, int]] = []
        self.mute = False
        self.r = Offer(bench, "r", ("data", "resp"), idle, bus=bus)
        self.b = Offer(bench, "b", ("resp",), idle, bus=bus)
        self.ar = Channel(bench, "ar", ("addr",), stall, bus=bus)
        self.aw = Channel(bench, "aw", ("addr",), stall, bus=bus)
        self.w = Channel(bench, "w", ("data", "strb"), stall, bus=bus)
        self.times: dict[str, list[int]] = {"ar": [], "aw": [], "w": []}
        self._held: dict[str, dict[str, int]] = {}  # what was taken and is not answered
        self._latency, self._bench = latency, bench
        bench.add(self)

    def clear(self) -> None:
        """Be reset."""
        self._held.clear()
        for offer in (self.r, self.b):
            offer.clear()
        for channel in (self.ar, self.aw, self.w):
            channel.standing = None

    def tick(self) -> None:
        held = self._held
        if self.r.sample():
            del held["ar"]
        if self.b.sample():
            del held["aw"], held["w"]
        taken = {name: getattr(self, name).sample() for name in self.times}
        for name, fields in taken.items():
            if fields is not None:
                held[name] = fields
                self.times[name].append(self._bench.cycle)
        if taken["ar"] is not None and not self.mute:
            address = taken["ar"]["addr"]
            self.reads.append(address)
            word, response = self.words.get(address, address), self.responses.get(address, OKAY)
            self.r.send({"data": word, "resp": response}, after=self._latency - 1)
        if (taken["aw"] or taken["w"]) and "aw" in held and "w" in held and not self.mute:
            address, beat = held["aw"]["addr"], held["w"]
            self.writes.append((address, beat["data"], beat["strb"]))
            self.b.send({"resp": self.responses.get(address, OKAY)}, after=self._latency - 1)
        for name in self.times:
            channel = getattr(self, name)
            channel.drive(name not in held and not channel.stalled())
        self.r.drive()
        self.b.drive()
