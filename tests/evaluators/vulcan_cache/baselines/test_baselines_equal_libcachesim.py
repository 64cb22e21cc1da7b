"""On real traces the kernels count exactly the misses of libCacheSim 0.3.5, or it is said why not, and bounded.

Capacities are shares of the footprint. "Exact" is equality of both the misses and the missed bytes.
"""

from statistics import median

import numpy as np
import pytest
from baseline_oracle import oracle_counts
from baseline_traces import OLTP, SHARES, SIZED, SPRITE, TENCENT_1326, native_counts, real_trace, small_cases
from effort import examples, few
from hypothesis import given, settings

from vulcan_cache.baselines import BASELINES

ORACLE = {
    "fifo": "FIFO", "lru": "LRU", "lfu": "LFU", "clock": "Clock", "sieve": "Sieve", "s3-fifo": "S3FIFO",
    "slru": "SLRU", "2q": "TwoQ", "arc": "ARC", "lirs": "LIRS", "gdsf": "GDSF", "lhd": "LHD", "lecar": "LeCaR",
    "w-tinylfu": "WTinyLFU", "s3-fifo-refusing": "S3FIFO", "lirs-refusing": "LIRS", "w-tinylfu-refusing": "WTinyLFU",
    "belady": "Belady", "belady-size-sampled": "BeladySize",
}  # fmt: skip
ALWAYS_EXACT = ("fifo", "lru", "lfu", "clock", "sieve", "gdsf", "belady")
EXACT = (*ALWAYS_EXACT, "2q")


def counts(name, trace, capacity):
    return native_counts(name, trace, capacity)[:2]


def difference(name, trace, capacity):
    """Our miss ratio less the oracle's."""
    return (counts(name, trace, capacity)[0] - oracle_counts(ORACLE[name], trace, capacity)[0]) / len(trace.objects)


@pytest.mark.parametrize("name", ALWAYS_EXACT)
@settings(max_examples=examples(300))
@given(case=small_cases())
def test_exact_on_small_random_traces(name, case):
    trace, capacity, measured = case
    missed = np.zeros(len(trace.objects), np.uint8)
    kernel, arguments = BASELINES[name].run, (trace.objects, trace.sizes, trace.next_access, trace.object_count)
    assert kernel(*arguments, capacity, 0, missed)[:2] == oracle_counts(ORACLE[name], trace, capacity)
    late = missed[measured:].astype(bool)
    too_large = late & (trace.sizes[measured:] > capacity)
    expected = late.sum(), trace.sizes[measured:][late].sum(), too_large.sum()
    assert kernel(*arguments, capacity, measured) == expected


@pytest.mark.parametrize("name", [*EXACT, "s3-fifo-refusing"])
@pytest.mark.parametrize("path", few(SIZED, 1))
def test_exact_with_the_real_sizes(name, path):
    trace = real_trace(path)
    for share in SHARES:
        capacity = int(trace.footprint * share)
        assert counts(name, trace, capacity) == oracle_counts(ORACLE[name], trace, capacity)


@pytest.mark.parametrize("name", [*EXACT, "s3-fifo", "arc"])
@pytest.mark.parametrize("path", few([SPRITE, *SIZED], 1))
def test_exact_with_unit_sizes(name, path):
    trace = real_trace(path).with_unit_sizes()
    for share in SHARES:
        capacity = int(trace.footprint * share)
        if name == "s3-fifo" and capacity < 10:
            continue  # libCacheSim ends the process when the small queue would have no byte
        assert counts(name, trace, capacity) == oracle_counts(ORACLE[name], trace, capacity)


@pytest.mark.parametrize("name", few([*EXACT, "s3-fifo", "slru", "arc"], 3))
def test_exact_on_the_oltp_trace(name):
    trace = real_trace(OLTP)
    assert counts(name, trace, 2000) == oracle_counts(ORACLE[name], trace, 2000)


