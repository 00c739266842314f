# SPDX-FileCopyrightText: castbag contributors
# SPDX-License-Identifier: BSD-2-Clause

"""Traces from text, from logs, from distributions."""

import json
import re

import numpy as np
import pytest

from castbag.golden.batch import Batch
from castbag.host.demo import topics_trace
from castbag.host.files import Refused
from castbag.host.readers import from_csv, from_text, ids_path, synthetic


def written(path, text, encoding="utf-8"):
    path.write_bytes(text.encode(encoding))
    return path


def test_text_has_a_bag_a_line_and_a_row_a_word(tmp_path):
    path = written(tmp_path / "t.txt", "the cat\n\nsat  on\tthe The cat\n")
    trace, ids = from_text([path])
    assert trace.indices.tolist() == [0, 1, 2, 3, 0, 4, 1]
    assert trace.offsets.tolist() == [0, 2, 2]
    assert trace.indices.dtype == trace.offsets.dtype == np.int64
    assert ids.rows == ["the", "cat", "sat", "on", "The"]
    assert json.loads(ids.to_json()) == {"rows": ids.rows, "bags": []}


def test_text_files_follow_each_other_and_need_no_last_newline(tmp_path):
    paths = [written(tmp_path / "a", "x y"), written(tmp_path / "b", "y z\r\nx\r\n")]
    trace, ids = from_text(paths)
    assert trace.indices.tolist() == [0, 1, 1, 2, 0]
    assert trace.offsets.tolist() == [0, 2, 4]
    assert ids.rows == ["x", "y", "z"]


def test_empty_text_is_no_bags(tmp_path):
    trace, ids = from_text([written(tmp_path / "a", "")])
    assert (trace.lookups, trace.bags, ids.rows) == (0, 0, [])


def test_text_is_utf_8_and_a_byte_order_mark_is_no_word(tmp_path):
    trace, ids = from_text([written(tmp_path / "a", "\ufeffnaïve 日本\n")])
    assert ids.rows == ["naïve", "日本"]
    assert "日本" in ids.to_json().decode()


def test_text_that_cannot_be_read(tmp_path):
    with pytest.raises(Refused, match="none: cannot be read: No such file or directory$"):
        from_text([tmp_path / "none"])
    with pytest.raises(Refused, match="a: is not UTF-8 text$"):
        from_text([written(tmp_path / "a", "é", "latin-1")])


LOG = 'time,user,page\n1,ann,home\n2,bob,home\n3,ann,"a, b"\n4,cy,home\n5,bob,home\n'


def test_csv_gathers_the_events_of_a_bag_wherever_they_are(tmp_path):
    trace, ids = from_csv(written(tmp_path / "t.csv", LOG), bag="user", item="page")
    assert trace.indices.tolist() == [0, 1, 0, 0, 0]
    assert trace.offsets.tolist() == [0, 2, 4]
    assert json.loads(ids.to_json()) == {"rows": ["home", "a, b"], "bags": ["ann", "bob", "cy"]}


def test_csv_without_events(tmp_path):
    trace, ids = from_csv(written(tmp_path / "t.csv", "a,b\n"), bag="a", item="b")
    assert (trace.lookups, trace.bags, ids.bags) == (0, 0, [])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "column 'user' is missing; there is none: the file is empty"),
        ("user,item\n", "column 'page' is missing; there is user, item"),
        ("page,user\na,b\nc\n", "line 3 has no value for column 'user'"),
        ("page,user\n,b\n", "line 2 has no value for column 'page'"),
        ('page,user\n"a,b\n', "is not comma-separated text (unexpected end of data)"),
    ],
)
def test_csv_refusals(tmp_path, text, message):
    path = written(tmp_path / "t.csv", text)
    with pytest.raises(Refused, match=f"^{re.escape(f'{path}: {message}')}$"):
        from_csv(path, bag="user", item="page")


