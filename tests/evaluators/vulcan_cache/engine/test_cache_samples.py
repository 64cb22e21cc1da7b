"""Spatial samples: one in so many objects, all of their requests, and the cache that they make."""

from __future__ import annotations

import numpy as np
import pytest
from cache_formats import under
from real_data import real_data

from vulcan.anvil import check
from vulcan.registry import find_task
from vulcan_cache.simulate import simulate
from vulcan_cache.spatial_sample import sample_of
from vulcan_traces import load_trace

SPEC = "zipf:requests=200000,objects=40000,alpha=0.8,seed=6,sizes=lognormal"
TASK = find_task("cache_eviction")
POLICIES = {name: check(source, TASK) for name, source in TASK.seed_policies().items()}


@pytest.fixture
def trace(tmp_path, monkeypatch):
    monkeypatch.setenv("VULCAN_CACHE_DIR", str(tmp_path))
    return load_trace(SPEC)


def test_a_sample_has_all_requests_of_its_objects_and_no_others(trace):
    sample = sample_of(trace, 10)
    numbers = sample.times.astype(np.int64)
    keys = np.asarray(trace.keys)[trace.objects]
    chosen = np.isin(keys, sample.keys)
    assert np.array_equal(np.flatnonzero(chosen), numbers)
    assert np.array_equal(keys[numbers], np.asarray(sample.keys)[sample.objects])
    assert np.array_equal(np.asarray(trace.sizes)[numbers], sample.sizes)


def test_a_sample_is_of_about_its_rate_and_sparser_ones_are_inside_denser_ones(trace):
    # 4 standard deviations of the binomial number of chosen objects
    count = trace.object_count
    for one_in in (10, 100):
        spread = 4 * np.sqrt(count / one_in)
        assert abs(sample_of(trace, one_in).object_count - count / one_in) < spread
    assert set(sample_of(trace, 100).keys) < set(sample_of(trace, 10).keys)


def test_what_scales_a_cache_changes_no_decision_of_a_policy_without_a_scale(trace):
    """A weighed run with the whole capacity is the plain run with that capacity's share."""
    sample = sample_of(trace, 10)
    columns = np.asarray(sample.objects), np.asarray(sample.sizes)
    for mechanism in ("heap", "sample"):
        for name in ("fifo", "lru", "gdsf_admitting"):
            policy = check(under(mechanism, POLICIES[name].source), TASK)
            weighed = simulate(policy, *columns, trace.footprint // 10, times=np.asarray(sample.times), weight=10)
            plain = simulate(policy, *columns, trace.footprint // 10 // 10)
            assert weighed == plain


SWITCHES = {
    "how many objects the cache holds": "cache.objects > 1500",
    "how large it is": "cache.capacity > 10_000_000",
    "how full it is": "cache.used > 10_000_000",
    "how late it is": "now > 25_000",
    "how long an object has been there": "now - obj.insertion > 10_000 or now - obj.last_access > 1_000",
}


@pytest.mark.parametrize("condition", SWITCHES.values(), ids=SWITCHES.keys())
def test_a_constant_means_on_the_sample_what_it_means_on_the_trace(trace, condition):
    """A policy that is good where the condition is that of the full run gains as much over FIFO on the sample."""
    good, bad = ("-obj.count", "obj.count") if "insertion" in condition else ("obj.count", "-obj.count")
    source = f"def priority(now, obj, cache, ghost):\n    return {good} if {condition} else {bad}\n"
    fifo = check(under("sample", POLICIES["fifo"].source), TASK)
    sample, capacity = sample_of(trace, 10), trace.footprint // 10
    columns = np.asarray(sample.objects), np.asarray(sample.sizes)

    def gain(*run, **scale):
        misses = [simulate(policy, *run, **scale).misses for policy in (check(source, TASK), fifo)]
        return 1 - misses[0] / misses[1]

    full = gain(np.asarray(trace.objects), np.asarray(trace.sizes), capacity)
    scaled = gain(*columns, capacity, times=np.asarray(sample.times), weight=10)
    unscaled = gain(*columns, capacity // 10)
    assert scaled == pytest.approx(full, abs=0.02)
    assert abs(unscaled - full) > 0.05


def test_a_sample_of_a_real_trace_misses_about_as_much():
    trace = load_trace(real_data("cache", "caffeine", "cloud_physics", "w106.trace.xz"), format="be-u32")
    sample = sample_of(trace, 10)
    capacity = trace.footprint // 10
    for name, full in (("fifo", 0.0978), ("lru", 0.0859)):
        result = simulate(
            POLICIES[name], np.asarray(sample.objects), np.asarray(sample.sizes), capacity,
            times=np.asarray(sample.times), weight=10,
        )  # fmt: skip
        assert result.miss_ratio == pytest.approx(full, abs=0.015)
