# SPDX-FileCopyrightText: castbag contributors
# SPDX-License-Identifier: BSD-2-Clause

"""A step on a device that the golden model imitates: what is compared, and what is caught."""

import re

import numpy as np
import pytest

from castbag.golden.fp32 import bits
from castbag.golden.step import step
from castbag.host.files import Refused
from castbag.host.step import DeviceStopped, run_step
from castbag.host.trace import Trace
from castbag.host.workload import prepare
from castbag.rtl.config import PRESETS
from castbag.rtl.control.map import Error, Phase

from .fake_device import FakeDevice, decode

DATAFLOWS = ("expand-coalesce", "cast", "fused")


def trace(**changed):
    """The example of Tensor Casting, with an empty bag behind it."""
    plain = {"indices": np.array([2, 5, 2, 0]), "offsets": np.array([0, 2, 4])}
    return Trace(**{"name": "t.npz", **plain, **changed})


def workload(given=None, *, preset="base", dataflows=DATAFLOWS, **options):
    given = trace() if given is None else given
    config = PRESETS[preset]
    return prepare(given, config=config, preset=preset, dataflows=dataflows, **options)


def run(work, *, dataflows=DATAFLOWS, **device):
    fake = FakeDevice(work.config, memory_bytes=work.layout.memory_bytes, **device)
    return run_step(fake, work, dataflows)


def same(ours, golden):
    return (ours is None and golden is None) or np.array_equal(bits(ours), bits(golden))


@pytest.mark.parametrize("op", ["step", "forward", "backward"])
@pytest.mark.parametrize("preset", ["tiny", "base", "rank"])
@pytest.mark.parametrize("dim", [1, 3, 16, 17, 64])
def test_a_right_device_has_no_faults(op, preset, dim):
    work = workload(preset=preset, op=op, dim=dim, seed=5)
    for done in run(work):
        assert done.faults == ()
        assert done.bit_exact == dict.fromkeys(("pooled", "coalesced", "table", "state"), True)
        golden = step(work.table, work.grad, work.batch, op=op, lr=0.01)
        for name in ("pooled", "coalesced", "table"):
            assert same(getattr(done.result, name), getattr(golden, name))
        assert op == "forward" or done.result.unique_rows.tolist() == [0, 2, 5]
        assert done.cycles_per_second == 2000 * len(DATAFLOWS)


@pytest.mark.parametrize("kind", [np.int32, np.int64])
def test_dropped_lookups_and_either_width(kind):
    given = trace(indices=np.array([2, -1, 5, 99, 0, 2], kind), offsets=np.array([0, 2], kind))
    work = workload(given, rows=6, padding_idx=5, bounds="ignore", dim=3)
    assert (work.index_bytes, work.offset_bytes) == (np.dtype(kind).itemsize,) * 2
    for done in run(work):
        assert done.faults == () and done.result.unique_rows.tolist() == [0, 2]
        assert (done.registers["VALID_LOOKUPS"], done.registers["DROPPED_LOOKUPS"]) == (3, 3)


@pytest.mark.parametrize(
    ("indices", "offsets"), [([], []), ([], [0]), ([], [0, 0, 0]), ([0], [0]), ([3, 3], [0, 0])]
)
def test_small_batches(indices, offsets):
    given = trace(indices=np.array(indices, np.int64), offsets=np.array(offsets, np.int64))
    assert all(done.faults == () for done in run(workload(given, dim=3)))


def test_each_command_loads_the_table_anew_and_names_what_it_uses():
    work = workload(dim=5, lr=0.5)
    fake = FakeDevice(work.config, memory_bytes=work.layout.memory_bytes)
    run_step(fake, work, DATAFLOWS)
    assert len({command.loads for command in fake.commands}) == 1
    fields = {name: decode(c.descriptor) for name, c in zip(DATAFLOWS, fake.commands, strict=True)}
    for name, unused in (
        ("expand-coalesce", set()),
        ("cast", {"expanded"}),
        ("fused", {"expanded", "coalesced", "cast_table", "unique_rows"}),
    ):
        for key, buffer in work.layout.buffers.items():
            assert fields[name][key] == (0 if key in unused else buffer.address)
    fused = fields["fused"]
    assert (fused["dataflow"], fused["lookups"], fused["bags"], fused["dim"]) == (2, 4, 3, 5)
    assert (fused["rows"], fused["learning_rate"], fused["wide_indices"]) == (6, 0x3F000000, 1)
    assert fused["has_padding"] == fused["padding_index"] == fused["ignore_bounds"] == 0


def flip(memory, address):
    memory[address] ^= 1


