# SPDX-FileCopyrightText: castbag contributors
# SPDX-License-Identifier: BSD-2-Clause

"""Trace files: what is read, what is refused and in which words."""

import pickle
import re
import zipfile

import numpy as np
import pytest

from castbag.host.files import Refused, check_writable, npz, write_files
from castbag.host.trace import Trace, load_trace, trace_bytes

INDICES = np.array([2, 5, 2, 0], np.int32)
OFFSETS = np.array([0, 2], np.int64)


def save(path, **arrays):
    path.write_bytes(npz(arrays))
    return path


def refused(path) -> str:
    with pytest.raises(Refused) as caught:
        load_trace(path)
    message = str(caught.value)
    assert message.startswith(f"{path}: ") and "\n" not in message
    return message.removeprefix(f"{path}: ")


def test_a_trace_survives_the_disk(tmp_path):
    trace = Trace(
        name=str(tmp_path / "t.npz"),
        indices=INDICES,
        offsets=np.array([0, 2, 4]),
        include_last_offset=True,
        table=np.ones((6, 3), np.float32),
        grad=np.full((2, 3), -0.0, np.float32),
        per_sample_weights=np.ones(4, np.float32),
        state=np.zeros(6, np.float32),
    )
    (tmp_path / "t.npz").write_bytes(trace_bytes(trace))
    read = load_trace(tmp_path / "t.npz")
    assert (read.name, read.lookups, read.bags) == (trace.name, 4, 2)
    assert read.include_last_offset and read.unused == ()
    for key in ("indices", "offsets", "table", "grad", "per_sample_weights", "state"):
        ours, theirs = getattr(read, key), getattr(trace, key)
        assert ours.dtype == theirs.dtype and ours.tobytes() == theirs.tobytes()


def test_the_least_trace(tmp_path):
    read = load_trace(save(tmp_path / "t.npz", indices=INDICES, offsets=OFFSETS))
    assert (read.bags, read.include_last_offset) == (2, False)
    assert read.table is read.grad is read.per_sample_weights is read.state is None


def test_numpy_reads_what_is_written(tmp_path):
    trace = Trace(name="x", indices=INDICES, offsets=OFFSETS)
    (tmp_path / "t.npz").write_bytes(trace_bytes(trace))
    with np.load(tmp_path / "t.npz") as read:
        assert set(read.files) == {"indices", "offsets"}
        assert read["indices"].dtype == np.int32


def test_the_same_trace_gives_the_same_bytes():
    trace = Trace(name="x", indices=INDICES, offsets=OFFSETS)
    assert trace_bytes(trace) == trace_bytes(trace)


def test_unknown_keys_are_told(tmp_path):
    path = save(tmp_path / "t.npz", indices=INDICES, offsets=OFFSETS, grads=OFFSETS)
    assert load_trace(path).unused == ("grads",)


def test_no_file(tmp_path):
    assert refused(tmp_path / "none.npz") == "cannot be read: No such file or directory"


def test_a_folder(tmp_path):
    assert refused(tmp_path) == "cannot be read: Is a directory"


def test_no_npz_file(tmp_path):
    path = tmp_path / "t.npz"
    path.write_text("2 5 2 0\n")
    assert refused(path).startswith("is not a readable npz file of plain arrays (")


def test_an_empty_file(tmp_path):
    path = tmp_path / "t.npz"
    path.touch()
    assert refused(path).startswith("is not a readable npz file of plain arrays (")


def test_a_bare_array(tmp_path):
    path = tmp_path / "t.npz"
    with path.open("wb") as file:
        np.save(file, INDICES)
    assert refused(path) == "is one bare array; it must be an npz file"


def test_a_pickle_is_not_run(tmp_path):
    path = tmp_path / "t.npz"
    path.write_bytes(pickle.dumps({"indices": [1]}))
    assert refused(path).startswith("is not a readable npz file of plain arrays (")


def test_arrays_of_objects_are_not_run(tmp_path):
    path = tmp_path / "t.npz"
    np.savez(path, indices=np.array([1, None], object), offsets=OFFSETS)
    assert refused(path).startswith("is not a readable npz file of plain arrays (")


