"""The embedded workloads: different policies matter on them, and none is trivial."""

from __future__ import annotations

import heapq
from collections import OrderedDict

import pytest

from vulcan_traces import EMBEDDED, load_trace

SPECS = [spec for specs in EMBEDDED.values() for spec in specs]


def queue_miss_ratio(requests, capacity, promote):
    """FIFO, or LRU where a hit promotes."""
    cached: OrderedDict[int, int] = OrderedDict()
    used = misses = 0
    for key, size in requests:
        if key in cached:
            if promote:
                cached.move_to_end(key)
            continue
        misses += 1
        if size <= capacity:
            while used + size > capacity:
                used -= cached.popitem(last=False)[1]
            cached[key] = size
            used += size
    return misses / len(requests)


def priority_miss_ratio(requests, capacity, size_aware):
    """In-cache LFU, or GreedyDual-Size-Frequency with a cost of 1 (Cherkasova 1998)."""
    heap: list[tuple[float, int, int]] = []
    cached: dict[int, tuple[int, int, int]] = {}  # size, hits, the request that pushed its newest heap entry
    used = misses = 0
    inflation = 0.0
    for now, (key, size) in enumerate(requests):
        old_size, hits, _ = cached.get(key, (size, 0, 0))
        if not hits:
            misses += 1
            if size > capacity:
                continue
            while used + size > capacity:
                priority, pushed, victim = heapq.heappop(heap)
                if victim in cached and cached[victim][2] == pushed:
                    used -= cached.pop(victim)[0]
                    inflation = priority
            used += size
        cached[key] = (old_size, hits + 1, now)
        priority = inflation + (hits + 1) / old_size if size_aware else hits + 1
        heapq.heappush(heap, (priority, now, key))
    return misses / len(requests)


@pytest.fixture(scope="module")
def miss_ratios():
    """By workload and policy, at a cache of 10 % of the footprint."""
    table = {}
    for spec in SPECS:
        trace = load_trace(spec)
        requests = list(zip(trace.objects.tolist(), trace.sizes.tolist(), strict=True))
        capacity = trace.footprint // 10
        table[trace.name] = {
            "LRU": queue_miss_ratio(requests, capacity, True),
            "FIFO": queue_miss_ratio(requests, capacity, False),
            "LFU": priority_miss_ratio(requests, capacity, False),
            "GDSF": priority_miss_ratio(requests, capacity, True),
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
