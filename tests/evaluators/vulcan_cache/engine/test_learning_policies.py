"""Policies of `cache_eviction` that learn: close to the baselines of their names, or equal to plain Python."""

from __future__ import annotations

import numpy as np
import pytest
from baseline_traces import dense, native_counts
from effort import slow
from plain_cache import columns_of, hash_of
from plain_learners import CacheusSimplified, LrbLike
from real_data import real_data

from vulcan.anvil import check
from vulcan.registry import find_task
from vulcan_cache.layout import MAX_SAMPLED
from vulcan_cache.simulate import simulate
from vulcan_traces import load_trace

TASK = find_task("cache_eviction")
SOURCES = TASK.seed_policies()
LEARNERS = {"cacheus_simplified": CacheusSimplified, "lrb_like": LrbLike}


def requests_of(seed: int, largest: int) -> list[tuple[int, int]]:
    """Popular objects that change after a while, and a loop, so that recency and frequency win in turn."""
    random = np.random.RandomState(seed)
    zipf = random.zipf(1.2, 1600) % 150
    loop = 200 + np.arange(400) % 55
    ids = np.concatenate([zipf[:800], loop, zipf[800:] + 300, zipf[:400]])
    sizes = random.randint(1, largest + 1, 1000)
    return [(int(key), int(sizes[key])) for key in dense(ids)]


@pytest.mark.parametrize(("seed", "largest", "capacity"), [(0, 1, 40), (1, 60, 900), (2, 9, 30)])
@pytest.mark.parametrize("name", LEARNERS)
def test_decisions_are_those_of_the_definition(name, seed, largest, capacity):
    requests = requests_of(seed, largest)
    plain = LEARNERS[name](capacity, seed)
    misses = plain.run(requests)
    objects, sizes = columns_of(requests)
    result = simulate(check(SOURCES[name], TASK), objects, sizes, capacity, sample_size=MAX_SAMPLED, sample_seed=seed)
    assert len(plain.evicted) > 200
    assert (result.misses, result.decisions) == (misses, hash_of(plain.evicted))


@pytest.mark.parametrize(
    ("name", "draws", "path", "share", "within"),
    [
        slow("lecar", 16, "libcachesim/cloudPhysicsIO.vscsi", 0.1, 0.005),
        ("lecar", 16, "caffeine/lirs/sprite.trace.gz", 0.1, 0.005),
        slow("lecar", 16, "tencent/tencentBlock.ns3300.sample.csv", 0.1, 0.005),
        slow("lecar", 1024, "caffeine/lirs/ps.trace.gz", 0.1, 0.001),
        slow("lhd", 32, "libcachesim/cloudPhysicsIO.vscsi", 0.1, 0.005),
        ("lhd", 32, "caffeine/lirs/sprite.trace.gz", 0.01, 0.01),
        slow("lhd", 32, "tencent/tencentBlock.ns3300.sample.csv", 0.01, 0.005),
    ],
)
def test_miss_ratios_are_near_the_native_ones(name, draws, path, share, within):
    folder, file = path.rsplit("/", 1)
    trace = load_trace(real_data("cache", *folder.split("/")) / file)
    capacity = int(trace.footprint * share)
    result = simulate(check(SOURCES[name], TASK), trace.objects, trace.sizes, capacity, sample_size=draws)
    misses, *_ = native_counts(name, trace, capacity)
    assert result.miss_ratio == pytest.approx(misses / trace.objects.size, abs=within)
