# SPDX-FileCopyrightText: castbag contributors
# SPDX-License-Identifier: BSD-2-Clause
"""The host's end of the link against a device in Python, on good lines and on bad ones."""

import os
import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from castbag.boards.link import BusError, Link, LinkError, LinkLost, NoDevice, PortBusy
from tests.fake_port import Device, FakePort

BAUDRATE = 3_000_000
SILENCE = 0.025
BAD = range(0xF000_0000, 0x1_0000_0000)
BLOCK = 16
"""Words: short, so that much happens in little time."""


def linked(port_of=FakePort, *, tries: int = 6, block: int = BLOCK, window: int = 4, **line):
    device = Device(silence=SILENCE, words_silences=4, bad=BAD)
    port = port_of(device, baudrate=BAUDRATE, **line)
    link = Link(
        port,
        baudrate=BAUDRATE,
        silence=SILENCE,
        tries=tries,
        block=block,
        window=window,
        now=port.now,
    )
    return link, port, device


def content(device: Device, address: int, size: int) -> bytes:
    return b"".join(
        device.words[place].to_bytes(4, "little")
        for place in range(address // 4, (address + size) // 4)
    )


@pytest.mark.parametrize("size", [0, 4, 60, 64, 68, 4096])
def test_blocks_there_and_back(size):
    link, port, device = linked(latency=0.001)
    link.synchronise()
    data, seen = random.Random(size).randbytes(size), []
    link.write(0x1000, data, seen.append)
    assert content(device, 0x1000, size) == data
    assert seen == [*range(64, size, 64), *([size] if size else [])]
    assert set(device.words) == set(range(0x400, 0x400 + size // 4))
    seen.clear()
    assert link.read(0x1000, size, seen.append) == data
    assert seen == [*range(64, size, 64), *([size] if size else [])]
    assert link.retries == 0


def test_words():
    link, port, device = linked()
    link.write_words(0x100, [0x01020304, 5])
    assert port.written == bytes.fromhex("01 02 00000040 01020304 00000005")
    assert link.read_words(0x100, 2) == [0x01020304, 5]
    link.write_words(0x200, [1, 2, 3], fixed=True)
    assert (device.words[0x80], device.words[0x81]) == (3, 0)
    assert link.read_words(0x200, 3, fixed=True) == [3, 3, 3]
    many = list(range(1000, 1600))
    link.write_words(0x400, many)
    assert link.read_words(0x400, 600) == many
    assert link.read_words(BAD.start, 1) == [0xFFFFFFFF]
    link.write_word(0x100, 0xAABBCCDD)
    assert link.read_word(0x100) == 0xAABBCCDD
    assert link.read_words(0x100, 1) == [0xAABBCCDD]  # after blocks: waits until they are welcome
    assert link.retries == 0


def test_a_transfer_takes_the_time_of_its_bytes():
    link, port, device = linked(block=256, window=8, latency=0.008)
    link.synchronise()
    size = 256 << 10
    for transfer, overhead in (
        (lambda: link.write(0, bytes(size)), 16),
        (lambda: link.read(0, size), 9),
    ):
        start = port.time
        transfer()
        line = size / 1024 * (1024 + overhead) * 10 / BAUDRATE
        assert port.time - start < 1.05 * line + 0.03


def damages(least: int, most: int, limit: int):
    kinds = st.one_of(
        st.just(("lose", 0)),
        st.tuples(st.just("flip"), st.integers(1, 255)),
        st.tuples(st.just("extra"), st.sampled_from([0, 1, 2, 3, 4, 0xB1, 0xB2, 0xD2, 0xFF])),
        st.tuples(st.just("pause"), st.sampled_from([0.001, 0.02, 0.03, 0.11, 0.3])),
    )
    return st.dictionaries(st.integers(0, limit), kinds, min_size=least, max_size=most)


# Words that would be requests for words if they were taken for them.
TRAP = bytes.fromhex("01010000 0000dead")


def whole_transfers(outward, inward, latency, size, *, tries) -> Link:
    """Write and read back; nothing outside the place may ever be touched."""
    link, port, device = linked(outward=outward, inward=inward, latency=latency, tries=tries)
    link.synchronise()
    data = (TRAP * (size // 8 + 1))[: size // 2] + random.Random(size).randbytes(size - size // 2)
    try:
        link.write(0x1000, data)
        assert content(device, 0x1000, size) == data
        assert link.read(0x1000, size) == data
    finally:
        touched = {place for place in device.words if device.words[place]}
        assert touched <= set(range(0x400, 0x400 + size // 4))
        assert port.time < 1 + (link.retries + 1) * 2
    return link


@settings(max_examples=150, deadline=None)
@given(
    outward=damages(0, 3, 900),
    inward=damages(0, 2, 900),
    latency=st.sampled_from([0.0, 0.001, 0.016]),
    size=st.sampled_from([4, 64, 400, 600]),
)
def test_a_few_damages_are_mended(outward, inward, latency, size):
    link = whole_transfers(outward, inward, latency, size, tries=11)
    assert link.retries <= 2 * (len(outward) + len(inward))  # a pause may cost two


@settings(max_examples=100, deadline=None)
@given(outward=damages(0, 60, 4000), inward=damages(0, 60, 4000), size=st.sampled_from([64, 600]))
def test_many_damages_are_mended_or_told(outward, inward, size):
    try:
        link = whole_transfers(outward, inward, 0.001, size, tries=4)
    except LinkLost:
        return
    assert link.retries <= 2 * (len(outward) + len(inward))


@pytest.mark.parametrize("rate", [1e-4, 1e-3])
def test_a_noisy_line_only_takes_longer(rate):
    rng = random.Random(1)

    def noise(_: int):
        if rng.random() > rate:
            return None
        return rng.choice([("lose", 0), ("flip", 1 << rng.randrange(8)), ("extra", 1)])

    link, port, device = linked(outward=noise, inward=noise, latency=0.004)
    link.synchronise()
    data = rng.randbytes(16 << 10)
    link.write(0, data)
    assert content(device, 0, len(data)) == data
    assert link.read(0, len(data)) == data
    assert 0 < link.retries < 200


def test_nothing_there():
    link, port, _ = linked(lambda device, **line: FakePort(None, **line), tries=4)
    with pytest.raises(LinkLost, match="reach the board.* no answer, 4 times in a row$"):
        link.synchronise()
    assert port.time < 4
    with pytest.raises(LinkLost, match="read words, stopped at 0x00000100; no answer, 4 times"):
        link.read_words(0x100, 1)


def test_the_link_is_lost_in_the_middle():
    link, port, device = linked(tries=3)
    link.synchronise()

    def unplug(done: int) -> None:
        if done >= 256:
            port.device = None

    # Three blocks were under way.
    with pytest.raises(LinkLost, match="could not write 1024 bytes, stopped at 0x00001180; "):
        link.write(0x1000 - 64, bytes(1024), unplug)
    port.device = device
    link.synchronise()  # and it is there again
    assert link.read(0, 64) == bytes(64)


def test_the_port_fails():
    link, port, _ = linked()
    port.gone = True
    with pytest.raises(LinkLost, match="the serial port failed .*: is the board plugged in"):
        link.read_word(0)


@pytest.mark.parametrize("verb", ["read", "write"])
def test_a_bus_error_tells_its_address(verb):
    link, port, device = linked()
    address = BAD.start - 100
    with pytest.raises(BusError, match=f"refused to {verb} 0x{BAD.start:08x}$") as caught:
        link.read(address, 400) if verb == "read" else link.write(address, bytes(400))
    assert caught.value.address == BAD.start
    link.write_word(0x10, 7)
    assert link.read_word(0x10) == 7
    assert link.retries == 0


@pytest.mark.parametrize(
    ("address", "size", "message"),
    [
        (2, 4, "address = 0x2: must be a multiple of 4 below 2"),
        (1 << 32, 4, "address = 0x100000000: must be"),
        (0, 6, "size = 6: must be a multiple of 4"),
        (0xFFFF_FFFC, 8, "size = 8: must be"),
    ],
)
def test_places_that_are_none(address, size, message):
    link, port, _ = linked()
    for access in (link.read, lambda at, n: link.write(at, bytes(n))):
        with pytest.raises(ValueError, match=message):
            access(address, size)
    assert not port.written


@pytest.mark.parametrize("wrong", [{"tries": 0}, {"block": 65536}, {"window": 101}])
def test_arguments_have_bounds(wrong):
    ((name, value),) = wrong.items()
    with pytest.raises(ValueError, match=f"{name} = {value}: must be from 1 to"):
        Link(FakePort(None, baudrate=BAUDRATE), **wrong)


def test_ports_that_do_not_open(tmp_path):
    with pytest.raises(NoDevice, match="no-such-port: there is no such port"):
        Link.open(str(tmp_path / "no-such-port"))
    (tmp_path / "file").touch()
    with pytest.raises(NoDevice, match="file: cannot be opened"):
        Link.open(str(tmp_path / "file"))
    serial = pytest.importorskip("serial")
    ends = os.openpty()
    path = os.ttyname(ends[1])
    with serial.Serial(path, exclusive=True), pytest.raises(PortBusy, match="another program"):
        Link.open(path)
    with pytest.raises(LinkLost, match="could not reach the board"):
        Link.open(path, patience=0.01, silence=0.001, tries=2)
    assert issubclass(LinkLost, LinkError)


def test_litex_finds_its_own_protocol():
    comm_uart = pytest.importorskip("litex.tools.remote.comm_uart")
    device = Device(silence=SILENCE, words_silences=4, bad=BAD)
    comm = comm_uart.CommUART.__new__(comm_uart.CommUART)
    comm.port, comm.debug, comm.addr_bytes = FakePort(device, baudrate=BAUDRATE), False, 4
    comm.port.timeout = None
    words = [k * 0x01010101 for k in range(20)]
    comm.write(0x1000, words)
    assert content(device, 0x1000, 80) == b"".join(word.to_bytes(4, "little") for word in words)
    assert comm.read(0x1000, 20) == words
    assert comm.read(0x1004) == words[1]
    assert comm.read(0x1004, 2, burst="fixed") == [words[1]] * 2
