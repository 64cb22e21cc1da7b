"""What a search waits for: calls of models, each in a thread, those that get no reply, and evaluations."""

from __future__ import annotations

import logging
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor

from vulcan.errors import UserError
from vulcan.models.base import ModelRefused, RequestRefused
from vulcan.searches.evaluation import CandidateEvaluation
from vulcan.searches.model_pool import ModelPool
from vulcan.searches.proposal import PendingProposal, Proposal, call_record
from vulcan.store import Store
from vulcan.store.events import CallRecord

log = logging.getLogger(__name__)

NOTICE_SECONDS = 30.0
"""Seconds without news after which the display is told what the search is waiting for."""


class CallsInFlight:
    """At most `width` calls of `models`, whose replies are stored as they come; `waiting` is told of slow ones.

    `news` is set when one is done.
    """

    def __init__(
        self, models: ModelPool, store: Store, width: int, waiting: Callable[[str], None], news: threading.Event
    ) -> None:
        self._models = models
        self._store = store
        self._waiting = waiting
        self._news = news
        self._done: deque[Future[CallRecord]] = deque()
        self._threads = ThreadPoolExecutor(width, thread_name_prefix="vulcan-model")
        self._calls: dict[Future[CallRecord], Proposal] = {}
        self._since: dict[int, float] = {}

    def ask(self, proposal: Proposal) -> None:
        self._since[proposal.number] = time.monotonic()
        call = self._threads.submit(self._reply, proposal)
        self._calls[call] = proposal
        call.add_done_callback(self._finished)

    def _finished(self, call: Future[CallRecord]) -> None:
        self._done.append(call)
        self._news.set()

    def __len__(self) -> int:
        return len(self._calls)

    def take(self) -> Iterator[tuple[Proposal, Future[CallRecord]]]:
        """Return the calls that are done, with their proposals, and forget them."""
        while self._done:
            call = self._done.popleft()
            yield self._calls.pop(call), call

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
            call = call_record(proposal, self._models.propose(proposal))
            self._store.record(call)  # in this thread: it may have been billed, and others are scored meanwhile
        return call


class EvaluationsInFlight:
    """Evaluations that wait for measurements, which come by themselves: there may be thousands to look at.

    `news` is set when one has come.
    """

    def __init__(self, news: threading.Event) -> None:
        self._news = news
        self._measured: deque[CandidateEvaluation] = deque()
        self._count = 0

    def __len__(self) -> int:
        return self._count

    def watch(self, evaluation: CandidateEvaluation) -> None:
        def measured(_: object) -> None:
            self._measured.append(evaluation)
            self._news.set()

        self._count += 1
        evaluation.running.add_done_callback(measured)

    def advance(self) -> None:
        """Process all finished stages without waiting. Raises what the executor raises."""
        while self._measured:
            self._count -= 1
            evaluation = self._measured.popleft()
            evaluation.advance()
            if not evaluation.finished:
                self.watch(evaluation)


MAX_UNANSWERED = 5
"""Consecutive proposals that a model may leave unanswered before the search stops."""


class MissingReplies:
    """The proposals without a reply, in order, of a search whose models have answered before, or have not."""

    def __init__(self, answered: bool) -> None:
        self.answered = answered
        self._refusal: RequestRefused | None = None
        self._in_row = 0

    def refuse(self, pending: PendingProposal, refusal: RequestRefused) -> None:
        """Note that a model refused a proposal's prompt."""
        self._refusal, pending.refused = refusal, True
        log.warning("proposal %d is lost: %s", pending.proposal.number, refusal)

    def check_refusals(self) -> None:
        """Raise ModelRefused where a prompt was refused, and none was ever answered: so would the others be."""
        if self._refusal is not None and not self.answered:
            raise ModelRefused(str(self._refusal)) from self._refusal

    def count(self, pending: PendingProposal) -> bool:
        """Count a proposal that is complete, and check whether it waits for the next one to be stored.

        A missing reply counts only if the model answers later proposals: if it is down, the unanswered proposals are
        asked again when the search resumes. A prompt that is refused by a model which answers others is not.
        """
        missing = pending.unanswered is not None and not pending.unpaid
        self._in_row = self._in_row + 1 if missing else 0
        return missing and not (pending.refused and self.answered)

    def check_row(self, pending: PendingProposal) -> None:
        """Raise UserError, or ModelRefused where the last was refused, after too many proposals without a reply."""
        if self._in_row >= MAX_UNANSWERED:
            why = (
                f"the model gave no reply to {MAX_UNANSWERED} proposals in a row, the last of them "
                f"{pending.proposal.number}: {pending.unanswered}"
            )
            if pending.refused:
                raise ModelRefused(why)
            raise UserError(f"{why}; when it is back, continue with `vulcan resume`")
