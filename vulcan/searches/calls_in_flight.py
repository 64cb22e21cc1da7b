"""The calls of models that a search waits for, each in a thread."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

from vulcan.searches.model_pool import ModelPool
from vulcan.searches.proposal import Proposal, call_record, storable
from vulcan.store import Store
from vulcan.store.events import CallRecord


class CallsInFlight:
    """At most `width` calls of `models`, whose replies are stored as they come; `waiting` is told of slow ones."""

    def __init__(self, models: ModelPool, store: Store, width: int, waiting: Callable[[str], None]) -> None:
        self._models = models
        self._store = store
        self._waiting = waiting
        self._threads = ThreadPoolExecutor(width, thread_name_prefix="vulcan-model")
        self._calls: dict[Future[CallRecord], Proposal] = {}
        self._since: dict[int, float] = {}

    def ask(self, proposal: Proposal) -> None:
        self._since[proposal.number] = time.monotonic()
        self._calls[self._threads.submit(self._reply, proposal)] = proposal

    @property
    def futures(self) -> set[Future[Any]]:
        return set(self._calls)

    def take(self, done: set[Future[Any]]) -> Iterator[tuple[Proposal, Future[CallRecord]]]:
        """Return the calls that are done, with their proposals, and forget them."""
        for future in [call for call in self._calls if call in done]:
            yield self._calls.pop(future), future

    def report_wait(self) -> None:
        """Tell the display what the search is waiting for."""
        if self._calls:
            oldest = min(proposal.number for proposal in self._calls.values())
            seconds = time.monotonic() - self._since[oldest]
            self._waiting(f"waiting {seconds:.0f} s for the reply to proposal {oldest}")

    def close(self) -> None:
        """Wait for the calls that run, and drop the others."""
        self._threads.shutdown(wait=True, cancel_futures=True)

    def _reply(self, proposal: Proposal) -> CallRecord:
        """Return the stored reply from before an interruption, or else ask the model."""
        call = self._store.call(proposal.number, proposal.turn)
        if call is None:
            call = call_record(proposal, storable(self._models.propose(proposal)))
            self._store.record(call)  # in this thread: it may have been billed, and others are scored meanwhile
        return call
