"""Adaptive policies of queues keep their speed beside the native kernels of their names, in one process."""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np
import pytest

from vulcan.anvil import check
from vulcan.registry import find_task
from vulcan_cache import simulate
from vulcan_cache.baselines import BASELINES
from vulcan_traces import load_trace

TASK = find_task("cache_queues")
TURNS = 8
LEAST = {"arc": ("arc", 0.25), "lirs": ("lirs", 0.3), "w_tinylfu": ("w-tinylfu", 0.13)}
"""The native kernel, and the least share of its speed: two thirds of what was measured."""


@pytest.mark.slow
def test_adaptive_policies_keep_their_speed_beside_the_native_kernels() -> None:
    trace = load_trace("zipf:requests=600000,objects=50000,alpha=1.0,seed=1,sizes=lognormal")
    objects, sizes, following = (np.asarray(c) for c in (trace.objects, trace.sizes, trace.next_access))
    count, capacity = trace.object_count, trace.footprint // 10

    def queued(name: str) -> Callable[[], object]:
        policy = check(TASK.seed_policies(state=True)[name], TASK)
        return lambda: simulate(policy, objects, sizes, capacity, mechanism="queues", object_count=count)

    def native(name: str) -> Callable[[], object]:
        kernel = BASELINES[name].kernel()
        return lambda: kernel(objects, sizes, following, count, capacity, 0)

    runs = {name: (queued(name), native(kernel)) for name, (kernel, _) in LEAST.items()}
    least = {name: [float("inf")] * 2 for name in runs}
    for _ in range(TURNS):
        for name, pair in runs.items():
            for number, run in enumerate(pair):
                began = time.thread_time()
                run()
                least[name][number] = min(least[name][number], time.thread_time() - began)
    ratios = {name: theirs / ours for name, (ours, theirs) in least.items()}
    assert all(ratios[name] > share for name, (_, share) in LEAST.items()), ratios
