# SPDX-FileCopyrightText: castbag contributors
# SPDX-License-Identifier: BSD-2-Clause
"""The SDRAM controller on a chip that watches its data sheet, on both simulators."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

import castbag.sim
from castbag.rtl.sdram import CHIPS, SdramController
from castbag.sim.model import SIMULATORS, Model, header_ports
from castbag.sim.sdram import SDRAM_RULES, sdram_constants, sdram_sources
from tests.sdram_traffic import quick

HERE = Path(castbag.sim.__file__).parent
BENCH = "tests.benches.sdram"
MICRON = "MT48LC16M16A2-7E"


def small(name, **changes):
    """The chip, up in a moment and with fewer rows: refreshed as often for all that."""
    chip = quick(CHIPS[name])
    fewer = chip.row_bits - 11
    return replace(chip, row_bits=11, refresh_ms=chip.refresh_ms / (1 << fewer), **changes)


def simulate(
    folder,
    *,
    chip,
    mhz,
    simulator="verilator",
    timings=None,
    needed=None,
    delay=0,
    kept_row_bits=None,
    testcase=None,
    **parameters,
):
    """`timings` are the controller's, `needed` the chip's, where not those of its data sheet."""
    controller = SdramController(chip=chip, mhz=mhz, timings=timings)
    needed = needed or controller.timings
    constants = sdram_constants(chip, needed, kept_row_bits=kept_row_bits) | {"DELAY": delay}
    sources = sdram_sources(controller)
    model = Model(
        top="sdram_memory",
        sources=tuple(sources.items()),
        simulator=simulator,
        ports=header_ports(sources["sdram_memory.v"]),
        constants=tuple(constants.items()),
    )
    parameters = {
        "constants": constants,
        "latency": 16 + controller.timings.cl,
        "short": simulator == "icarus",
        **parameters,
    }
    model.run(BENCH, folder=folder, parameters=parameters, testcase=testcase)


@pytest.mark.parametrize(
    ("simulator", "name", "mhz"),
    [
        ("verilator", MICRON, 100),  # CL 2
        ("verilator", MICRON, 143),  # CL 3
        ("verilator", "AS4C32M16SB-7", 133),  # CL 3, longer rows, slower banks
        ("verilator", "W9825G6KH-6", 50),
        ("icarus", "IS42S16160G-7", 100),
    ],
)
def test_controller(simulator, name, mhz, tmp_path):
    where = {"simulator": simulator, "folder": tmp_path}
    simulate(**where, chip=small(name), mhz=mhz, each=(name, mhz) == (MICRON, 100))


@pytest.mark.parametrize("delay", [1, 2, 5])
def test_a_later_phase_for_longer_wires(delay, tmp_path):
    simulate(
        tmp_path,
        **{"chip": small(MICRON), "mhz": 100, "delay": delay, "phase": 1 + delay},
        testcase="samples_in_its_phase_alone",
    )


def test_a_chip_of_full_size_after_its_full_wait(tmp_path):
    simulate(tmp_path, chip=CHIPS[MICRON], mhz=100, testcase="waits_until_the_chip_is_up")


HASTE = {
    # rule: what the chip needs, other than its sheet says, and the clocks the controller keeps
    1: ({}, {"rcd": -1}),
    2: ({}, {"rp": -1}),
    3: ({"ras": 12, "rc": 14}, {"ras": -1, "rc": -1}),
    4: ({"ras": 5, "rc": 16}, {"rc": -1}),
    5: ({"rrd": 3}, {"rrd": -1}),
    6: ({"wr": 3}, {"wr": -1}),
    7: ({}, {"rfc": -1}),
    8: ({"mrd": 12}, {"mrd": -10}),  # it takes some cycles more than it must
    9: ({"refresh": 150}, {"refresh": 300}),
    10: ({"power_up": 3000}, {"power_up": -2950}),
    11: ({}, {"cl": 1}),
    13: ({}, {"turn": -1}),
}


@pytest.mark.parametrize("rule", HASTE)
def test_a_timing_that_is_too_short_is_found(rule, tmp_path):
    chip = small(MICRON, rcd=22, rp=22)
    chip_needs, controller_keeps = HASTE[rule]
    needed = replace(chip.timings(100), **chip_needs)
    changed = {name: getattr(needed, name) + by for name, by in controller_keeps.items()}
    runs = [(replace(needed, **changed), rule)]
    if chip_needs or rule == min(HASTE):  # and none is found in a controller that takes its time
        runs.append((needed, 0))
    for timings, expected in runs:
        simulate(
            tmp_path,
            **{"chip": chip, "mhz": 100, "timings": timings, "needed": needed},
            **{"simulator": "icarus", "testcase": "breaks_rules", "cycles": 3000},
            kept_row_bits=3,
        )
        broken = json.loads((tmp_path / "broken.json").read_text())
        assert broken == expected, SDRAM_RULES.get(broken)


@pytest.mark.parametrize("simulator", SIMULATORS)
def test_chip_names_the_rule_that_a_command_breaks(simulator, tmp_path):
    chip = small(MICRON)
    constants = sdram_constants(chip, chip.timings(100), kept_row_bits=3) | {
        "POWER_UP": 50,
        "T_RC": 8,
    }
    text = (HERE / "sdram_chip.v").read_text()
    model = Model(
        top="sdram_chip",
        sources=(("sdram_chip.v", text),),
        simulator=simulator,
        ports=header_ports(text),
        constants=tuple(constants.items()),
    )
    for rule in (0, *SDRAM_RULES):
        parameters = {"constants": constants, "rule": rule}
        model.run("tests.benches.sdram_chip", folder=tmp_path, parameters=parameters)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"mhz": 144}, "mhz = 144: MT48LC16M16A2-7E has up to 143"),
        ({"mhz": 1}, "mhz = 1: MT48LC16M16A2-7E would do little but refresh"),
        ({"address_bits": 11}, "address_bits = 11: must be 12 to 64"),
        ({"phase": 16}, "phase = 16: must be 0 to 15"),
    ],
)
def test_bad_controllers(given, message):
    with pytest.raises(ValueError, match=message):
        SdramController(**{"chip": CHIPS[MICRON], "mhz": 100, **given})


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"banks": 2}, "banks = 2: must be 4"),
        ({"data_bits": 32}, "data_bits = 32: must be 16"),
        ({"row_bits": 10}, "row_bits = 10: must be 11 to 16"),
        ({"column_bits": 11}, "column_bits = 11: must be 8 to 10"),
    ],
)
def test_bad_chips(given, message):
    with pytest.raises(ValueError, match=message):
        replace(CHIPS[MICRON], **given)


def test_chips():
    sizes = {name: chip.capacity >> 20 for name, chip in CHIPS.items()}
    assert sizes == {MICRON: 32, "W9825G6KH-6": 32, "AS4C32M16SB-7": 64, "IS42S16160G-7": 32}
    assert CHIPS[MICRON].page_bytes == 1024
    timings = CHIPS[MICRON].timings(133)
    found = (timings.cl, timings.rcd, timings.rp, timings.ras, timings.rc, timings.rfc)
    assert found == (2, 2, 2, 5, 8, 9)
    assert CHIPS[MICRON].timings(143).cl == 3
    assert CHIPS["AS4C32M16SB-7"].timings(100).rcd == 3
