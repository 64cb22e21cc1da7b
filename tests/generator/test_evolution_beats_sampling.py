"""At equal candidates, recombining the best beats sampling at random: on a generated trace, and for a VALUE."""

import math
import random
from statistics import mean

import numpy as np
import pytest
from breeding import rounds
from effort import slow
from offline_tasks import VALUE_TASK

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
        misses, _, _ = BASELINES[name].kernel()(objects, sizes, following, count, capacity, 0)
        assert max(evolved) < misses / len(objects)


@pytest.mark.slow
def test_evolution_beats_random_sampling_of_values() -> None:
    """The best window is the bandwidth-delay product, halved after a loss."""
    rng = random.Random(7)
    states = [
        {
            "loss": float(rng.random() < 0.3),
            "link.window": rng.uniform(2, 1000),
            "link.delivered": float(rng.randrange(10**6)),
            "link.rtt": math.exp(rng.uniform(-3, 0)),
            "link.least_rtt": math.exp(rng.uniform(-4, -1)),
            "link.rate": math.exp(rng.uniform(5, 8)),
        }
        for _ in range(60)
    ]

    def error(policy: Policy) -> float:
        reference = policy.reference()
        total = 0.0
        for s in states:
            best = min(max(s["link.rate"] * s["link.least_rtt"] * (0.5 if s["loss"] else 1.0), 2.0), 1000.0)
            total += abs(math.log(min(max(reference(s), 2.0), 1000.0) / best))
        return total / len(states)

    evolved, sampled = [], []
    for seed in SEEDS:
        for found, parents in ((evolved, True), (sampled, False)):
            made = rounds(VALUE_TASK, lambda p: -error(p), seed=seed, parents=parents, **ROUNDS)
            found.append(min(error(policy) for policies in made for policy in policies))
    assert mean(evolved) < 0.9 * mean(sampled)
    assert mean(evolved) < 0.6
