# SPDX-FileCopyrightText: castbag contributors
# SPDX-License-Identifier: BSD-2-Clause
"""The SDRAM controller on a chip that watches its data sheet, on both simulators."""

import json
from dataclasses import replace

import pytest

from castbag.rtl.sdram import CHIPS, SdramController
from castbag.sim.model import Model, header_ports
from castbag.sim.sdram import SDRAM_RULES, sdram_constants, sdram_sources
from tests.sdram_traffic import quick

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
    refreshes=None,
    testcase=None,
    **parameters,
):
    """`timings` are the controller's, `needed` the chip's, where not those of its data sheet."""
    controller = SdramController(chip=chip, mhz=mhz, timings=timings)
    constants = sdram_constants(
        chip, needed or controller.timings, delay=delay, refreshes=refreshes
    )
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
    simulate(
        tmp_path, chip=CHIPS[MICRON], mhz=100, testcase="waits_until_the_chip_is_up"
    )


HASTE = {
    # rule: what the chip needs, other than its sheet says, and the clocks the controller keeps
    1: ({}, {"rcd": -1}),
    2: ({}, {"rp": -1}),
    3: ({"ras": 12, "rc": 14}, {"ras": -1, "rc": -1}),
    4: ({"ras": 5, "rc": 16}, {"rc": -1}),
    5: ({"rrd": 3}, {"rrd": -1}),
    6: ({"wr": 3}, {"wr": -1}),
    7: ({}, {"rfc": -1}),
    8: ({"mrd": 12}, {"mrd": -10}),
    9: ({}, {"refresh": 100}),
    10: ({}, {"power_up": -100_000}),
    11: ({}, {"cl": 1}),
    13: ({}, {"turn": -1}),
}


@pytest.mark.parametrize("rule", HASTE)
def test_a_timing_that_is_too_short_is_found(rule, tmp_path):
    chip = small(MICRON, power_up_us=40) if rule == 10 else small(MICRON, rcd=22, rp=22)
    chip_needs, controller_keeps = HASTE[rule]
    needed = replace(chip.timings(100), **chip_needs)
    changed = {name: getattr(needed, name) + by for name, by in controller_keeps.items()}
    if rule == 10:
        changed = {"power_up": 1000}
    cycles = 60_000 if rule == 9 else 20_000
    for timings, expected in ((needed, 0), (replace(needed, **changed), rule)):
        simulate(
            tmp_path,
            **{"chip": chip, "mhz": 100, "timings": timings, "needed": needed},
            testcase="breaks_rules",
            cycles=cycles,
        )
        broken = json.loads((tmp_path / "broken.json").read_text())
        assert broken == expected, SDRAM_RULES.get(broken)
