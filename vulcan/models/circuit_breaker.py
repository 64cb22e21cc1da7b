"""A circuit breaker: a model that keeps failing is left alone for a while."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass

from vulcan.errors import UserError
from vulcan.models.base import ModelUnavailable, Proposer, Reply, Request

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class BreakerPolicy:
    """After `failures` failed calls in a row the breaker opens for `first_open` seconds.

    Then one call is let through: its success closes the breaker, its failure opens it again for twice as long, up to
    `longest_open`. (The pattern: M. Nygard, "Release It!", 2007.)
    """

    failures: int = 3
    first_open: float = 30.0
    longest_open: float = 600.0

    def __post_init__(self) -> None:
        if self.failures < 1:
            raise UserError(f"a breaker after {self.failures} failures: at least 1 is needed")
        if not 0 < self.first_open <= self.longest_open:
            raise UserError("the times for which a breaker is open must be above 0 and grow")


class Breaker:
    """A `Proposer` around one model. While it is open, `propose` raises ModelUnavailable at once.

    A call counts as failed where it raises ModelUnavailable, which is after its retries. ModelRefused and
    BudgetExhausted pass through and count for nothing: the first ends the search, the second is not the model's.
    """

    def __init__(
        self, model: Proposer, policy: BreakerPolicy | None = None, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._model = model
        self._policy = policy or BreakerPolicy()
        self._clock = clock
        self._lock = threading.Lock()
        self._in_row = 0
        self._openings = 0
        self._opened_until: float | None = None
        self._trying = False
        self._epoch = 0  # grows at each opening and closing: what began before it tells nothing of what came after
        self._last = ""

    @property
    def name(self) -> str:
        return self._model.name

    def propose(self, request: Request) -> Reply:
        """One reply. Raises what the model raises, and ModelUnavailable at once while the breaker is open."""
        epoch = self._enter()
        try:
            reply = self._model.propose(request)
        except ModelUnavailable as error:
            self._failed(epoch, str(error))
            raise
        finally:
            self._left(epoch)
        self._succeeded()
        return reply

    def close(self) -> None:
        self._model.close()

    def _enter(self) -> int:
        """Let a call through, and note when it began."""
        with self._lock:
            if self._opened_until is not None:
                left = self._opened_until - self._clock()
                if left > 0 or self._trying:
                    when = f"it is tried again in {left:.0f} s" if left > 0 else "it is being tried again"
                    raise ModelUnavailable(
                        f"model {self.name!r} is left alone after {self._in_row} failed calls in a row; {when}; the "
                        f"last: {self._last}"
                    )
                self._trying = True
            return self._epoch

    def _left(self, epoch: int) -> None:
        with self._lock:
            if epoch == self._epoch:
                self._trying = False

    def _failed(self, epoch: int, why: str) -> None:
        with self._lock:
            self._in_row += 1
            self._last = why
            if epoch != self._epoch or self._in_row < self._policy.failures:
                return
            seconds = min(self._policy.first_open * 2.0 ** min(self._openings, 60), self._policy.longest_open)
            self._openings += 1
            self._change(self._clock() + seconds)
            in_row = self._in_row
        _log.warning("model %r failed %d times in a row; leaving it alone for %.0f s", self.name, in_row, seconds)

    def _succeeded(self) -> None:
        with self._lock:
            self._in_row = self._openings = 0
            if self._opened_until is not None:
                self._change(None)

    def _change(self, opened_until: float | None) -> None:
        self._opened_until = opened_until
        self._epoch += 1
        self._trying = False
