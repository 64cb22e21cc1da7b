"""What holds for every policy, or for a class of them, whatever the trace."""

import subprocess
import sys

import numpy as np
import pytest
from baseline_traces import columns, real_trace
from effort import few

from vulcan_cache.baselines import BASELINES

ONLINE = [name for name, baseline in BASELINES.items() if baseline.kind == "baseline"]
SPRITE = "caffeine/lirs/sprite.trace.gz"
CLOUD_PHYSICS = "libcachesim/cloudPhysicsIO.oracleGeneral.bin"


def run(name, trace, capacity, measure_from=0):
    kernel = BASELINES[name].kernel()
    return kernel(trace.objects, trace.sizes, trace.next_access, trace.object_count, capacity, measure_from)


@pytest.mark.parametrize("name", BASELINES)
def test_first_requests_always_miss_and_a_cache_of_the_footprint_misses_nothing_else(name):
    trace = real_trace(SPRITE)
    first = np.unique(trace.objects, return_index=True)[1]
    for measure_from in (0, 50_000):
        cold = int((first >= measure_from).sum())
        assert run(name, trace, 500, measure_from)[0] > cold
        # Policies with parts need room for one in which every object fits.
        assert run(name, trace, 20 * trace.object_count, measure_from)[0] == cold


@pytest.mark.parametrize("name", BASELINES)
def test_the_warm_up_is_simulated_but_not_counted(name):
    trace = real_trace(CLOUD_PHYSICS)
    capacity = trace.footprint // 100
    cut = 40_000
    whole, tail = run(name, trace, capacity), run(name, trace, capacity, cut)
    head = trace.prefix(cut)
    # The prefix has its own future: a policy that sees it must be shown the whole trace's.
    kernel = BASELINES[name].kernel()
    if BASELINES[name].kind == "baseline":
        counted = kernel(head.objects, head.sizes, head.next_access, head.object_count, capacity, 0)
        assert tuple(a + b for a, b in zip(counted, tail, strict=True)) == whole
    assert 0 < tail[0] < whole[0]
    assert run(name, trace, capacity, len(trace.objects)) == (0, 0, 0)


@pytest.mark.parametrize("name", ONLINE)
@pytest.mark.parametrize("path", few([SPRITE, CLOUD_PHYSICS], 1))
def test_belady_misses_least_where_sizes_are_equal(name, path):
    trace = real_trace(path).with_unit_sizes()
    for capacity in (1, 7, 70, 700):
        assert run("belady", trace, capacity)[0] <= run(name, trace, capacity)[0]


def test_gdsf_beats_belady_where_sizes_differ_so_that_belady_is_no_bound_there():
    """Many small objects in turn, and large ones that each return sooner than the small."""
    ids, sizes = [], []
    for turn in range(200):
        for large in (100, 101):
            ids += [large + 2 * turn] * 2
            sizes += [60, 60]
        ids += range(60)
        sizes += [1] * 60
    trace = columns(np.array(ids), np.array(sizes))
    assert run("gdsf", trace, 60)[0] < run("belady", trace, 60)[0]
    # Nor is the other one a proven bound: it admits the large objects too.
    assert run("gdsf", trace, 60)[0] < run("belady-size-sampled", trace, 60)[0]


@pytest.mark.parametrize("name", ONLINE)
@pytest.mark.parametrize("path", few(["tencent/tencentBlock.ns3300.sample.csv", CLOUD_PHYSICS], 1))
def test_belady_by_size_misses_least_on_real_traces_with_sizes(name, path):
    trace = real_trace(path)
    for share in (0.001, 0.01, 0.1):
        capacity = int(trace.footprint * share)
        assert run("belady-size-sampled", trace, capacity)[0] < run(name, trace, capacity)[0]


@pytest.mark.parametrize("name", ["lru", "belady"])
def test_a_larger_cache_of_a_stack_policy_never_misses_more(name):
    """Their smaller cache's content is always part of the larger one's (Mattson et al., 1970)."""
    trace = real_trace(SPRITE)
    misses = [run(name, trace, capacity)[0] for capacity in (1, 2, 3, 5, 8, 20, 50, 200, 1000, 4000)]
    assert misses == sorted(misses, reverse=True)
    assert misses[0] > misses[-1]


@pytest.mark.parametrize("name", BASELINES)
def test_an_object_larger_than_the_cache_is_bypassed_and_evicts_nothing(name):
    trace = columns(np.array([1, 2, 9, 1, 2, 9, 1, 2]), np.array([1, 1, 500, 1, 1, 500, 1, 1]))
    assert run(name, trace, 400) == (4, 1002, 2)
    assert run(name, trace, 400, measure_from=3) == (1, 500, 1)


@pytest.mark.parametrize("name", BASELINES)
def test_an_object_keeps_the_size_of_its_insertion(name):
    """Were the hit with 90 bytes to resize object 1, object 2 could not stay beside it."""
    trace = columns(np.array([1, 1, 1, 2, 1, 2, 1, 2]), np.array([10, 90, 90, 10, 90, 10, 90, 10]))
    assert run(name, trace, 2000) == (2, 20, 0)
    assert run(name, trace, 80) == run(name, trace, 81)


@pytest.mark.parametrize("name", BASELINES)
def test_columns_that_are_read_only_serve_as_well_and_two_runs_agree(name):
    trace = real_trace(SPRITE)
    frozen = [array.copy() for array in (trace.objects, trace.sizes, trace.next_access)]
    for array in frozen:
        array.flags.writeable = False
    assert BASELINES[name].kernel()(*frozen, trace.object_count, 300, 0) == run(name, trace, 300)


def test_reading_the_table_loads_no_kernel_and_asking_for_one_loads_that_one():
    program = """
import sys
from vulcan_cache.baselines import BASELINES
def loaded():
    modules = {b.module for b in BASELINES.values() if b.module}
    return sorted(m for m in modules if f"vulcan_cache.baselines.{m}" in sys.modules)
print(loaded(), "vulcan.kernel_support" in sys.modules)
BASELINES["gdsf"].kernel()
print(loaded())
"""
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert ran.stdout.splitlines() == ["[] False", "['gdsf']"]
