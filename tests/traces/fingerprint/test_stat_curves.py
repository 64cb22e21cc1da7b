"""Reuse distances and miss-ratio curves are those of a slow stack and of caches that are really simulated."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from effort import examples
from hypothesis import given, settings
from hypothesis import strategies as st
from slow_statistics import reuse_distances, trace_of

from vulcan_cache.baselines import BASELINES
from vulcan_traces import Trace, load_trace
from vulcan_traces.fingerprint import SHARES, Curve, Fingerprint, fingerprint
from vulcan_traces.fingerprint.kernels import lru_curve as kernels
from vulcan_traces.fingerprint.log_histogram import BUCKETS, buckets_of

IDS = st.lists(st.integers(0, 40), min_size=1, max_size=400)


def kernel_distances(objects: list[int], places: int | None = None) -> np.ndarray:
    """What the kernel counts, of unit sizes, with as many places as it is given."""
    trace = trace_of(objects)
    counts, hits = np.zeros(BUCKETS, np.int64), np.zeros((4, 16), np.int64)
    ones, limits = np.ones(trace.object_count, np.int64), np.arange(1, 17, dtype=np.int64)
    places = kernels.places_for(trace.object_count) if places is None else places
    kernels.reuse_distances(trace.objects, trace.sizes, ones, limits, limits, places, counts, hits)
    return counts


@settings(derandomize=True, deadline=None, max_examples=examples(150))
@given(IDS)
def test_distances_are_those_of_a_stack(ids: list[int]) -> None:
    slow = buckets_of(np.array(reuse_distances(ids), np.float64))
    assert kernel_distances(ids).tolist() == np.bincount(slow, minlength=BUCKETS).tolist()


def test_distances_stay_right_when_the_order_is_packed_anew_again_and_again() -> None:
    """4,096 places for 3,000 objects, in 60,000 requests: packed about fifty times."""
    rng = np.random.default_rng(5)
    ids = np.concatenate([np.arange(3000), (3000 * rng.random(57_000) ** 2).astype(int)])
    roomy = kernel_distances(ids.tolist(), kernels.places_for(60_000))
    assert kernel_distances(ids.tolist(), 4096).tolist() == roomy.tolist()
    few = ids[:4000].tolist()
    slow = np.bincount(buckets_of(np.array(reuse_distances(few), np.float64)), minlength=BUCKETS)
    assert kernel_distances(few).tolist() == slow.tolist()


def assert_curves_are_simulated(trace: Trace, found: Fingerprint, *, lru_by_bytes: bool = True) -> None:
    requests, requested_bytes = trace.requests, int(trace.sizes.sum(dtype=np.int64))
    ones = np.ones(requests, np.int64)
    for curve in found.curves:
        for k, capacity in enumerate(curve.capacities):
            if curve.unit == "bytes" and not lru_by_bytes:
                continue
            kernel = BASELINES["lru"].kernel()
            sizes = ones if curve.unit == "objects" else np.asarray(trace.sizes)
            columns = (np.asarray(trace.objects), sizes, np.asarray(trace.next_access), trace.object_count)
            missed, missed_bytes, _ = kernel(*columns, capacity, 0)
            where = (curve.unit, capacity)
            assert (*where, round(curve.miss_ratios[k] * requests)) == (*where, missed)
            if curve.unit == "bytes" and requested_bytes:
                assert (*where, round(curve.byte_miss_ratios[k] * requested_bytes)) == (*where, missed_bytes)


@settings(derandomize=True, deadline=None, max_examples=examples(60))
@given(IDS)
def test_curves_of_unit_sizes_are_those_of_simulated_caches(ids: list[int]) -> None:
    trace = trace_of(ids)
    assert_curves_are_simulated(trace, fingerprint(trace))


@settings(derandomize=True, deadline=None, max_examples=examples(60))
@given(IDS, st.integers(0, 2**32 - 1))
def test_curves_of_sized_objects_are_those_of_simulated_caches(ids: list[int], seed: int) -> None:
    """Sizes from 0 to many times the smaller capacities, so that objects that pass the cache by are among them."""
    of_object = (np.random.default_rng(seed).pareto(1.0, 41) * 10).astype(int)
    trace = trace_of(ids, [int(of_object[obj]) for obj in ids])
    assert_curves_are_simulated(trace, fingerprint(trace))


@settings(derandomize=True, deadline=None, max_examples=examples(60))
@given(IDS)
def test_laws_of_the_curves(ids: list[int]) -> None:
    found = fingerprint(trace_of(ids, [1 + obj % 5 for obj in ids]))
    for curve in found.curves:
        assert len(curve.capacities) == len(curve.miss_ratios) == len(curve.byte_miss_ratios) == len(SHARES)
        assert all(found.cold_share - 1e-12 <= ratio <= 1 for ratio in curve.miss_ratios)
        assert curve.at(1.0) == pytest.approx(found.cold_share)  # a cache of all objects misses each once
    by_objects = found.curve("objects").miss_ratios
    assert list(by_objects) == sorted(by_objects, reverse=True)


REAL = [
    ("libcachesim/cloudPhysicsIO.oracleGeneral.bin", None),
    ("tencent/tencentBlock.ns3906.sample.csv", None),
    ("caffeine/lirs/sprite.trace.gz", None),
    ("caffeine/cache2k/web07.trace.xz", "be-i32"),
]


@pytest.mark.parametrize(("path", "format"), REAL)
def test_curves_of_real_traces_are_those_of_simulated_caches(cache_traces: Path, path: str, format: str | None) -> None:
    trace = load_trace(cache_traces / path, format=format)
    found = fingerprint(trace)
    assert found.sample_rate == 1
    assert_curves_are_simulated(trace, found, lru_by_bytes=found.size_change_share == 0)


def test_curves_are_those_of_libcachesim(cache_traces: Path, tmp_path: Path) -> None:
    libcachesim = pytest.importorskip("libcachesim", reason="libcachesim is the oracle and is not installed")
    path = cache_traces / "libcachesim/cloudPhysicsIO.oracleGeneral.bin"
    found = fingerprint(load_trace(path))
    curve: Curve = found.curve("bytes")
    for k in (0, 5, 10, 14):
        reader = libcachesim.TraceReader(str(path), libcachesim.TraceType.ORACLE_GENERAL_TRACE)
        ratio, byte_ratio = libcachesim.LRU(curve.capacities[k], hashpower=16).process_trace(reader)
        assert curve.miss_ratios[k] == pytest.approx(ratio, abs=1e-9)
        assert curve.byte_miss_ratios[k] == pytest.approx(byte_ratio, abs=1e-9)
