"""Measurements that are kept on disk."""

from __future__ import annotations

import logging
from pathlib import Path

import pytest

from vulcan.simulator.base import cached_metrics
from vulcan.task import Metrics


class Counting:
    """Measures, and counts how often it was asked to."""

    def __init__(self) -> None:
        self.times = 0

    def __call__(self) -> Metrics:
        self.times += 1
        return {"misses": 3.0, "share": 0.1}


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("VULCAN_CACHE_DIR", str(tmp_path))
    return tmp_path / "baselines"


def measurements(place: Path) -> list[Path]:
    return list(place.glob("*.json"))


def test_the_same_is_measured_once(place: Path) -> None:
    measure = Counting()
    found = [cached_metrics(["cache", "lru", 1, {"capacity": 10}], measure) for _ in range(3)]
    assert found == [{"misses": 3.0, "share": 0.1}] * 3
    assert measure.times == 1
    assert len(measurements(place)) == 1


def test_what_differs_in_anything_is_measured_anew(place: Path) -> None:
    measure = Counting()
    for identity in (["cache", "lru", 1, {"a": 1}], ["cache", "lru", 2, {"a": 1}], ["cache", "lru", 1, {"a": 2}]):
        cached_metrics(list(identity), measure)
    assert measure.times == 3 == len(measurements(place))


def test_what_is_damaged_is_measured_again_with_a_warning(place: Path, caplog: pytest.LogCaptureFixture) -> None:
    measure = Counting()
    cached_metrics(["cache"], measure)
    (kept,) = measurements(place)
    kept.write_text('{"misses": 3')
    with caplog.at_level(logging.WARNING):
        assert cached_metrics(["cache"], measure)["misses"] == 3.0
    assert measure.times == 2
    assert "computed again" in caplog.text
    assert cached_metrics(["cache"], measure) and measure.times == 2
