"""Recorded page counts in files."""

from __future__ import annotations

import numpy as np
import pytest
from real_data import real_data

from vulcan.errors import UserError
from vulcan_traces.memory import load_page_counts

GOOD = {"epoch": [0, 0, 1, 2, 2], "page": [70, 5, 70, 5, 9], "loads": [3, 1, 0, 2, 0], "stores": [0, 1, 4, 0, 6]}


@pytest.fixture
def write(tmp_path):
    def make(**columns):
        path = tmp_path / "counts.npz"
        np.savez_compressed(path, **{name: np.array(values) for name, values in columns.items()})
        return path

    return make


def test_a_small_file(write):
    counts = load_page_counts(write(**GOOD), 8192)
    # pages 5 and 70 are touched in the first epoch, the lower number first, and 9 in the third
    assert counts.arrivals.tolist() == [0, 0, 2]
    assert counts.loads.tolist() == [[1, 3, 0], [0, 0, 0], [2, 0, 0]]
    assert counts.stores.tolist() == [[1, 0, 0], [0, 4, 0], [0, 0, 6]]
    assert (counts.name, counts.page_size, counts.pages) == ("counts.npz", 8192, 3)


def test_rows_of_one_page_add_up_and_missing_epochs_are_quiet(write):
    counts = load_page_counts(write(epoch=[3, 1, 3], page=[2, 2, 2], loads=[5, 1, 7], stores=[0, 0, 1]))
    assert counts.loads[:, 0].tolist() == [0, 1, 0, 12]
    assert counts.arrivals.tolist() == [1]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"stores": None}, "no column 'stores'"),
        ({"loads": [1.5, 1, 1, 1, 1]}, "whole numbers"),
        ({"loads": [1, 2]}, "2 rows"),
        ({"page": [-1, 0, 0, 0, 0]}, "negative"),
        ({"loads": [0] * 5, "stores": [0] * 5}, "is ever accessed"),
        ({"epoch": [0, 1, 2, 3, 2**40]}, "too large"),
        ({"epoch": [0, 1, 2, 3, 100_000_000]}, "too many"),
        ({"loads": [2**33, 1, 1, 1, 1]}, "2\\^32"),
        ({name: [] for name in GOOD}, "whole numbers|no rows"),
    ],
)
def test_files_that_are_wrong(write, changes, message):
    columns = {name: values for name, values in {**GOOD, **changes}.items() if values is not None}
    with pytest.raises(UserError, match=message) as caught:
        load_page_counts(write(**columns))
    assert "\n" not in str(caught.value)


def test_what_is_no_such_file(tmp_path):
    (tmp_path / "text.npz").write_text("epoch,page\n1,2\n")
    np.save(tmp_path / "one.npy", np.zeros(3))
    (tmp_path / "short.npz").write_bytes(b"PK\x03\x04")
    for name, message in {
        "missing.npz": "no such file", "text.npz": "not an .npz", "one.npy": "not an .npz", "short.npz": "not an .npz",
        ".": "cannot be read|is a directory",
    }.items():  # fmt: skip
        with pytest.raises(UserError, match=message):
            load_page_counts(tmp_path / name)


@pytest.mark.parametrize("size", [0, 1000, 128, 2**31])
def test_page_sizes_that_make_no_sense(write, size):
    with pytest.raises(UserError, match="page size"):
        load_page_counts(write(**GOOD), size)


@pytest.mark.parametrize(
    ("name", "epochs", "pages"),
    [("own_gups", 60, 16384), ("own_kv", 60, 16896), ("own_bfs", 60, 10675), ("gups_hotmove", 95, 8287)],
)
def test_recorded_kernels(name, epochs, pages):
    place = real_data("mem", "pagecounts", f"{name}.npz")
    counts = load_page_counts(place)
    assert (counts.intervals, counts.pages) == (epochs, pages)
    with np.load(place) as raw:
        assert counts.accesses == int(raw["loads"].sum(dtype=np.int64) + raw["stores"].sum(dtype=np.int64))
        for epoch in (0, epochs // 2, epochs - 1):
            assert sorted(counts.loads[epoch][counts.loads[epoch] > 0]) == sorted(
                raw["loads"][(raw["epoch"] == epoch) & (raw["loads"] > 0)]
            )
