"""When, and how often, a call is made again."""

from __future__ import annotations

import random
from datetime import UTC, datetime

import pytest

from vulcan.models.retry import RetryPolicy, requested_wait

NOW = datetime(2025, 6, 1, 12, 0, 0, tzinfo=UTC)


@pytest.mark.parametrize(
    ("header", "seconds"),
    [
        ("0", 0.0), ("7", 7.0), ("1.5", 1.5), ("Sun, 01 Jun 2025 12:01:30 GMT", 90.0),
        ("Sun, 01 Jun 2025 11:00:00 GMT", 0.0), ("-3", None), ("nan", None), ("inf", None), ("soon", None),
        ("", None), (None, None),
    ],
)  # fmt: skip
def test_retry_after_is_seconds_or_a_date(header: str | None, seconds: float | None) -> None:
    assert requested_wait(header, NOW) == seconds


def test_the_wait_asked_for_is_kept_up_to_the_cap() -> None:
    policy = RetryPolicy(max_requested_wait=60.0)
    jitter = random.Random(1)
    assert 20.0 <= policy.wait_after(1, 20.0, jitter) <= 22.0
    assert 60.0 <= policy.wait_after(1, 86_400.0, jitter) <= 66.0
    assert policy.wait_after(4, 0.0, jitter) >= 4.0  # a wait of nothing does not shorten the backoff