def test_csv_that_cannot_be_read(tmp_path):
    with pytest.raises(Refused, match="none: cannot be read: No such file or directory$"):
        from_csv(tmp_path / "none", bag="a", item="b")
    path = written(tmp_path / "t.csv", "a,b\né,1\n", "latin-1")
    with pytest.raises(Refused, match="is not UTF-8 text$"):
        from_csv(path, bag="a", item="b")


def test_ids_lie_beside_the_trace(tmp_path):
    assert ids_path(tmp_path / "x.npz") == tmp_path / "x.ids.json"
    assert ids_path(tmp_path / "x") == tmp_path / "x.ids.json"


def test_synthetic_is_a_batch_of_its_sizes():
    trace = synthetic(bags=5, pooling=7, rows=11, zipf=1.0, seed=3)
    batch = Batch.of(trace.indices, trace.offsets, rows=11)
    assert (batch.lookups, batch.bags) == (35, 5)
    assert np.diff(batch.offsets).tolist() == [7] * 5


def test_the_seed_decides():
    def drawn(seed):
        return synthetic(bags=50, pooling=4, rows=1000, zipf=0.9, seed=seed).indices.tolist()

    assert drawn(1) == drawn(1) != drawn(2)


@pytest.mark.parametrize(
    ("bags", "pooling", "rows"), [(0, 5, 5), (5, 0, 5), (0, 0, 0), (5, 0, 0), (3, 2, 1)]
)
def test_synthetic_may_be_small(bags, pooling, rows):
    trace = synthetic(bags=bags, pooling=pooling, rows=rows, zipf=1.2, seed=0)
    assert (trace.bags, trace.lookups) == (bags, bags * pooling)
    assert not trace.indices.any()


@pytest.mark.parametrize("zipf", [0.0, 0.5, 1.0, 2.0])
def test_popularity_falls_as_stated(zipf):
    rows, lookups = 50, 200_000
    trace = synthetic(bags=lookups, pooling=1, rows=rows, zipf=zipf, seed=7)
    counts = np.sort(np.bincount(trace.indices, minlength=rows))[::-1]
    weight = np.arange(1, rows + 1) ** -zipf
    expected = lookups * weight / weight.sum()
    # Pearson's statistic has mean 49 and deviation 10; sorted counts lie a little closer.
    assert ((counts - expected) ** 2 / expected).sum() < 49 + 5 * 10


def test_popular_rows_do_not_lie_together():
    trace = synthetic(bags=10_000, pooling=1, rows=1000, zipf=1.5, seed=0)
    top = np.argsort(-np.bincount(trace.indices))[:5]
    assert np.abs(np.diff(top)).min() > 1


def test_extreme_skew_is_one_row():
    assert np.unique(synthetic(bags=9, pooling=9, rows=99, zipf=1e3, seed=0).indices).size == 1


@pytest.mark.parametrize("zipf", [-0.1, np.nan, np.inf])
def test_impossible_skew(zipf):
    with pytest.raises(Refused, match=f"--zipf is {zipf}; it must be 0 or more, and finite"):
        synthetic(bags=1, pooling=1, rows=1, zipf=zipf, seed=0)


def test_lookups_need_rows():
    with pytest.raises(Refused, match="--rows is 0; lookups need 1 row or more"):
        synthetic(bags=1, pooling=1, rows=0, zipf=0, seed=0)


def test_demo_text_fills_the_limit_with_whole_paragraphs():
    trace, ids = topics_trace(4096)
    batch = Batch.of(trace.indices, trace.offsets, rows=len(ids.rows))
    assert 3500 < batch.lookups <= 4096
    assert (np.diff(batch.offsets) > 0).all() and len(ids.bags) == batch.bags
    assert ids.bags[0] == "assert 1"
    assert [ids.rows[row] for row in batch.indices[: batch.offsets[1]]] == [
        "the", "assert", "statement",
    ]  # fmt: skip
    assert np.bincount(batch.indices).argmax() == ids.rows.index("the")


def test_demo_text_fits_a_small_preset_too():
    trace, _ = topics_trace(64)
    assert 0 < trace.lookups <= 64
