# SPDX-FileCopyrightText: castbag contributors
# SPDX-License-Identifier: BSD-2-Clause
"""The host link at its wires, at the fastest rate and at 3 Mbaud of 100 MHz."""

import random
from fractions import Fraction

import pytest

from castbag.boards.link import BusError, Link
from castbag.rtl.link.frames import SILENCE
from castbag.rtl.link.link import HostLink
from castbag.rtl.link.uart import BITS, TOLERANCE, phase_step
from castbag.sim.bench import simulate
from castbag.sim.model import SIMULATORS
from tests.benches.link import BAD
from tests.fake_port import Device, FakePort

RATES = {"least": Fraction(4), "3M_of_100M": Fraction(100, 3)}


def run(rate: str, bench: str, **arguments) -> None:
    bit = RATES[rate]
    silence = int(40 * bit)
    simulate(
        HostLink(cycles_a_bit=bit, silence=silence, words_silences=3, depth=256),
        f"tests.benches.{bench}",
        bit=float(bit),
        silence=silence,
        words_silences=3,
        **arguments,
    )


@pytest.mark.parametrize("simulator", SIMULATORS)
@pytest.mark.parametrize("rate", RATES)
def test_link(rate, simulator, tmp_path):
    quick = (rate, simulator) != ("3M_of_100M", "icarus")
    run(
        rate,
        "link",
        simulator=simulator,
        folder=tmp_path,
        testcase=None if quick else "words_as_uart_bone_has_them",
        slow=rate != "least",
        short=simulator == "icarus",
    )


@pytest.mark.parametrize("simulator", SIMULATORS)
def test_link_on_a_bad_line(simulator, tmp_path):
    run(
        "least",
        "link_damage",
        simulator=simulator,
        folder=tmp_path,
        testcase=None if simulator == "verilator" else "a_byte_without_stop_bit_and_a_break",
    )


@pytest.mark.parametrize("simulator", SIMULATORS)
def test_the_rtl_answers_the_host_as_its_twin_does(simulator, tmp_path):
    device = Device(silence=SILENCE, words_silences=4, bad=BAD)
    port = FakePort(device, baudrate=3_000_000)
    link = Link(port, block=8, window=3, now=port.now)
    data = random.Random(1).randbytes(92)
    link.write_words(0x40, [0xDEADBEEF, 7])
    assert link.read_words(0x44, 1) == [7]
    link.write(0x1000, data)
    assert link.read(0x1004, 84) == data[4:88]
    with pytest.raises(BusError):
        link.write(BAD.start - 8, data[:16])
    with pytest.raises(BusError):
        link.read(BAD.start - 4, 8)
    assert link.read_word(0x40) == 0xDEADBEEF
    run(
        "least",
        "link",
        simulator=simulator,
        folder=tmp_path,
        testcase="does_as_the_host_expects",
        sent=port.written.hex(),
        answered=port.answered.hex(),
    )


@pytest.mark.parametrize("baudrate", [9600, 115200, 921_600, 1_000_000, 3_000_000, 12_000_000])
@pytest.mark.parametrize("clock", [50_000_000, 100_000_000, 108_333_333])
def test_a_byte_is_as_long_as_it_should_be(baudrate, clock):
    cycles = Fraction(clock, baudrate)
    width, step = phase_step(cycles)
    assert abs(BITS * (Fraction(1 << width, step) - cycles)) <= TOLERANCE * cycles
    assert width <= 26


@pytest.mark.parametrize("cycles", [0, Fraction(39, 10), 65537])
def test_a_bit_has_some_cycles(cycles):
    with pytest.raises(ValueError, match=f"cycles_a_bit = {cycles}: must be from 4 to 65536"):
        HostLink(cycles_a_bit=cycles, silence=10**9)


def test_a_silence_is_longer_than_some_bytes():
    with pytest.raises(ValueError, match="silence = 119: must be at least three bytes' time"):
        HostLink(cycles_a_bit=4, silence=119)
    with pytest.raises(ValueError, match="words_silences = 0: must be at least 1"):
        HostLink(cycles_a_bit=4, silence=120, words_silences=0)
