# SPDX-FileCopyrightText: castbag contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Bench: a clock, a reset, a cycle limit, and stream ends that check the rules as they go.

A bench advances all its parts once a cycle, in one coroutine: each part samples what the
edge sees, then drives what the next edge will see. Every wait has a limit; the seed is
cocotb's, which prints it.

    bench = Bench(dut)
    source = bench.source("i", shape, stall="half")
    sink = bench.sink("o", shape, stall="bursts")
    await bench.reset()
    source.send({"row": 3, "end": 1})
    await bench.until(lambda: len(sink.items) == 1)
"""

import json
import os
import random
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import cocotb
from amaranth.hdl import Shape, ShapeCastable
from amaranth.lib import data, wiring
from cocotb.clock import Clock
from cocotb.triggers import RisingEdge

from castbag.rtl.verilog import to_verilog

from .model import PARAMETERS, Model


def _never(rng: random.Random) -> Iterator[bool]:
    while True:
        yield False


def _half(rng: random.Random) -> Iterator[bool]:
    while True:
        yield rng.random() < 0.5


def _mostly(rng: random.Random) -> Iterator[bool]:
    while True:
        yield rng.random() < 0.9


def _bursts(rng: random.Random) -> Iterator[bool]:
    while True:
        yield from [True] * rng.randint(1, 20)
        yield from [False] * rng.randint(1, 20)


STALLS: dict[str, Callable[[random.Random], Iterator[bool]]] = {
    "never": _never,
    "half": _half,
    "mostly": _mostly,
    "bursts": _bursts,
}
"""Patterns of idle (a source) and of back-pressure (a sink): True holds back for a cycle."""


def parameters() -> dict:
    """What the test handed to this bench."""
    return json.loads(os.environ.get(PARAMETERS, "{}"))


class Codec:
    """Payloads between Python values and the bits of a port.

    A struct is a dict of fields (nested for nested structs), anything else an int. A field
    that is left out of a dict is 0.
    """

    def __init__(self, shape):
        self.layout = shape if isinstance(shape, data.Layout) else None
        self.width = shape.size if self.layout is not None else Shape.cast(shape).width
        if self.layout is None and isinstance(shape, ShapeCastable):
            raise TypeError(f"{shape!r}: only layouts and plain shapes can be driven")
        # Made once: a bench spends much of its time here.
        self._fields = [
            (name, field.offset, Codec(field.shape)) for name, field in self.layout or ()
        ]
        self._nothing = 0 if self.layout is None else {}

    def encode(self, value) -> int:
        if self.layout is None:
            return value
        bits, known = 0, 0
        for name, offset, codec in self._fields:
            known += name in value
            item = codec.encode(value.get(name, codec._nothing))
            if not 0 <= item < 1 << codec.width:
                raise ValueError(f"{name} = {item:#x} does not fit {codec.width} bits")
            bits |= item << offset
        if known < len(value):
            raise KeyError(f"no field {sorted(set(value) - {name for name, *_ in self._fields})}")
        return bits

    def decode(self, bits: int):
        if self.layout is None:
            return bits
        return {
            name: codec.decode(bits >> offset & (1 << codec.width) - 1)
            for name, offset, codec in self._fields
        }


class Source:
    """Drives a stream: valid never waits for ready, the payload is stable while stalled."""

    def __init__(self, bench: "Bench", port: str, shape, stall: str):
        self.codec = Codec(shape)
        self.waiting: deque[int] = deque()
        self.times: list[int] = []  # cycle of each transfer
        self._bench = bench
        self._stall = STALLS[stall](bench.rng)
        self._valid, self._ready, self._payload = bench.stream(port)
        self._offering = False
        self._valid.value = 0
        self._payload.value = 0

    def send(self, value) -> None:
        """Queue one payload."""
        self.waiting.append(self.codec.encode(value))

    def send_all(self, values: Iterable) -> None:
        """Queue payloads in order."""
        for value in values:
            self.send(value)

    @property
    def idle(self) -> bool:
        """All that was queued has been taken."""
        return not self.waiting

    def tick(self) -> None:
        if self._offering and self._ready.value == 1:
            self.waiting.popleft()
            self.times.append(self._bench.cycle)
            self._offering = False
            self._valid.value = 0
        if not self._offering and self.waiting and not next(self._stall):
            self._offering = True
            self._valid.value = 1
            self._payload.value = self.waiting[0]


class Sink:
    """Takes a stream, and checks that an offer stands unchanged until it is taken."""

    def __init__(self, bench: "Bench", port: str, shape, stall: str):
        self.codec = Codec(shape)
        self.items: list = []
        self.times: list[int] = []  # cycle of each transfer
        self.hold = False  # True: take nothing
        self._bench = bench
        self._port = port
        self._stall = STALLS[stall](bench.rng)
        self._valid, self._ready, self._payload = bench.stream(port)
        self._taking = False
        self._standing: int | None = None
        self._ready.value = 0

    def tick(self) -> None:
        offered = int(self._valid.value) == 1  # an X raises here, as it should
        bits = int(self._payload.value) if offered else None
        if self._standing is not None:
            assert offered, f"{self._port}: an offer was withdrawn at cycle {self._bench.cycle}"
            assert bits == self._standing, (
                f"{self._port}: payload changed while stalled at cycle {self._bench.cycle}"
            )
        self._standing = None if self._taking else bits
        if bits is not None and self._taking:
            self.items.append(self.codec.decode(bits))
            self.times.append(self._bench.cycle)
        taking = not self.hold and not next(self._stall)
        if taking != self._taking:
            self._taking = taking
            self._ready.value = int(taking)


class Bench:
    """The frame of a cocotb test around one unit with ports `clk` and `rst`."""

    def __init__(self, dut):
        self.dut = dut
        self.cycle = 0
        self.rng = random.Random(cocotb.RANDOM_SEED)
        self._parts: list = []
        dut.rst.value = 1
        Clock(dut.clk, 10, "ns").start()

    def stream(self, port: str):
        """The three signals of the stream `port`: valid, ready, payload."""
        return tuple(getattr(self.dut, f"{port}__{part}") for part in ("valid", "ready", "payload"))

    def source(self, port: str, shape, *, stall: str = "never") -> Source:
        """Drive the unit's input stream `port`, idle by pattern `stall`."""
        return self.add(Source(self, port, shape, stall))

    def sink(self, port: str, shape, *, stall: str = "never") -> Sink:
        """Take the unit's output stream `port`, refusing by pattern `stall`."""
        return self.add(Sink(self, port, shape, stall))

    def add(self, part):
        """Have `part.tick()` called once a cycle, in the order of adding."""
        self._parts.append(part)
        return part

    async def reset(self, cycles: int = 2) -> None:
        """Hold reset, then release it; parts stand still meanwhile."""
        self.dut.rst.value = 1
        for _ in range(cycles):
            await RisingEdge(self.dut.clk)
        self.dut.rst.value = 0
        await RisingEdge(self.dut.clk)

    async def step(self, cycles: int = 1) -> None:
        """Advance all parts by that many cycles."""
        for _ in range(cycles):
            await RisingEdge(self.dut.clk)
            self.cycle += 1
            for part in self._parts:
                part.tick()

    async def until(self, condition: Callable[[], bool], *, limit: int = 100_000) -> int:
        """Advance until `condition()`; returns the cycles it took, fails after `limit`."""
        start = self.cycle
        while not condition():
            assert self.cycle - start < limit, f"nothing happened for {limit} cycles"
            await self.step()
        return self.cycle - start


