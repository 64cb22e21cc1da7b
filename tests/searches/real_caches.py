"""Three short real traces to score cache policies on, and two policies written by hand."""

from collections.abc import Sequence
from functools import cache

import numpy as np
from real_data import real_data

from vulcan.anvil import check
from vulcan.registry import find_task
from vulcan.searches.tuning import Evaluate
from vulcan_cache.simulate import simulate
from vulcan_traces import load_trace

TASK = find_task("cache_eviction")
TRACES = {
    "tencent": ("tencent/tencentBlock.ns1326.sample.csv", None),
    "web07": ("caffeine/cache2k/web07.trace.xz", "be-i32"),
    "adapt_size": ("caffeine/adapt_size/request.trace.xz", None),
}

GDSF_LIKE = '''"""GreedyDual-Size-Frequency with exponents of its own."""

FREQUENCY = 1.0
SIZE = 1.0


def priority(now, obj, cache, ghost):
    return cache.evicted_priority + obj.count ** FREQUENCY / obj.size ** SIZE
'''

MIXED = '''"""Recency, frequency, size and the ghost list, mixed by hand."""

import math


def priority(now, obj, cache, ghost):
    age = now - obj.last_access
    score = 40 * math.log(1 + obj.count) - age / 300
    if obj.size > cache.size.percentile(0.75):
        score -= 10
    if ghost.contains(obj.id):
        score += 20 * ghost.count(obj.id) ** 0.5
    if obj.count > 5 and age < 1000:
        score *= 1.5
    return score - 0.002 * obj.size ** 0.8
'''


@cache
def improvement(trace: str) -> Evaluate:
    """Scores by the task's objective on the whole trace, the cache holding 10% of its footprint."""
    path, form = TRACES[trace]
    requests = load_trace(real_data("cache", path), format=form)
    sizes = np.maximum(np.asarray(requests.sizes), 1)

    def misses(source: str) -> dict[str, float]:
        result = simulate(check(source, TASK), np.asarray(requests.objects), sizes, requests.footprint // 10)
        return {"miss_ratio": result.miss_ratio}

    references = {"fifo": misses(TASK.seed_policies()["fifo"])}

    def evaluate(sources: Sequence[str]) -> list[float | None]:
        return [TASK.objective().score(misses(source), references) for source in sources]

    return evaluate
