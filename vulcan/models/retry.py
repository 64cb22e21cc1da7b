"""Retries with exponential backoff after transient errors."""

from __future__ import annotations

import logging
import math
import random
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import TypeVar

from vulcan.models.base import ModelUnavailable

_log = logging.getLogger(__name__)

T = TypeVar("T")

Wait = Callable[[float], bool]
"""A function that waits that many seconds and returns True if cancelled, such as `threading.Event().wait`."""


class TransientError(Exception):
    """A transient error; the server asked to wait `retry_after` seconds.

    After it a call has at most `attempts`, where that is less than the policy's.
    """

    def __init__(self, message: str, retry_after: float | None = None, attempts: int | None = None) -> None:
        super().__init__(message)
        self.retry_after = retry_after
        self.attempts = attempts


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """Exponential backoff: at most `attempts` calls, with waits in seconds between them.

    The wait after the n-th failure is drawn from the upper half of `initial_wait * 2**(n - 1)`, at most
    `max_wait`. Where the server names a wait (Retry-After, RFC 9110 section 10.2.3) it is at least that
    one, up to `max_requested_wait`, and up to a tenth longer, so that many callers do not return at one
    instant.
    """

    attempts: int = 5
    initial_wait: float = 1.0
    max_wait: float = 30.0
    max_requested_wait: float = 120.0

    def wait_after(self, failures: int, requested: float | None, jitter: random.Random) -> float:
        """Return the seconds to wait after that many consecutive failures (1 or more)."""
        backoff = min(self.initial_wait * 2.0 ** min(failures - 1, 60), self.max_wait)
        backoff *= jitter.uniform(0.5, 1.0)
        if requested is None:
            return backoff
        return max(backoff, min(requested, self.max_requested_wait) * jitter.uniform(1.0, 1.1))


def with_retries(call: Callable[[], T], policy: RetryPolicy, *, what: str, jitter: random.Random, wait: Wait) -> T:
    """Call `call`, retrying after each TransientError. Raises ModelUnavailable when giving up."""
    attempts = policy.attempts
    for attempt in range(1, policy.attempts + 1):
        try:
            return call()
        except TransientError as fault:
            reason, asked = str(fault), fault.retry_after
            attempts = min(policy.attempts, fault.attempts or policy.attempts)
        if attempt >= attempts:
            break
        seconds = policy.wait_after(attempt, asked, jitter)
        _log.warning(
            "%s: attempt %d of %d failed: %s; trying again in %.1f s", what, attempt, attempts, reason, seconds
        )
        if wait(seconds):
            raise ModelUnavailable(f"{what}: stopped before another attempt; the last failed: {reason}")
    raise ModelUnavailable(
        f"{what}: gave up after {attempt} failed attempt{'s' if attempt > 1 else ''}, the last: {reason}"
    )


def requested_wait(value: str | None, now: datetime | None = None) -> float | None:
    """Parse a Retry-After header: a number of seconds, or a date; None for anything else."""
    if value is None:
        return None
    with suppress(ValueError):
        seconds = float(value)
        return seconds if math.isfinite(seconds) and seconds >= 0 else None
    try:
        then = parsedate_to_datetime(value)
    except (ValueError, OverflowError):
        return None
    then = then if then.tzinfo is not None else then.replace(tzinfo=UTC)
    return max(0.0, (then - (now or datetime.now(UTC))).total_seconds())