@pytest.mark.parametrize(
    ("dataflow", "name"),
    [
        *((dataflow, name) for dataflow in DATAFLOWS for name in ("pooled", "table")),
        ("expand-coalesce", "coalesced"),
        ("cast", "coalesced"),
    ],
)
def test_one_wrong_bit_is_found_and_told(dataflow, name):
    work = workload(dim=5)
    address = work.layout.buffers[name].address + 1 * 32 + 3 * 4  # row 1, column 3; pitch 32
    (done,) = run(work, dataflows=[dataflow], tamper=lambda f, m, r: flip(m, address))
    right = bits(getattr(work.expected, name))[1, 3]
    assert done.faults == (
        f"{dataflow}: {name}[1, 3], row 1, column 3, is {right ^ 1:#010x}, golden {right:#010x}",
    )
    assert done.bit_exact == {each: each != name for each in done.bit_exact}


def test_a_wrong_gradient_on_the_trace_port_is_found():
    class Wrong(FakeDevice):
        def _execute(self, fields):
            registers, (rows, words) = super()._execute(fields)
            words[rows == 2, 4] ^= 0x80000000
            return registers, (rows, words)

    work = workload(dim=5)
    device = Wrong(work.config, memory_bytes=work.layout.memory_bytes)
    (done,) = run_step(device, work, ["fused"])
    right = bits(work.expected.coalesced)[1, 4]
    assert done.faults == (
        "fused: coalesced[1, 4], row 1, column 4,"
        f" is {right ^ 0x80000000:#010x}, golden {right:#010x}",
    )
    assert not done.bit_exact["coalesced"] and done.bit_exact["table"]


@pytest.mark.parametrize(
    ("change", "fault"),
    [
        (lambda rows, words: (rows + (rows == 5), words), "unique_rows[2] is 6, golden 5"),
        (lambda rows, words: (rows[:2], words[:2]), "unique_rows has shape [2], golden [3]"),
    ],
)
def test_wrong_rows_on_the_trace_port_are_found(change, fault):
    class Wrong(FakeDevice):
        def _execute(self, fields):
            registers, traced = super()._execute(fields)
            return registers, change(*traced)

    work = workload(dim=5)
    device = Wrong(work.config, memory_bytes=work.layout.memory_bytes)
    (done,) = run_step(device, work, ["fused"])
    assert done.faults[0] == f"fused: {fault}" and not done.bit_exact["coalesced"]


def test_a_wrong_list_of_unique_rows_is_found():
    work = workload(dim=5)
    address = work.layout.buffers["unique_rows"].address + 4
    (done,) = run(work, dataflows=["cast"], tamper=lambda f, m, r: flip(m, address))
    assert done.faults == ("cast: unique_rows[1] is 3, golden 2",)
    assert not done.bit_exact["coalesced"]


@pytest.mark.parametrize(
    ("name", "offset"),
    [
        ("table", 5 * 4),  # a pad
        ("table", -1),
        ("table", 6 * 32),
        ("pooled", 3 * 32),
        ("coalesced", 3 * 32),  # a fourth row, of three
        ("cast_table", 4 * 4),
        ("unique_rows", 3 * 4),
        ("expanded", 4 * 32),
        ("indices", 0),  # an input
        ("gradient", 7),
    ],
)
def test_a_write_beside_the_data_is_found(name, offset):
    work = workload(dim=5)
    address = work.layout.buffers[name].address + offset
    (done,) = run(work, dataflows=DATAFLOWS[:1], tamper=lambda f, m, r: flip(m, address))
    assert done.faults == (
        f"expand-coalesce: the byte at {address:#x}, beside the data of {name}, was written",
    )
    assert all(done.bit_exact.values())


def spilling(lookups, *, dropped=0, **options):
    """A batch of so many lookups, of which so many are of the padding row, on `tiny`."""
    indices = np.arange(lookups) % 50 + 1
    indices[::2][:dropped] = 0
    given = trace(indices=indices, offsets=np.arange(0, lookups, 5))
    return workload(given, preset="tiny", dim=3, padding_idx=0, **options)


