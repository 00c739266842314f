# SPDX-FileCopyrightText: castbag contributors
# SPDX-License-Identifier: BSD-2-Clause
"""The read port with several AXI4 ports."""

import dataclasses

import pytest

from castbag.rtl.config import ConfigError, preset
from castbag.rtl.memory import ReadPort
from castbag.sim.bench import simulate
from tests.benches import read_port, striped


def run(bench: str, *, simulator: str, folder, testcase: str | None = None, **chosen) -> None:
    """Run a bench with a config that `chosen` says, see `striped.config_of`."""
    simulate(
        ReadPort(striped.config_of(**chosen), clients=read_port.CLIENTS),
        f"tests.benches.{bench}",
        simulator=simulator,
        folder=folder,
        testcase=testcase,
        **chosen,
    )


# Stripes of several bursts, of one, of less than a longest one.
@pytest.mark.parametrize("ports, stripe", [(2, 256), (4, 64), (8, 32)])
def test_read_stripes(ports, stripe, tmp_path):
    chosen = {"ports": ports, "stripe": stripe, "requests": 3, "quick": ports == 8}
    run("read_stripes", simulator="verilator", folder=tmp_path, **chosen)


@pytest.mark.parametrize("ports", [2, 4])
def test_read_stripes_on_icarus(ports, tmp_path):
    chosen = {"ports": ports, "stripe": 64, "requests": 1, "quick": True}
    run("read_stripes", simulator="icarus", folder=tmp_path, **chosen)


# Stripes of one beat; return queues in LUT RAM, of two bursts.
@pytest.mark.parametrize("chosen", [{"stripe": 8}, {"stripe": 64, "depth": 16}])
def test_read_stripes_as_small_as_can_be(chosen, tmp_path):
    chosen |= {"ports": 2, "requests": 2, "quick": True}
    run("read_stripes", simulator="verilator", folder=tmp_path, **chosen)


@pytest.mark.parametrize("ports, stripe", [(2, 256), (4, 64), (8, 32)])
def test_pace(ports, stripe, tmp_path):
    run("read_stripes_pace", simulator="verilator", folder=tmp_path, ports=ports, stripe=stripe)


@pytest.mark.parametrize(
    "ports, depth, testcase",
    [
        # One port is as slow as its memory; what it had is measured as for several.
        (1, 64, ["slow_ports_add_up/pace=data", "slow_ports_add_up/pace=address"]),
        # Return queues in LUT RAM are nearer, and cover less.
        (2, 16, ["a_beat_takes_as_long_as_stated", *(f"keeps_busy/beyond={n}" for n in (0, 1))]),
    ],
)
def test_pace_in_part(ports, depth, testcase, tmp_path):
    chosen = {"ports": ports, "stripe": 64, "depth": depth, "testcase": ",".join(testcase)}
    run("read_stripes_pace", simulator="verilator", folder=tmp_path, **chosen)


@pytest.mark.parametrize(
    "changed, message",
    [
        ({"read_ports": 0}, "read_ports = 0: must be a power of two, 1 to 8"),
        ({"read_ports": 3}, "read_ports = 3: must be a power of two, 1 to 8"),
        ({"read_ports": 16}, "read_ports = 16: must be a power of two, 1 to 8"),
        (
            {"read_stripe": 8},
            r"read_stripe = 8: must be a power of two, 16 \(a bus word\) to 4096",
        ),
        ({"read_stripe": 8192}, "read_stripe = 8192: must be a power of two, 16 .* to 4096"),
        ({"read_stripe": 320}, "read_stripe = 320: must be a power of two, 16 .* to 4096"),
    ],
)
def test_impossible_ports_are_refused(changed, message):
    with pytest.raises(ConfigError, match=f"^{message}$"):
        dataclasses.replace(preset("base"), **changed)
