"""Every reader on real traces; counts are those published with them, requests those of libCacheSim's own reader."""

from __future__ import annotations

import csv

import numpy as np
import pytest
from effort import ALL
from real_data import real_data

from vulcan_traces import load_trace

NAMED = {
    "cp_w106": "be-u32", "scarab_recs": "be-i64", "corda_vault": "be-i64", "c2k_orm_busy": "be-i32",
    "c2k_web07": "be-i32",
}  # fmt: skip
OTHER_FORMAT = {"mq_wsrch", "mq_tpcc"}


def test_requests_objects_footprints_and_size_changes_equal_the_published_statistics():
    with real_data("cache", "stats_full.csv").open() as file:
        rows = [row for row in csv.DictReader(file) if row["trace"] not in OTHER_FORMAT]
    assert len(rows) == 27
    for row in rows if ALL else rows[::4]:
        trace = load_trace(real_data(row["src"]), format=NAMED.get(row["trace"]))
        expected = (int(row["n_req"]), int(row["n_obj"]), int(row["footprint_bytes"]))
        assert (trace.requests, trace.object_count, trace.footprint) == expected, row["trace"]
        assert (int(trace.sizes.min()), int(trace.sizes.max())) == (int(row["size_min"]), int(row["size_max"]))
        first_sizes = trace.sizes[np.unique(trace.objects, return_index=True)[1]]
        changes = np.count_nonzero(trace.sizes != first_sizes[trace.objects])
        assert changes == int(row["size_changes"]), row["trace"]
        assert np.count_nonzero(trace.next_access < 0) == trace.object_count


def test_all_forms_of_one_trace_have_the_same_requests():
    binary, table, plain, vscsi = (
        load_trace(real_data("cache", "libcachesim", f"cloudPhysicsIO.{ending}"))
        for ending in ("oracleGeneral.bin", "csv", "txt", "vscsi")
    )
    for trace in (binary, table, plain, vscsi):
        assert (trace.requests, trace.object_count) == (113_872, 48_974)
        assert np.array_equal(trace.keys, binary.keys)
        assert np.array_equal(trace.objects, binary.objects)
    assert np.array_equal(table.sizes, vscsi.sizes)
    assert np.array_equal(table.times, np.floor(vscsi.times))
    assert np.mean(table.sizes != binary.sizes) == pytest.approx(0.12, abs=0.01)  # it fixes one size an object
    assert set(plain.sizes) == {1}


def test_next_access_equals_the_one_stored_in_oracle_general():
    path = real_data("cache", "libcachesim", "cloudPhysicsIO.oracleGeneral.bin")
    record = np.dtype([("time", "<u4"), ("id", "<u8"), ("size", "<u4"), ("next", "<i8")])
    stored = np.fromfile(path, record)["next"]
    ours = load_trace(path).next_access
    assert np.array_equal(np.where(ours < 0, -1, ours + 1), stored)  # the file counts requests from 1


@pytest.mark.parametrize(
    ("ending", "kind"),
    [
        ("oracleGeneral.bin", "ORACLE_GENERAL_TRACE"),
        ("vscsi", "VSCSI_TRACE"),
        ("txt", "PLAIN_TXT_TRACE"),
        ("csv", "CSV_TRACE"),
    ],
)
def test_ids_sizes_and_times_equal_those_of_libcachesims_reader(ending, kind):
    libcachesim = pytest.importorskip("libcachesim", reason="libcachesim is published for Linux only")
    path = real_data("cache", "libcachesim", f"cloudPhysicsIO.{ending}")
    parameters = libcachesim.ReaderInitParam()
    if ending == "csv":
        parameters = libcachesim.ReaderInitParam(has_header=True, delimiter=",", obj_id_is_num=True)
        parameters.time_field, parameters.obj_id_field, parameters.obj_size_field = 2, 5, 4
    reader = libcachesim.TraceReader(str(path), getattr(libcachesim.TraceType, kind), parameters)
    theirs = np.array([(request.obj_id, request.obj_size, request.clock_time) for request in reader])
    trace = load_trace(path)
    assert np.array_equal(trace.keys[trace.objects], theirs[:, 0])
    assert np.array_equal(trace.sizes, theirs[:, 1])
    if ending != "txt":
        assert np.array_equal(np.floor(trace.times), theirs[:, 2])


def test_samples_and_derived_traces_are_read():
    sample = load_trace(real_data("cache", "webcachesim", "test.tr"))
    assert (sample.requests, sample.times[0], sample.keys[0], sample.sizes[0]) == (10_492, 109, 26, 1)
    derived = load_trace(real_data("cache", "derived", "tragen_tc0_download.oracleGeneral.bin.zst"))
    assert derived.object_count == 57_390


def test_a_column_mapping_reads_what_the_header_gives():
    path = real_data("cache", "libcachesim", "cloudPhysicsIO.csv")
    by_header = load_trace(path)
    for columns in ("time=2,id=5,size=4,header", "id=lbn,size=size,time=time,delimiter=comma,ids=number"):
        mapped = load_trace(path, columns=columns)
        for column in ("objects", "sizes", "times", "keys"):
            assert np.array_equal(getattr(mapped, column), getattr(by_header, column))