def module_ports(text: str, module: str) -> tuple[str, ...]:
    """Names of the ports of a module in Verilog that Amaranth wrote."""
    header = text[text.index(f"module {module}(") :]
    listed = header[header.index("(") + 1 : header.index(")")]
    return tuple(sorted(port.strip() for port in listed.split(",")))


def unit_model(unit: wiring.Component, *, simulator: str, waves: bool = False) -> Model:
    """A model of one unit alone; a bench sees its ports."""
    top = type(unit).__name__.lower()
    text = to_verilog(unit, name=top)
    return Model(
        top=top,
        sources=((f"{top}.v", text),),
        simulator=simulator,
        ports=module_ports(text, top),
        waves=waves,
    )


def simulate(
    unit: wiring.Component,
    bench: str,
    *,
    simulator: str,
    folder: Path,
    testcase: str | None = None,
    seed: int = 1,
    waves: bool = False,
    **parameters,
) -> None:
    """Run the cocotb module `bench` on `unit`; what a pytest test calls.

    Args:
        unit: The unit under test, freshly made.
        bench: Dotted name of the module with the cocotb tests, such as "tests.benches.queue".
        folder: Where log and waves go (pytest's `tmp_path`).
        parameters: JSON values that the bench reads with `parameters()`.
    """
    model = unit_model(unit, simulator=simulator, waves=waves)
    model.run(bench, folder=folder, parameters=parameters, testcase=testcase, seed=seed)
