"""Each kernel counts what its slow reference counts, request by request the same decisions.

Those that libCacheSim has to the request, on the smallest traces too, are compared with it alone; S3-FIFO also with the
program of its name (tests/python_policy/test_program_replay.py).
"""

from dataclasses import replace

import numpy as np
import pytest
from baseline_traces import columns, native_counts, real_trace, small_cases
from effort import ALL, examples, few
from hypothesis import given, settings
from slow_belady import BeladySizeSampled
from slow_lhd import Lhd
from slow_lirs import Lirs
from slow_policy import Policy, refusing, simulate_slowly
from slow_queues import Arc, Lecar, Slru, WTinyLfu

from vulcan_cache.baselines import BASELINES

SLOW_POLICIES: dict[str, type[Policy]] = {
    "slru": Slru,
    "arc": Arc,
    "lirs": Lirs,
    "lhd": Lhd,
    "lecar": Lecar,
    "w-tinylfu": WTinyLfu,
    "lirs-refusing": refusing(Lirs, 100),
    "w-tinylfu-refusing": refusing(WTinyLfu, 100),
    "belady-size-sampled": BeladySizeSampled,
}
"""Each written from the definition of its kernel, but in other terms, so that a slip is not made twice."""

NAMES = list(SLOW_POLICIES)


def both(name, trace, capacity, measure_from):
    arguments = (trace.objects, trace.sizes, trace.next_access)
    return native_counts(name, trace, capacity, measure_from), simulate_slowly(
        SLOW_POLICIES[name], *arguments, capacity, measure_from
    )


@pytest.mark.parametrize("name", NAMES)
@settings(max_examples=examples(300))
@given(case=small_cases())
def test_on_small_random_traces(name, case):
    fast, slow = both(name, *case)
    assert fast == slow


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("unit", few([True, False], 1), ids=["unit sizes", "real sizes"])
def test_on_a_real_trace(name, unit):
    trace = real_trace("tencent/tencentBlock.ns3300.sample.csv").prefix(3000 if ALL else 1500)
    trace = trace.with_unit_sizes() if unit else trace
    fast, slow = both(name, trace, trace.footprint // 20, measure_from=700)
    assert fast == slow
    assert 0 < fast[0] < len(trace.objects) - 700


@pytest.mark.parametrize("name", few(["arc", "lecar", "lirs", "w-tinylfu"], 2))
def test_policies_that_adapt_over_a_longer_time(name):
    """A hot set of ten objects beside a loop and a scan: counters saturate and weights reach their limits."""
    rng = np.random.default_rng(3)
    index = np.arange(12_000)
    hot = rng.integers(0, 10, len(index))
    loop = 100 + index % 47
    scan = 1000 + index
    ids = np.choose(rng.choice(3, len(index), p=[0.5, 0.4, 0.1]), [hot, loop, scan])
    for capacity in (30, 45)[: 2 if ALL else 1]:
        fast, slow = both(name, columns(ids, np.ones(len(ids))), capacity, measure_from=1000)
        assert fast == slow


@pytest.mark.parametrize("name", ["arc", "lecar", "lirs", "w-tinylfu"])
def test_when_frequency_is_right_for_long_and_then_recency(name):
    """LeCaR's weight goes to one limit, then to the other, and back."""
    hot = list(range(20))
    frequency_wins = hot * 30 + [obj for turn in range(400) for obj in (hot[turn % 20], 100 + turn)]
    recency_wins = [obj for turn in range(0, 800, 2) for obj in (1000 + turn, 1001 + turn) * 3]
    ids = np.array(frequency_wins * 3 + recency_wins + frequency_wins)
    for capacity in (20, 25)[: 2 if ALL else 1]:
        fast, slow = both(name, columns(ids, np.ones(len(ids))), capacity, measure_from=0)
        assert fast == slow


def test_lhd_when_it_has_learnt_from_what_it_saw():
    """Long enough for two reconfigurations, at a commit for one; the short traces above never reach any."""
    trace = real_trace("caffeine/lirs/sprite.trace.gz").prefix(70_000 if ALL else 36_000)
    fast, slow = both("lhd", trace, 300, measure_from=32_768)
    assert fast == slow


@pytest.mark.parametrize("name", BASELINES)
def test_a_successor_past_the_end_means_never_as_a_negative_one_does(name):
    trace = real_trace("caffeine/lirs/2_pools.trace.gz").prefix(5000)
    late = np.where(trace.next_access < 0, np.iinfo(np.int64).max, trace.next_access)
    assert native_counts(name, replace(trace, next_access=late), 60) == native_counts(name, trace, 60)
