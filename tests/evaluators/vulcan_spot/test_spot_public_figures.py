"""The arithmetic of the public evaluator, to the cent."""

from __future__ import annotations

import pytest
from real_data import real_data

from benchmarks.spot import PUBLIC, all_runs, means
from vulcan_spot.job import Prices, SpotJob
from vulcan_spot.simulator import public_score


@pytest.fixture(scope="module")
def runs():
    real_data("spot")
    return all_runs()


@pytest.mark.parametrize("name", PUBLIC)
def test_mean_costs_over_360_runs(runs, name):
    assert sum(len(windows.begins) for _, _, windows in runs) == 360
    assert tuple(round(mean, 2) for mean in means(runs, name)) == PUBLIC[name]


def test_the_public_score():
    job, prices = SpotJob.of_hours(48, 52, 0.2), Prices()
    assert public_score(3.06 * 48, job, prices) == pytest.approx(0)
    assert public_score(0.9731 * 48, job, prices) == pytest.approx(100)
    assert public_score(200, job, prices) == 0
    assert public_score(0, job, prices) == 100
    assert public_score(102.52, job, prices) == pytest.approx((146.88 - 102.52) / (146.88 - 46.7088) * 100)
    assert public_score(1, job, Prices(1, 1)) == 0
