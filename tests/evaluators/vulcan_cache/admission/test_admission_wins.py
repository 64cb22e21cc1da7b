"""Where sizes differ, a policy that turns large objects away misses less; where they do not, it turns none away."""

from __future__ import annotations

import numpy as np
import pytest
from locations import DATA

from vulcan.anvil import check
from vulcan.registry import find_task
from vulcan_cache import simulate
from vulcan_traces import load_trace

TASK = find_task("cache_admission")
SEEDS = {name: check(source, TASK) for name, source in TASK.seed_policies().items()}


def load(name):
    path = DATA / "cache" / name
    if not path.is_file():
        pytest.skip(f"no trace at {path}: set VULCAN_DATA to the directory of traces")
    trace = load_trace(path)
    return trace, np.asarray(trace.objects), np.maximum(np.asarray(trace.sizes), 1)


@pytest.mark.parametrize("mechanism", ["heap", "sample"])
def test_a_threshold_on_sizes_wins_on_requests_of_a_content_delivery_network(mechanism):
    """The trace that comes with AdaptSize (Berger, Sitaraman and Harchol-Balter, NSDI 2017)."""
    trace, objects, sizes = load("caffeine/adapt_size/request.trace.xz")
    for share in (0.001, 0.01, 0.1):
        runs = {
            name: simulate(SEEDS[name], objects, sizes, int(trace.footprint * share), mechanism=mechanism)
            for name in ("lru_always", "lru_by_size")
        }
        assert runs["lru_by_size"].misses < 0.99 * runs["lru_always"].misses
        assert runs["lru_by_size"].byte_miss_ratio > runs["lru_always"].byte_miss_ratio  # what it is paid with
        unit = np.ones_like(sizes)
        same = [simulate(SEEDS[name], objects, unit, 500, mechanism=mechanism) for name in runs]
        assert same[0] == same[1]


@pytest.mark.parametrize("mechanism", ["heap", "sample"])
def test_admission_by_frequency_wins_where_most_is_asked_for_once(mechanism):
    trace, objects, sizes = load("libcachesim/cloudPhysicsIO.vscsi")
    for share in (0.001, 0.01, 0.1):
        runs = [
            simulate(SEEDS[name], objects, sizes, int(trace.footprint * share), mechanism=mechanism).misses
            for name in ("lru_by_frequency", "lru_always")
        ]
        assert runs[0] < runs[1]
