"""The embedded workloads: different policies matter on them, and none is trivial."""

from __future__ import annotations

import pytest

from vulcan_cache.baselines import BASELINES
from vulcan_traces import EMBEDDED, load_trace

SPECS = [spec for specs in EMBEDDED.values() for spec in specs]


@pytest.fixture(scope="module")
def miss_ratios():
    """By workload and policy, at a cache of 10 % of the footprint."""
    table = {}
    for trace in map(load_trace, SPECS):
        given = trace.objects, trace.sizes, trace.next_access, trace.object_count, trace.footprint // 10, 0
        table[trace.name] = {
            name.upper(): BASELINES[name].run(*given)[0] / trace.requests for name in ("lru", "fifo", "lfu", "gdsf")
        }
    return table


def test_seven_named_workloads_in_three_splits():
    assert {split: len(specs) for split, specs in EMBEDDED.items()} == {"train": 3, "validation": 2, "test": 2}
    traces = [load_trace(spec) for spec in SPECS]
    assert len({trace.name for trace in traces}) == len({trace.digest for trace in traces}) == 7
    assert {trace.requests for trace in traces} == {200_000}
    assert all(15_000 < trace.object_count < 80_000 for trace in traces)


def test_policies_differ_by_several_points_on_each(miss_ratios):
    for name, ratios in miss_ratios.items():
        assert max(ratios.values()) - min(ratios.values()) > 0.05, (name, ratios)
        assert abs(ratios["LRU"] - ratios["LFU"]) > 0.01, (name, ratios)
        assert 0.2 < min(ratios.values()) < max(ratios.values()) < 0.85, (name, ratios)


def test_no_policy_is_best_everywhere(miss_ratios):
    best = {name: min(ratios, key=ratios.__getitem__) for name, ratios in miss_ratios.items()}
    assert best["analytics-loop"] == "LFU"
    assert {best[name] for name in best if name != "analytics-loop"} == {"GDSF"}
    assert {name for name, ratios in miss_ratios.items() if ratios["LRU"] < ratios["LFU"]} == {"web-drift"}