@pytest.mark.parametrize("path", few(SIZED, 1))
def test_s3_fifo_is_exact_while_every_object_is_smaller_than_the_small_queue(path):
    trace = real_trace(path)
    capacities = [int(trace.footprint * share) for share in SHARES]
    fitting = [capacity for capacity in capacities if capacity // 10 > trace.sizes.max()]
    assert len(fitting) >= 2
    for capacity in fitting:
        assert counts("s3-fifo", trace, capacity) == oracle_counts("S3FIFO", trace, capacity)


def test_s3_fifo_admits_an_object_larger_than_the_small_queue_where_libcachesim_refuses_it():
    trace = real_trace(TENCENT_1326)
    capacity = int(trace.footprint * 0.001)
    assert capacity // 10 < trace.sizes.max() < capacity
    assert -0.01 < difference("s3-fifo", trace, capacity) < 0
    unit = real_trace(SPRITE)
    assert oracle_counts("S3FIFO", unit, 13)[0] == len(unit.objects)  # its small queue of one takes nothing
    assert counts("s3-fifo", unit, 13)[0] < 0.95 * len(unit.objects)


@pytest.mark.parametrize("path", few([*SIZED, SPRITE], 1))
def test_slru_is_exact_for_unit_sizes_and_a_capacity_of_four_equal_segments(path):
    trace = real_trace(path).with_unit_sizes()
    for share in SHARES[1:]:
        capacity = int(trace.footprint * share) // 4 * 4
        assert counts("slru", trace, capacity) == oracle_counts("SLRU", trace, capacity)


CLOSE = [
    ("slru", SHARES, -0.02, 0.0015),  # libCacheSim evicts on a hit over a lowest quarter, and refuses more than one
    ("arc", SHARES, -0.015, 0.015),  # libCacheSim's mis-sizes its lists: no oracle, but not far off on block traces
    ("lirs-refusing", SHARES[1:], -0.015, 0.015),
    ("lhd", SHARES, -0.08, 0.02),  # both sample, and libCacheSim's first learns after a million requests
    ("belady-size-sampled", SHARES, -0.005, 0.005),  # libCacheSim's sample is larger
]


@pytest.mark.parametrize("path", few([*SIZED, SPRITE], 1))
@pytest.mark.parametrize(("name", "shares", "low", "high"), CLOSE)
def test_others_are_close(name, shares, low, high, path):
    trace = real_trace(path)
    for share in shares:
        assert low < difference(name, trace, int(trace.footprint * share)) < high


@pytest.mark.parametrize("path", few([*SIZED, SPRITE], 1))
def test_lirs_is_almost_exact_with_unit_sizes(path):
    """libCacheSim demotes a LIR object when a HIR one outside of the stack is hit, which the paper does not."""
    trace = real_trace(path).with_unit_sizes()
    for share in SHARES:
        assert abs(difference("lirs", trace, int(trace.footprint * share))) < 0.0005


@pytest.mark.parametrize("path", few(SIZED, 1))
def test_lirs_with_real_sizes_is_almost_exact_unless_libcachesim_refuses_objects(path):
    """It refuses whatever exceeds the HIR share of 1 %, for better or worse."""
    trace = real_trace(path)
    for share in SHARES:
        capacity = int(trace.footprint * share)
        if capacity // 100 >= trace.sizes.max():
            assert abs(difference("lirs", trace, capacity)) < 0.0005
        else:
            assert abs(difference("lirs", trace, capacity)) < 0.03


@pytest.mark.parametrize("path", few([*SIZED, SPRITE], 1))
def test_lecar_is_close(path):
    """Drawn at random in both; with sizes libCacheSim's discount counts bytes, so that it does not discount.

    libCacheSim draws otherwise in every run: with a cache of 39 objects differences are from -0.006 to 0.013.
    """
    trace = real_trace(path)

    def usual(of, capacity):
        return median(difference("lecar", of, capacity) for _ in range(5))

    for share in SHARES:
        assert abs(usual(trace.with_unit_sizes(), int(trace.object_count * share))) < 0.01
        assert abs(usual(trace, int(trace.footprint * share))) < 0.02