@pytest.mark.parametrize(
    ("lookups", "halves", "half"),
    [(65, 1, 256), (128, 1, 256), (256, 1, 768), (257, 1, 1024), (320, 1, 1024), (321, 2, 1280)],
)
@pytest.mark.parametrize("dropped", [0, 1, 100])
def test_more_lookups_than_a_run_have_scratch_space(lookups, halves, half, dropped):
    # Pairs of 4 bytes in runs of 64, 4 of them merged at a time.
    dropped = min(dropped, lookups // 2)
    work = spilling(lookups, dropped=dropped)
    scratch = work.layout.buffers["scratch"]
    assert (scratch.rows, scratch.row_bytes, scratch.pitch) == (halves, half, half)
    fake = FakeDevice(work.config, memory_bytes=work.layout.memory_bytes)
    for done in run_step(fake, work, DATAFLOWS):
        assert done.faults == ()
    for command in fake.commands:
        fields = decode(command.descriptor)
        assert (fields["scratch"], fields["scratch_bytes"]) == (scratch.address, halves * half)


def test_a_forward_pass_has_no_scratch_space():
    work = spilling(300, op="forward")
    fake = FakeDevice(work.config, memory_bytes=work.layout.memory_bytes)
    (done,) = run_step(fake, work, ["fused"])
    fields = decode(fake.commands[0].descriptor)
    assert "scratch" not in work.layout.buffers
    assert fields["scratch"] == fields["scratch_bytes"] == 0 and done.faults == ()


@pytest.mark.parametrize(
    ("lookups", "dropped", "offset"),
    [
        # 2 runs of 3 are spilled, in 768 bytes
        *((256, 64, offset) for offset in (-1, 512, 767, 768)),
        # 3 runs of 5, which need no pass: all of the second half is left alone
        *((330, 130, offset) for offset in (768, 1279, 1280, 2559, 2560)),
        # 5 runs of 9, and a pass that merges them into the second half
        *((600, 270, offset) for offset in (1280, 2303, 2304 + 1280, 4607)),
    ],
)
def test_a_write_beside_spilled_runs_is_found(lookups, dropped, offset):
    work = spilling(lookups, dropped=dropped)
    address = work.layout.buffers["scratch"].address + offset
    (done,) = run(work, dataflows=["fused"], tamper=lambda f, m, r: flip(m, address))
    assert done.faults == (
        f"fused: the byte at {address:#x}, beside the data of scratch, was written",
    )


def test_forward_leaves_the_table_alone():
    work = workload(dim=5, op="forward")
    address = work.layout.buffers["table"].address
    (done,) = run(work, dataflows=["fused"], tamper=lambda f, m, r: flip(m, address))
    assert done.faults == (
        f"fused: the byte at {address:#x}, beside the data of table, was written",
    )


@pytest.mark.parametrize(
    ("register", "expected"),
    [
        ("FORWARD_READ_BEATS", 2 + 2 + 4 * 2),
        ("FORWARD_WRITE_BEATS", 3 * 2),
        ("CAST_READ_BEATS", 2 + 2),
        ("EXPAND_WRITE_BEATS", 0),
        ("BACKWARD_READ_BEATS", 4 * 2 + 3 * 2),
        ("BACKWARD_WRITE_BEATS", 3 * 2),
        ("UPDATE_READ_BEATS", 0),
        ("UNIQUE_ROWS", 3),
        ("VALID_LOOKUPS", 4),
        ("DROPPED_LOOKUPS", 0),
    ],
)
def test_a_counter_that_is_off_by_one_is_found(register, expected):
    def tamper(fields, memory, registers):
        registers[register] += 1

    (done,) = run(workload(dim=5), dataflows=["fused"], tamper=tamper)
    assert done.faults == (
        f"fused: register {register} is {expected + 1}, by the formula {expected}",
    )


def test_an_error_of_the_engine_stops_all():
    def tamper(fields, memory, registers):
        registers.update(ERROR=Error.INDEX, ERROR_POSITION=3, ERROR_PHASE=Phase.CAST)

    message = "^cast: the engine stopped with error INDEX at position 0x3 in phase CAST$"
    with pytest.raises(DeviceStopped, match=message):
        run(workload(), dataflows=["cast"], tamper=tamper)


def test_progress_is_passed_on():
    work, told = workload(), []
    fake = FakeDevice(work.config, memory_bytes=work.layout.memory_bytes)
    run_step(fake, work, DATAFLOWS, progress=told.append)
    assert [(each.cycles, each.commands) for each in told] == [(1000, 1), (2000, 2), (3000, 3)]


def test_what_is_absent_is_drawn_table_first():
    rng = np.random.default_rng(9)
    table = rng.standard_normal((6, 64), dtype=np.float32)
    grad = rng.standard_normal((3, 64), dtype=np.float32)
    work = workload(seed=9)
    assert work.drawn == ("table", "grad")
    assert same(work.table, table) and same(work.grad, grad)
    only = workload(trace(table=table), seed=9)
    assert only.drawn == ("grad",)
    assert same(only.grad, np.random.default_rng(9).standard_normal((3, 64), dtype=np.float32))
    assert workload(op="forward").drawn == ("table",)
    assert workload(op="forward").grad is None


def test_sizes_by_default():
    assert (workload().batch.rows, workload().dim) == (6, 64)
    assert workload(rows=9).table.shape == (9, 64)
    assert workload(trace(grad=np.zeros((3, 7), np.float32))).dim == 7
    given = workload(trace(table=np.zeros((8, 9), np.float32)), rows=8, dim=9)
    assert (given.batch.rows, given.dim) == (8, 9)
    nothing = trace(indices=np.zeros(0, np.int32), offsets=np.zeros(0, np.int32))
    assert workload(nothing).table.shape == (1, 64)


MANY = np.zeros((1 << 14) + 1, np.int64)


@pytest.mark.parametrize(
    ("changed", "options", "message"),
    [
        (
            {"indices": MANY},
            {},
            "n, the number of lookups, is 16385; preset tiny has 16384 at most",
        ),
        (
            {"indices": MANY[:0], "offsets": np.zeros(257, np.int64)},
            {},
            "B, the number of bags, is 257; preset tiny has 256 at most",
        ),
        ({}, {"rows": 65537}, "N, the number of rows, is 65537; preset tiny has 65536 at most"),
        ({}, {"dim": 65}, "D, the elements of a row, is 65; preset tiny has 64 at most"),
        ({}, {"rows": 5}, "indices[1] is 5; a row must lie in [0, 5)"),
        ({"indices": -MANY[:4] - 1}, {}, "indices[0] is -1; a row must lie in [0, 1)"),
        ({}, {"padding_idx": 6}, "padding_idx is 6; a row must lie in [0, 6)"),
        ({}, {"padding_idx": -1}, "padding_idx is -1; a row must lie in [0, 6)"),
        (
            {"offsets": np.array([1, 2, 4])},
            {},
            "bag 0 has offsets 1 to 2; the first bag must start at 0",
        ),
        (
            {"offsets": np.array([0, 3, 2])},
            {},
            "bag 1 has offsets 3 to 2; offsets must never fall",
        ),
        (
            {"offsets": np.array([0, 3]), "include_last_offset": True},
            {},
            "bag 0 has offsets 0 to 3; the last bag must end at n = 4",
        ),
        (
            {"offsets": MANY[:0], "include_last_offset": True},
            {},
            "offsets are empty; with include_last_offset there are B + 1 of them",
        ),
        (
            {"table": np.zeros((6, 4), np.float32)},
            {"rows": 7},
            "--rows is 7, but the table has 6",
        ),
        ({"table": np.zeros((6, 4), np.float32)}, {"dim": 3}, "--dim is 3, but the table has 4"),
        (
            {"table": np.zeros((6, 0), np.float32)},
            {},
            "table is float32[6, 0]; a row has 1 element or more",
        ),
        (
            {"table": np.zeros((5, 4), np.float32)},
            {},
            "indices[1] is 5; a row must lie in [0, 5)",
        ),
        (
            {"grad": np.zeros((2, 64), np.float32)},
            {},
            "grad is float32[2, 64]; it must be float32[3, 64]",
        ),
        (
            {"grad": np.zeros((3, 4), np.float32)},
            {"dim": 5},
            "grad is float32[3, 4]; it must be float32[3, 5]",
        ),
        (
            {"grad": np.zeros((3, 0), np.float32)},
            {},
            "grad is float32[3, 0]; it must be float32[3, 1]",
        ),
        ({}, {"lr": -0.5}, "--lr is -0.5; it must be 0 or more, and finite in binary32"),
        ({}, {"lr": np.nan}, "--lr is nan; it must be 0 or more, and finite in binary32"),
        ({}, {"lr": np.inf}, "--lr is inf; it must be 0 or more, and finite in binary32"),
        ({}, {"lr": 1e39}, "--lr is 1e+39; it must be 0 or more, and finite in binary32"),
        (
            {"per_sample_weights": np.ones(4, np.float32)},
            {},
            "per_sample_weights are not built yet; leave them out",
        ),
        (
            {"state": np.ones(6, np.float32)},
            {},
            "state is given, but sgd, the one optimizer built yet, has none",
        ),
    ],
)  # fmt: skip
def test_what_is_refused(changed, options, message):
    with pytest.raises(Refused, match=f"^t.npz: {re.escape(message)}$"):
        workload(trace(**changed), preset="tiny", **options)


def test_a_table_larger_than_the_address_space_is_refused_before_it_is_made():
    message = "^t.npz: table larger than the address space: 17592186044416 bytes from 0x"
    with pytest.raises(Refused, match=message):
        workload(rows=1 << 32, dim=1024)


def test_a_table_larger_than_the_machine_is_refused_before_it_is_made(monkeypatch):
    pages = {"SC_PHYS_PAGES": 1 << 19, "SC_PAGE_SIZE": 4096}
    monkeypatch.setattr("castbag.host.workload.os.sysconf", pages.get)
    message = "^t.npz: the batch needs 1024 GiB of simulated memory and this machine has 2;"
    with pytest.raises(Refused, match=message):
        workload(rows=(1 << 32) - 1000, dim=64)
