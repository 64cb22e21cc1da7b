"""At equal candidates, recombining the best beats sampling at random: on a generated trace, and for a VALUE."""

from statistics import mean

import numpy as np
import pytest
from breeding import rounds
from effort import slow

from vulcan.anvil import Policy
from vulcan.registry import find_task
from vulcan_cache.baselines import BASELINES
from vulcan_cache.simulate import simulate
from vulcan_traces.load import load_trace

SEEDS = (1, 2, 3, 4, 5)
ROUNDS = {"count": 6, "samples": 20}


@pytest.mark.parametrize("seeds", [SEEDS[:2], slow(SEEDS)], ids=len)
@pytest.mark.slow
def test_evolution_beats_random_sampling_on_a_zipf_trace_and_both_beat_lru_and_fifo(seeds: tuple[int, ...]) -> None:
    trace = load_trace("zipf:requests=12000,objects=3000,alpha=0.9,seed=5")
    objects, sizes = np.ascontiguousarray(trace.objects), np.ascontiguousarray(trace.sizes)
    count = int(objects.max()) + 1
    footprint = np.zeros(count, np.int64)
    footprint[objects] = sizes
    capacity = int(footprint.sum()) // 10
    following = np.full(len(objects), -1, np.int64)

    measured: dict[str, float] = {}

    def miss_ratio(policy: Policy) -> float:
        if policy.fingerprint not in measured:
            measured[policy.fingerprint] = simulate(policy, objects, sizes, capacity).miss_ratio
        return measured[policy.fingerprint]

    task = find_task("cache_eviction")
    evolved, sampled = [], []
    for seed in seeds:
        for found, parents in ((evolved, True), (sampled, False)):
            made = rounds(task, lambda p: -miss_ratio(p), seed=seed, parents=parents, **ROUNDS)
            found.append(min(miss_ratio(policy) for policies in made for policy in policies))
    assert mean(evolved) < mean(sampled)
    for name in ("lru", "fifo"):
        misses, _, _ = BASELINES[name].run(objects, sizes, following, count, capacity, 0)
        assert max(evolved) < misses / len(objects)
