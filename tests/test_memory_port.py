# SPDX-FileCopyrightText: castbag contributors
# SPDX-License-Identifier: BSD-2-Clause
"""The ports to memory."""

import pytest

from castbag.rtl.config import preset
from castbag.rtl.memory import ReadClient, ReadPort, WriteClient, WritePort
from castbag.rtl.memory.bursts import Splitter
from castbag.sim.bench import simulate
from castbag.sim.model import SIMULATORS
from tests.benches import read_port, splitter, write_port

# Requests a client: Icarus takes ten times as long for one.
REQUESTS = {"verilator": 6, "icarus": 1}


@pytest.mark.parametrize("simulator", SIMULATORS)
def test_read_port(simulator, tmp_path):
    port = ReadPort(read_port.CONFIG, clients=read_port.CLIENTS)
    simulate(
        port,
        "tests.benches.read_port",
        simulator=simulator,
        folder=tmp_path,
        requests=REQUESTS[simulator],
    )


@pytest.mark.parametrize("simulator", SIMULATORS)
def test_write_port(simulator, tmp_path):
    port = WritePort(write_port.CONFIG, clients=write_port.CLIENTS)
    simulate(
        port,
        "tests.benches.write_port",
        simulator=simulator,
        folder=tmp_path,
        requests=REQUESTS[simulator],
    )


# Bursts that are half a page, a whole one, as short as can be.
@pytest.mark.parametrize("bus_bits, burst_beats", [(64, 256), (128, 256), (1024, 32), (64, 2)])
def test_splitter(bus_bits, burst_beats, tmp_path):
    simulate(
        Splitter(splitter.config_of(bus_bits, burst_beats)),
        "tests.benches.splitter",
        simulator="icarus",
        folder=tmp_path,
        bus_bits=bus_bits,
        burst_beats=burst_beats,
    )


@pytest.mark.parametrize("port, client", [(ReadPort, ReadClient), (WritePort, WriteClient)])
@pytest.mark.parametrize(
    "clients, message",
    [
        ([], r"clients = \(\): a port has at least one"),
        ([("a b", 64, 4)], "client 'a b': must be an identifier, used once"),
        ([("a", 64, 4), ("a", 64, 4)], "client 'a': must be an identifier, used once"),
        ([("a", 8, 4)], "client a: beats = 8: must be a power of two of at least 16, two bursts"),
        ([("a", 48, 4)], "client a: beats = 48: must be a power of two of at least 16"),
        ([("a", 64, 0)], "client a: bursts = 0: must be at least 1"),
    ],
)
def test_impossible_clients_are_refused(port, client, clients, message):
    with pytest.raises(ValueError, match=message):
        port(preset("tiny"), clients=tuple(client(*each) for each in clients))
