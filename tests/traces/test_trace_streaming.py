"""A trace is decoded part by part: the same as at once, in memory that does not grow with the requests."""

from __future__ import annotations

import json
import multiprocessing
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from traces_in_memory import build_trace, join

from vulcan.errors import UserError
from vulcan_traces import load_trace
from vulcan_traces.notes import NoteCounts, notes_of
from vulcan_traces.raw_requests import MAX_SIZE, RawRequests
from vulcan_traces.storage import column_files, dense_ids
from vulcan_traces.storage.column_files import write_columns
from vulcan_traces.storage.dense_ids import DenseIds

COLUMNS = ("objects", "sizes", "times", "next_access", "keys")
KEYS = st.integers(0, 12) | st.integers(0, 2**64 - 1)
PARTS = st.lists(
    st.lists(st.tuples(KEYS, st.integers(1, MAX_SIZE), st.floats(0, 1e9)), max_size=40), min_size=1, max_size=8
)


def raw(part):
    keys, sizes, times = (list(column) for column in zip(*part, strict=True)) if part else ([], [], [])
    return RawRequests(
        np.array(keys, np.uint64),
        np.array(sizes, np.int64),
        np.array(times, np.float64),
        NoteCounts({("odd", ""): len(part) % 3}),
    )


@given(PARTS.filter(any), st.sampled_from([1, 3, 1 << 20]))
def test_in_parts_a_trace_is_what_it_is_at_once(tmp_path_factory, parts, block):
    folder = tmp_path_factory.mktemp("columns")
    parts = [raw(part) for part in parts]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(column_files, "_BLOCK", block)
        requests, objects, counts = write_columns(folder, iter(parts))
    trace = build_trace("t", "00", join(parts))
    for column in COLUMNS:
        written = np.load(folder / f"{column}.npy", mmap_mode="r", allow_pickle=False)
        assert written.dtype == getattr(trace, column).dtype
        assert written.offset % 64 == 0  # as vector instructions like it
        assert np.array_equal(written, getattr(trace, column))
    assert (requests, objects, notes_of(counts)) == (trace.requests, trace.object_count, trace.notes)


@given(st.lists(KEYS, max_size=300), st.integers(1, 50))
def test_ids_do_not_depend_on_how_often_there_had_to_be_more_room(keys, room):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(dense_ids, "_FIRST_ROOM", 1)
        patch.setattr(dense_ids, "_AT_A_TIME", room)
        ids = DenseIds()
        numbers = np.concatenate([ids.number(np.array(keys[i : i + 7], np.uint64)) for i in range(0, len(keys) + 1, 7)])
    order = list(dict.fromkeys(keys))
    assert numbers.tolist() == [order.index(key) for key in keys]
    assert ids.keys.tolist() == order


@given(st.lists(st.tuples(st.integers(0, 30), st.integers(0, MAX_SIZE)), min_size=1, max_size=100), st.integers(1, 9))
def test_next_accesses_and_first_sizes_are_those_of_slow_definitions(requests, block):
    keys, sizes = (np.array(column) for column in zip(*requests, strict=True))
    trace = build_trace("t", "00", RawRequests(keys.astype(np.uint64), sizes.astype(np.int64), keys.astype(float)))
    after = [next((j for j in range(i + 1, len(keys)) if keys[j] == keys[i]), -1) for i in range(len(keys))]
    assert trace.next_access.tolist() == after
    first = dict(reversed(requests))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("vulcan_traces.request_trace._BLOCK", block)
        assert trace.footprint == sum(first.values())


def test_a_file_that_changes_while_it_is_read_is_not_kept(tmp_path, monkeypatch):
    monkeypatch.setenv("VULCAN_CACHE_DIR", str(tmp_path / "cache"))
    path = tmp_path / "t.tr"
    path.write_text("1 2 3\n2 2 3\n")
    writing = column_files.write_columns

    def slowly(folder, parts):
        path.write_text("1 2 3\n2 2 3\n3 9 9\n")
        return writing(folder, parts)

    monkeypatch.setattr("vulcan_traces.storage.trace_store.write_columns", slowly)
    with pytest.raises(UserError, match="was changed while it was read"):
        load_trace(path, format="time-id-size")
    kept = [file.name for file in (tmp_path / "cache").rglob("*") if file.is_file()]
    assert set(kept) == {"CACHEDIR.TAG"}


def decode(barrier, path, results):
    """Opens a trace at the same time as others, and says whether it was this process that decoded it."""
    from vulcan_traces.storage import trace_store as store

    decoded = []
    writing = store.write_columns
    store.write_columns = lambda folder, parts: decoded.append(folder) or writing(folder, parts)
    barrier.wait(timeout=120)
    trace = load_trace(path)
    results.put((len(decoded), int(trace.objects.sum(dtype=np.int64))))


def test_of_processes_that_want_the_same_trace_one_decodes_it(tmp_path, monkeypatch):
    monkeypatch.setenv("VULCAN_CACHE_DIR", str(tmp_path / "cache"))
    path = tmp_path / "t.csv"
    path.write_text("time,id,size\n" + "".join(f"{i},{i * i % 977},1\n" for i in range(50_000)))
    context = multiprocessing.get_context("spawn")
    barrier, results = context.Barrier(2), context.Queue()
    processes = [context.Process(target=decode, args=(barrier, path, results)) for _ in range(2)]
    for process in processes:
        process.start()
    found = [results.get(timeout=180) for _ in processes]
    for process in processes:
        process.join()
    assert sorted(times for times, _ in found) == [0, 1]
    assert len({total for _, total in found}) == 1


DECODE = """
import json, sys
from pathlib import Path
from vulcan_traces import load_trace
def peak():
    return next(int(line.split()[1]) * 1024 for line in open("/proc/self/status") if line.startswith("VmHWM:"))
small, *larger = sys.argv[1:]
load_trace(small).footprint  # whatever is loaded late
grown = []
for path in larger:
    Path("/proc/self/clear_refs").write_text("5")  # the peak is that from here on
    before = peak()
    trace = load_trace(path)
    grown.append([trace.requests, trace.object_count, peak() - before])
    del trace
print(json.dumps(grown))
"""

RECORD = np.dtype([("time", "<u4"), ("id", "<u8"), ("size", "<u4"), ("next", "<i8")])


def write_trace(path: Path, requests: int, objects: int) -> Path:
    with path.open("wb") as file:
        for start in range(0, requests, 1 << 19):
            records = np.zeros(min(1 << 19, requests - start), RECORD)
            number = np.arange(start, start + len(records), dtype=np.uint64)
            records["time"], records["size"], records["next"] = number // 1000, 512, -1
            records["id"] = number * np.uint64(2654435761) % np.uint64(objects)
            records.tofile(file)
    return path


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/clear_refs").exists(), reason="peaks of memory are read from /proc")
def test_decoding_takes_memory_by_the_object_and_not_by_the_request(tmp_path):
    """The columns of five million requests are 120 MB, and were twice that while they were put together."""
    sizes = {"small": (1000, 10), "medium": (1_500_000, 200_000), "large": (5_000_000, 200_000)}
    files = [write_trace(tmp_path / name, *size) for name, size in sizes.items()]
    done = subprocess.run(
        [sys.executable, "-c", DECODE, *files], env={**os.environ, "VULCAN_CACHE_DIR": str(tmp_path / "cache")},
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    (few, objects, first), (many, same_objects, second) = json.loads(done.stdout)
    assert (few, many, objects, same_objects) == (1_500_000, 5_000_000, 200_000, 200_000)
    assert second - first < 4 * (many - few)
    assert second < 0.8 * 24 * many
