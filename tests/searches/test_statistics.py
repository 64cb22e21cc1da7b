"""Intervals of a mean over instances: how often they are right, when there is none, and that they repeat."""

from __future__ import annotations

import numpy as np
import pytest
from effort import few

from vulcan.searches.bootstrap import mean_interval, selection_bias, student_quantile


@pytest.mark.parametrize("count", few([5, 8, 12], 1))
def test_intervals_of_normal_scores_cover_the_mean_as_often_as_they_say(count: int) -> None:
    rng = np.random.RandomState(1)
    found = [mean_interval(list(rng.randn(count))) for _ in range(200)]
    assert np.mean([i is not None and i["low"] <= 0 <= i["high"] for i in found]) > 0.92


@pytest.mark.parametrize("count", few([5, 8, 12], 1))
def test_intervals_of_skewed_scores_cover_the_mean_nearly_as_often(count: int) -> None:
    rng = np.random.RandomState(2)
    found = [mean_interval(list(rng.lognormal(0, 0.8, count))) for _ in range(200)]
    assert (
        np.mean([i is not None and i["low"] <= np.exp(0.32) <= i["high"] for i in found]) > 0.86
    )  # 0.89 to 0.92 of 500


def test_an_interval_narrows_with_more_instances_and_widens_with_more_confidence() -> None:
    values = list(np.random.RandomState(3).randn(40))
    widths = [i["high"] - i["low"] for i in (mean_interval(values[:n]) for n in (5, 10, 20, 40)) if i is not None]
    assert len(widths) == 4
    assert widths == sorted(widths, reverse=True)
    low, high = mean_interval(values, 0.5), mean_interval(values, 0.99)
    assert low is not None and high is not None
    assert high["low"] < low["low"] < np.mean(values) < low["high"] < high["high"]
    assert (low["confidence"], high["confidence"]) == (0.5, 0.99)


def test_an_interval_stays_within_the_range_of_its_objective() -> None:
    found = mean_interval([0.02, 0.9, 0.95, 0.99], within=(0.0, 1.0))
    assert found is not None
    assert 0.0 <= found["low"] < 0.72 < found["high"] <= 1.0


def test_quantiles_of_student_are_those_of_the_tables() -> None:
    found = [student_quantile(0.975, freedom) for freedom in (1, 2, 3, 4, 7, 30)]
    assert found == pytest.approx([12.706, 4.303, 3.182, 2.776, 2.365, 2.042], abs=1e-3)


def test_intervals_over_time_cover_the_mean_of_correlated_blocks() -> None:
    rng = np.random.RandomState(6)
    covered = {True: 0, False: 0}
    for _ in range(100):
        noise, blocks = rng.randn(9), [0.0]
        for n in range(8):
            blocks.append(0.5 * blocks[-1] + noise[n])
        for in_time in covered:
            found = mean_interval(blocks[1:], in_time=in_time)
            assert found is not None
            covered[in_time] += found["low"] <= 0 <= found["high"]
    assert covered[True] >= covered[False]
    assert covered[True] >= 80


def test_the_best_of_many_equal_policies_is_the_luckiest() -> None:
    rng = np.random.RandomState(7)
    luck = {count: [] for count in (1, 3, 10)}
    gained = {count: [] for count in luck}
    for _ in range(20):
        for count, found in luck.items():
            scores = rng.randn(count, 8)
            found.append(selection_bias(scores.tolist()))
            gained[count].append(scores.mean(axis=1).max())  # the mean of each is 0
    means = {count: np.mean(found) for count, found in luck.items()}
    assert means[1] == 0 < means[3] < means[10]
    assert means[10] == pytest.approx(np.mean(gained[10]), rel=0.5)
    same = list(rng.randn(8))
    assert selection_bias([same] * 10) == pytest.approx(0.0, abs=1e-12) or selection_bias([same] * 10) < 0.01
