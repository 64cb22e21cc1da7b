"""The Zipf exponent is the maximum-likelihood one and is found again in what was drawn with it."""

from __future__ import annotations

import numpy as np
import pytest
from effort import examples
from hypothesis import given, settings
from hypothesis import strategies as st

from vulcan_traces import load_trace
from vulcan_traces.fingerprint.measure import MAX_EXPONENT, popularity

COUNTS = st.lists(st.integers(1, 1000), min_size=1, max_size=80)


def log_likelihood(counts: list[int], exponent: float) -> float:
    ranks = np.arange(1, len(counts) + 1, dtype=np.float64)
    ordered = np.sort(counts)[::-1]
    return float(-exponent * (ordered @ np.log(ranks)) - ordered.sum() * np.log((ranks**-exponent).sum()))


@settings(max_examples=examples(150))
@given(COUNTS)
def test_no_other_exponent_is_likelier(counts: list[int]) -> None:
    found = popularity(np.array(counts)).zipf_exponent
    assert 0 <= found <= MAX_EXPONENT
    here = log_likelihood(counts, found)
    for other in (found - 0.05, found + 0.05):
        if 0 <= other <= MAX_EXPONENT:
            assert here >= log_likelihood(counts, other)


@pytest.mark.parametrize("exponent", [0.4, 0.6, 0.8, 1.0, 1.2, 1.5])
def test_the_exponent_of_a_drawn_trace_is_found(exponent: float) -> None:
    trace = load_trace(f"zipf:requests=2000000,objects=20000,alpha={exponent},seed=3")
    found = popularity(np.bincount(trace.objects))
    assert found.zipf_exponent == pytest.approx(exponent, abs=0.01)


@settings(max_examples=examples(150))
@given(COUNTS)
def test_shares_are_what_they_say(counts: list[int]) -> None:
    found = popularity(np.array(counts))
    ordered = sorted(counts, reverse=True)
    for share, part in ((found.top_percent_share, 0.01), (found.top_tenth_share, 0.1)):
        assert share == pytest.approx(sum(ordered[: max(1, round(len(counts) * part))]) / sum(counts))
    assert found.one_hit_share == pytest.approx(counts.count(1) / len(counts))