def test_a_damaged_file(tmp_path):
    path = save(tmp_path / "t.npz", indices=np.arange(1000), offsets=OFFSETS)
    path.write_bytes(path.read_bytes()[:3000])
    assert refused(path).startswith("is not a readable npz file of plain arrays (")


def test_a_flipped_byte(tmp_path):
    path = save(tmp_path / "t.npz", indices=np.arange(1000), offsets=OFFSETS)
    content = bytearray(path.read_bytes())
    content[4000] ^= 1
    path.write_bytes(content)
    assert "CRC" in refused(path)


def test_a_zip_of_something_else(tmp_path):
    path = tmp_path / "t.npz"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("indices.npy", "hello")
    assert refused(path) == "indices is not an array in NumPy's format"


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        ({"offsets": OFFSETS}, "key 'indices' is missing; there is offsets"),
        ({"indices": INDICES}, "key 'offsets' is missing; there is indices"),
        ({}, "key 'indices' is missing; there is no key"),
        (
            {"indices": INDICES.astype(float)},
            "indices is float64[4]; it must be int32 or int64 in 1 dimension",
        ),
        (
            {"indices": INDICES.astype(np.int16)},
            "indices is int16[4]; it must be int32 or int64 in 1 dimension",
        ),
        (
            {"indices": INDICES.astype(">i4")},
            "indices is >i4[4]; it must be int32 or int64 in 1 dimension",
        ),
        (
            {"indices": INDICES.reshape(2, 2)},
            "indices is int32[2, 2]; it must be int32 or int64 in 1 dimension",
        ),
        (
            {"offsets": OFFSETS.astype(np.uint64)},
            "offsets is uint64[2]; it must be int32 or int64 in 1 dimension",
        ),
        (
            {"table": np.zeros((6, 3))},
            "table is float64[6, 3]; it must be float32 in 2 dimensions",
        ),
        (
            {"table": np.zeros(6, np.float32)},
            "table is float32[6]; it must be float32 in 2 dimensions",
        ),
        (
            {"grad": np.zeros((2, 3), np.float16)},
            "grad is float16[2, 3]; it must be float32 in 2 dimensions",
        ),
        (
            {"per_sample_weights": np.zeros(4)},
            "per_sample_weights is float64[4]; it must be float32 in 1 dimension",
        ),
        (
            {"include_last_offset": np.array(1)},
            "include_last_offset is int64[]; it must be one bool",
        ),
        (
            {"include_last_offset": np.array([True, False])},
            "include_last_offset is bool[2]; it must be one bool",
        ),
    ],
)
def test_refusals(tmp_path, arrays, message):
    whole = arrays and "missing" not in message
    arrays = {"indices": INDICES, "offsets": OFFSETS, **arrays} if whole else arrays
    assert refused(save(tmp_path / "t.npz", **arrays)) == message


def test_files_are_all_written_or_none(tmp_path):
    good, bad = tmp_path / "good", tmp_path / "none" / "bad"
    with pytest.raises(Refused, match="cannot be written: No such file or directory"):
        write_files({good: b"1", bad: b"2"})
    assert list(tmp_path.iterdir()) == []
    write_files({good: b"1"})
    assert [path.name for path in tmp_path.iterdir()] == ["good"]


def test_places_that_cannot_be_written(tmp_path):
    out = tmp_path / "out"
    check_writable(out, None)
    for paths, message in (
        ([tmp_path / "a" / "b"], f"{tmp_path / 'a' / 'b'}: there is no folder {tmp_path / 'a'}"),
        ([tmp_path], f"{tmp_path}: is a folder; it must be a file"),
        ([out, out], f"{out}: named twice; each file needs a name of its own"),
    ):
        with pytest.raises(Refused, match=f"^{re.escape(message)}$"):
            check_writable(*paths)
    with pytest.raises(Refused, match="named twice"):
        check_writable(out, inputs=[tmp_path / "." / "out"])
