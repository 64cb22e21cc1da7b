"""Intervals of a mean over instances: how often they are right, when there is none, and that they repeat."""

from __future__ import annotations

import numpy as np
import pytest
from effort import few

from vulcan.searches.bootstrap import MIN, ConfidenceInterval, mean_interval


@pytest.mark.parametrize("count", few([5, 8, 12], 1))
def test_intervals_of_normal_scores_cover_the_mean_as_often_as_they_say(count: int) -> None:
    rng = np.random.RandomState(1)
    found = [mean_interval(list(rng.randn(count))) for _ in range(200)]
    assert np.mean([i is not None and i.low <= 0 <= i.high for i in found]) > 0.92


@pytest.mark.parametrize("count", few([5, 8, 12], 1))
def test_intervals_of_skewed_scores_cover_the_mean_nearly_as_often(count: int) -> None:
    rng = np.random.RandomState(2)
    found = [mean_interval(list(rng.lognormal(0, 0.8, count))) for _ in range(200)]
    assert np.mean([i is not None and i.low <= np.exp(0.32) <= i.high for i in found]) > 0.88


def test_an_interval_narrows_with_more_instances_and_widens_with_more_confidence() -> None:
    values = list(np.random.RandomState(3).randn(40))
    widths = [i.high - i.low for i in (mean_interval(values[:n]) for n in (5, 10, 20, 40)) if i is not None]
    assert len(widths) == 4
    assert widths == sorted(widths, reverse=True)
    low, high = mean_interval(values, 0.5), mean_interval(values, 0.99)
    assert low is not None and high is not None
    assert high.low < low.low < np.mean(values) < low.high < high.high
    assert (low.confidence, high.confidence) == (0.5, 0.99)


def test_with_many_scores_it_is_the_textbook_interval() -> None:
    values = list(np.random.RandomState(4).randn(400) + 3)
    found = mean_interval(values)
    half = 1.96 * np.std(values, ddof=1) / 20
    assert found is not None
    assert (found.low, found.high) == pytest.approx((np.mean(values) - half, np.mean(values) + half), abs=0.01)


def test_too_few_scores_have_no_interval() -> None:
    for count in range(MIN):
        assert mean_interval([0.1 * n for n in range(count)]) is None
    assert mean_interval([0.1, 0.2, 0.3, 0.5]) is not None
    assert mean_interval([0.1, 0.2, 0.3, 0.5], 0.999) is None


def test_equal_scores_leave_no_doubt() -> None:
    assert mean_interval([0.1] * 9) == ConfidenceInterval(pytest.approx(0.1), pytest.approx(0.1), 0.95)


def test_pairs_tell_more_than_the_two_alone() -> None:
    rng = np.random.RandomState(5)
    second = 10 * rng.randn(12)
    first = second + 0.5 + 0.1 * rng.randn(12)
    difference = mean_interval(list(first - second))
    one, other = mean_interval(list(first)), mean_interval(list(second))
    assert difference is not None and one is not None and other is not None
    assert 0.4 < difference.low < 0.5 < difference.high < 0.6
    assert one.low < other.high and other.low < one.high
    turned = mean_interval(list(second - first))
    assert turned is not None and turned.high < 0


def test_an_interval_repeats_and_its_figures_stay() -> None:
    values = [0.02, 0.31, -0.05, 0.11, 0.27, 0.08]
    found = mean_interval(values)
    assert found == mean_interval(values)
    assert found != mean_interval(values, seed=2)
    assert found is not None
    assert (found.low, found.high) == pytest.approx((-0.016039, 0.345489), abs=1e-6)


@pytest.mark.parametrize("confidence", [0.0, 1.0, -0.5, 95.0])
def test_a_confidence_that_is_none_is_refused(confidence: float) -> None:
    with pytest.raises(ValueError, match="confidence"):
        mean_interval([1.0, 2.0, 3.0, 4.0], confidence)
