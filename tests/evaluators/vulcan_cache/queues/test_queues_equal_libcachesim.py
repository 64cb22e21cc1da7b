"""The policies that the task ships with state are the baselines of their names, or close to them.

The others are the baselines themselves (`vulcan_cache.baselines`). The README of the task has the same, as tables.
"""

import pytest
from baseline_traces import OLTP, SHARES, SIZED, SPRITE, Columns, native_counts, real_trace

from vulcan.anvil import check
from vulcan.registry import find_task
from vulcan_cache.baselines import BASELINES
from vulcan_cache.simulate import simulate
from vulcan_traces import load_trace

TASK = find_task("cache_eviction")
POLICIES = {name: check(source, TASK) for name, source in TASK.seed_policies().items()}
ADAPTIVE = {
    "arc": ("arc", 0.0),
    "lirs": ("lirs", 0.0005),
    "lirs_refusing": ("lirs-refusing", 0.0005),
    "w_tinylfu": ("w-tinylfu", 0.03),
    "w_tinylfu_refusing": ("w-tinylfu-refusing", 0.03),
    "gdsf": ("gdsf", 0.0005),
}
"""Policies with state: the native kernel, and how far their miss ratios may be apart."""

SYNTHETIC = (
    "zipf:requests=30000,objects=1500,alpha=0.9,seed=3,sizes=lognormal",
    "zipf:requests=20000,objects=1000,alpha=0.6,seed=4",
)


def counts(name, trace, capacity):
    run = simulate(POLICIES[name], trace.objects, trace.sizes, capacity, object_count=trace.object_count)
    return run.misses, run.missed_bytes, run.bypassed


def test_every_policy_that_is_called_like_a_baseline_is_one_or_is_compared():
    own = {baseline.policy for baseline in BASELINES.values()}
    named = {name for name in POLICIES if name.replace("_", "-") in BASELINES} - own
    assert named - {"lecar", "lhd"} == ADAPTIVE.keys()  # those two are in engine/test_learning_policies.py


@pytest.mark.parametrize("share", [0.01, 0.1, 0.5])
@pytest.mark.parametrize("spec", SYNTHETIC)
def test_arc_is_the_native_one(spec, share):
    trace = load_trace(spec)
    columns = Columns(trace.objects, trace.sizes, trace.next_access, trace.object_count)
    unit, capacity = columns.with_unit_sizes(), int(trace.object_count * share)
    assert counts("arc", unit, capacity)[:2] == native_counts("arc", unit, capacity)[:2]
    capacity = int(trace.footprint * share)
    misses = native_counts("arc", columns, capacity)[0]
    assert abs(counts("arc", columns, capacity)[0] - misses) <= 0.0002 * trace.requests


@pytest.mark.parametrize("spec", SYNTHETIC)
def test_lirs_is_the_native_one_while_its_ghosts_fit(spec):
    """In a cache of half of what there is, the ghost list holds the rest."""
    trace = load_trace(spec)
    capacity = trace.footprint // 2 + 1
    assert counts("lirs", trace, capacity)[:2] == native_counts("lirs", trace, capacity)[:2]


@pytest.mark.parametrize("share", [0.01, 0.1, 0.5])
@pytest.mark.parametrize("spec", SYNTHETIC)
def test_w_tinylfu_without_a_doorkeeper_is_the_native_one(spec, share):
    """Of so few objects, no two have equal counters in all rows of the sketch."""
    trace = load_trace(spec)
    capacity = int(trace.footprint * share)
    source = TASK.seed_policies()["w_tinylfu"].replace("DOORKEEPER = 1", "DOORKEEPER = 0")
    run = simulate(check(source, TASK), trace.objects, trace.sizes, capacity)
    assert (run.misses, run.missed_bytes) == native_counts("w-tinylfu", trace, capacity)[:2]


@pytest.mark.slow
@pytest.mark.parametrize("name", ADAPTIVE)
@pytest.mark.parametrize("path", [*SIZED, SPRITE, OLTP])
def test_policies_with_state_are_close_to_the_native_ones_on_real_traces(name, path):
    native, distance = ADAPTIVE[name]
    for trace in (real_trace(path), real_trace(path).with_unit_sizes()):
        for share in SHARES:
            capacity = max(1, int(trace.footprint * share))
            misses = native_counts(native, trace, capacity)[0]
            assert abs(counts(name, trace, capacity)[0] - misses) <= distance * len(trace.objects)
