"""Histograms are exact below 16, within half a bucket above, and hold every number once."""

from __future__ import annotations

import math

import numpy as np
from effort import examples
from hypothesis import given, settings
from hypothesis import strategies as st

from vulcan.kernel_support import njit
from vulcan_traces.fingerprint.kernels.reuse import bucket_of
from vulcan_traces.fingerprint.log_histogram import BUCKETS, Counts, buckets_of, lower_edges, octaves, quantile


@njit
def compiled_buckets(numbers):
    found = np.empty(len(numbers), np.int64)
    for i in range(len(numbers)):
        found[i] = bucket_of(numbers[i])
    return found


def histogram(numbers: list[int]) -> Counts:
    return np.bincount(compiled_buckets(np.array(numbers, np.uint64)), minlength=BUCKETS)


@settings(max_examples=examples(200))
@given(st.lists(st.integers(0, 2**64 - 1), min_size=1, max_size=50))
def test_a_number_is_in_the_bucket_whose_edges_are_around_it(numbers: list[int]) -> None:
    edges = [int(edge) for edge in lower_edges()] + [2**64]
    for number, bucket in zip(numbers, compiled_buckets(np.array(numbers, np.uint64)), strict=True):
        assert edges[bucket] <= number < edges[bucket + 1]


@settings(max_examples=examples(100))
@given(st.lists(st.integers(0, 2**50), min_size=1, max_size=50))
def test_numpy_and_kernels_agree_on_buckets(numbers: list[int]) -> None:
    assert buckets_of(np.array(numbers, np.float64)).tolist() == compiled_buckets(np.array(numbers, np.uint64)).tolist()


@settings(max_examples=examples(200))
@given(st.lists(st.integers(0, 10**9), min_size=1, max_size=60), st.sampled_from([0.1, 0.25, 0.5, 0.9, 0.99]))
def test_quantiles_are_within_a_32nd(numbers: list[int], share: float) -> None:
    exact = sorted(numbers)[max(1, math.ceil(share * len(numbers))) - 1]
    found = quantile(histogram(numbers), share)
    assert found is not None
    assert found == exact if exact < 16 else abs(found - exact) <= exact / 32


@settings(max_examples=examples(100))
@given(st.lists(st.integers(0, 2**63), min_size=1, max_size=60))
def test_octaves_count_every_number_once(numbers: list[int]) -> None:
    found = octaves(histogram(numbers))
    assert math.isclose(sum(share for *_, share in found), 1.0)
    for low, high, share in found:
        assert math.isclose(share * len(numbers), sum(low <= number <= high for number in numbers), abs_tol=1e-9)
