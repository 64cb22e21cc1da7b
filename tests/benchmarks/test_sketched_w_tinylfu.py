"""The native kernel that W-TinyLFU's speed is measured against misses what the policy misses."""

import pytest

from benchmarks.engine_ratios import shipped
from benchmarks.engine_workloads import first, workload, zipf
from benchmarks.sketched_w_tinylfu import sketched_w_tinylfu
from vulcan_cache import simulate
from vulcan_traces import load_trace

UNIT = "zipf:requests=60000,objects=4000,alpha=0.9,seed=3"


@pytest.mark.parametrize("share", [0.01, 0.1, 0.4])
@pytest.mark.parametrize("sized", [False, True])
def test_sketched_kernel_misses_what_the_policy_misses(share, sized):
    requests = 60_000
    on = workload("Zipf", first(zipf(requests, 4_000) if sized else load_trace(UNIT), requests), share)
    trace = on.trace
    policy = shipped("cache_queues", "w_tinylfu")
    simulated = simulate(
        policy, trace.objects, trace.sizes, on.capacity, mechanism="queues", object_count=trace.object_count
    )
    assert sketched_w_tinylfu(trace.objects, trace.sizes, trace.object_count, float(on.capacity)) == simulated.misses
