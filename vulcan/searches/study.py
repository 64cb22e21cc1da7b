"""The search loop: `ask` gives a proposal, `tell` takes the reply, and `run` is a loop over the two.

Work may finish in any order; its results are applied in the order of proposals, and each proposal is drafted from the
history completed before its barrier. So one seed and the same replies give the same run.
"""

from __future__ import annotations

import logging
import random
import threading
from collections import OrderedDict, deque
from collections.abc import Callable, Iterable
from concurrent.futures import Future
from dataclasses import replace
from functools import cached_property
from pathlib import Path

from vulcan.errors import UserError
from vulcan.models.base import BudgetExhausted, ModelUnavailable, Reply, RequestRefused
from vulcan.scoring import Executor
from vulcan.searches.bench import Bench
from vulcan.searches.calls_in_flight import NOTICE_SECONDS, CallsInFlight, EvaluationsInFlight, MissingReplies
from vulcan.searches.config import SearchConfig
from vulcan.searches.conversation import begin
from vulcan.searches.costs import Costs
from vulcan.searches.evaluation import CandidateEvaluation, EvaluationPlan, StoppingContext
from vulcan.searches.feedback import Feedback
from vulcan.searches.finalize import Finalizer
from vulcan.searches.held_out import measure_held_out
from vulcan.searches.model_pool import ModelPool, check_replies, choose
from vulcan.searches.population import VisibleHistory
from vulcan.searches.prompts import Prompts
from vulcan.searches.proposal import (
    ADVICE,
    MAX_ADVICE,
    Attempt,
    PendingProposal,
    Proposal,
    call_record,
    derived_seed,
    judged,
    rest_is_unpaid,
)
from vulcan.searches.recorded_replies import RecordedReplies, reply_of
from vulcan.searches.reply import ParsedReply, parse_reply, parse_source
from vulcan.searches.resumption import Settings
from vulcan.searches.scorer import Scorer
from vulcan.searches.steering import Steering
from vulcan.searches.target import starts_of
from vulcan.store import RunRecord, Store
from vulcan.store.events import CallRecord, CallsChanged, CandidateProposed, Event, RunStopped, StopReason
from vulcan.task import Task

log = logging.getLogger(__name__)

REACH = 10
"""Rank of the candidate that a program must come near to be scored on all instances."""


Listener = Callable[[Event], None]


class Study:
    """One search over one run's store. `executor` scores on the instances of `scorer` and of the record's rungs.

    `waiting` is told what takes long, such as a reply. Instructions to the search are taken from the run's `directory`.
    """

    def __init__(
        self,
        task: Task,
        config: SearchConfig,
        store: Store,
        scorer: Scorer,
        executor: Executor,
        listeners: Iterable[Listener] = (),
        waiting: Callable[[str], None] = lambda _: None,
        directory: Path | None = None,
    ) -> None:
        self.task = task
        self.config = config
        self.store = store
        if problem := store.recover():
            log.warning("%s", problem)
        self.scorer = scorer
        self.executor = executor
        self.record = RunRecord.of(store.events())
        calls = tuple(store.calls())
        self.costs = Costs.of(c for c in calls if c.proposal in self.record.proposals)
        self._last_answered = max((c.proposal for c in calls), default=0)
        asked = max((number for number, _ in store.questions()), default=0)
        self.steering = Steering(self.record, store, directory, max(asked, self._last_answered))
        self._waiting = waiting
        self._listeners = tuple(listeners)
        self._gathered: list[Event] = []
        self._buffered: list[Event] = []
        self._prompts = Prompts(task, scorer.objective, config.settings, scorer.of("train"), config.limit)
        self.feedback = Feedback(task, config, self.record, scorer, executor)
        self._settings = Settings(self.record, config)
        self._plan = EvaluationPlan.of(self.record.rungs, scorer.of("train"), races=config.racing)
        self._bench = Bench(task, config, self.record, scorer, executor, self._plan)
        self._history = VisibleHistory(self.record, store, scorer, REACH)
        self._finalizer = Finalizer(task, config, self.record, scorer, executor, self.emit, self._announce)
        self._pending: OrderedDict[int, PendingProposal] = OrderedDict()
        self.repairs: set[int] = set()  # the proposals whose chat goes on
        self._news = threading.Event()
        self._scoring = EvaluationsInFlight(self._news)
        self._drafted = self.completed = sum(p.round > 0 for p in self.record.proposals.values())
        self._missing = MissingReplies(any(c.by in config.model for c in calls))
        self._ended = ""
        self._recording: RecordedReplies | None = None
        self._changed: deque[CallsChanged] = deque()

    # Ask and tell

    @property
    def total(self) -> int:
        """Number of proposals of the search, excluding seed policies; none are added once finalists are measured."""
        if self.record.confirmed or self.record.chosen is not None:
            return self.completed
        planned = self._settings.strategy.total
        if self.config.budget_candidates is not None:
            planned = min(planned, self.config.budget_candidates)
        return planned if self._recording is None else min(planned, self._recording.proposals)

    def repeat(self, recording: RecordedReplies) -> None:
        """Replay another search: its number of proposals, and no repair beyond the last turn of each.

        It does not stop where a model does not answer, because that search did not.
        """
        self._recording, self._ended = recording, recording.ended
        self._changed.extend(recording.changed[len(self.record.calls_changed) :])
        self.feedback.repeat(recording.explained)
        self.steering.repeat(recording.steered)

    @property
    def starts(self) -> int:
        """Number of policies that the search begins with."""
        return len(self._seed_policies)

    def ask(self, number: int | None = None) -> Proposal | None:
        """Return the next proposal to answer; None if all are made, or others need their verdict first.

        With a number, return the next turn of that proposal's chat; None if it has none.
        """
        self._apply_completed()
        if number is None and not self.repairs:
            return self._draft_next()
        first = min(self.repairs) if number is None else number
        self.repairs.discard(first)
        return self._pending[first].take_repair() if first in self._pending else None

    def _draft_next(self) -> Proposal | None:
        self.begin()
        first = self.starts + 1
        number = first + self._drafted
        config, strategy, barrier = self._settings.at(number, first)
        if self._drafted >= self.total or self.completed < barrier:
            return None
        self.steering.take(number)
        population, known = self._history.before(first + barrier)
        rng = random.Random(derived_seed(self.config.seed, number))
        draft = self.steering.draft(strategy, self._drafted, number, population, rng)
        self._drafted += 1
        if (own := self.steering.added(number)) is not None:
            self._add_own(Proposal(number, 0, draft, "", (), 0), own, known)
            return self._draft_next()
        capable = [m for m in config.model if draft.operator != ADVICE or not m.startswith("offline/")]
        talk = begin(self._bench, config, draft, number, first + barrier, known)
        model = choose(capable, self._history.history, rng)
        told, explained = self.feedback.about(draft, model)
        chat, tools = self._prompts.chat(draft, told, talk), talk.schemas if talk is not None else ()
        proposal = Proposal(number, 0, draft, model, chat, derived_seed(self.config.seed, number), tools)
        self._pending[number] = PendingProposal(proposal, known, (*self.steering.events(number), *explained), talk)
        return proposal

    def _add_own(self, proposal: Proposal, source: str, known: StoppingContext) -> None:
        """Evaluate a program of the user's, which takes the place of a model's reply."""
        pending = PendingProposal(proposal, known, self.steering.events(proposal.number), answered=True)
        self._pending[proposal.number] = pending
        self._receive(pending, parse_source(source, self.task, self.config.target))
        self._apply_completed()

    def _receive(self, pending: PendingProposal, reading: ParsedReply) -> None:
        """Record a program that was read, and evaluate it if it is accepted and new."""
        if reading.policy is not None and not pending.knows(reading.policy.fingerprint, self.record):
            pending.evaluation = self._evaluate(pending.proposal.number, reading.source, pending.context)
            self._scoring.watch(pending.evaluation)
        pending.attempts.append(Attempt(pending.proposal.turn, reading, pending.evaluation))

    def open(self) -> list[Proposal]:
        """Return the proposals that wait for a reply."""
        return [f.proposal for f in self._pending.values() if not f.answered]

    def tell(self, proposal: Proposal, reply: Reply) -> ParsedReply | None:
        """Accept the reply to a proposal. `ask` returns rejected programs for repair while turns remain.

        None if it asked for advice, or the reply called tools. Raises ValueError for a proposal that is not open.
        """
        self._pending_proposal(proposal)
        call = call_record(proposal, reply)
        self.store.record(call)
        return self._accept(proposal, call)

    def _accept(self, proposal: Proposal, call: CallRecord) -> ParsedReply | None:
        """Process a reply that is in the store."""
        pending, reply = self._pending_proposal(proposal), reply_of(call)
        self.costs.add(call)
        pending.answered = True
        if proposal.draft.operator == ADVICE:
            pending.advice = reply.text.strip()[:MAX_ADVICE]
            self._apply_completed()
            return None
        last = pending.last_turn(self.config.repairs, self._recording)
        if (talk := pending.conversation) is not None and (following := talk.answer(proposal, reply, last)) is not None:
            self._go_on(pending, following)
            return None
        reading = parse_reply(reply, self.task, proposal.diff_of, self.config.target)
        self._receive(pending, reading)
        if reading.policy is None and proposal.turn < last:
            repair = proposal.repaired(reply.text, self._prompts.repair(reading.feedback))
            self._go_on(pending, replace(repair, model=reply.by or proposal.model))  # by the author of the rejected
        self._apply_completed()
        return reading

    def _go_on(self, pending: PendingProposal, turn: Proposal) -> None:
        """Have a proposal's chat go on with this turn."""
        pending.repair = turn
        self.repairs.add(turn.number)

    def _drop_repairs(self) -> None:
        """End the chats that go on: rejected programs stay rejected."""
        for number in self.repairs:
            self._pending[number].repair = None
        self.repairs.clear()

    def tell_unanswered(self, proposal: Proposal, why: str) -> None:
        """Record that the model gave no reply to a proposal, for a reason that may be temporary."""
        pending = self._pending_proposal(proposal)
        pending.answered = True
        pending.unanswered = why
        self._apply_completed()

    def wait_for_scores(self) -> None:
        """Wait until every program received has its verdict, so that `ask` can give all that can be asked."""
        for pending in tuple(self._pending.values()):
            if pending.evaluation is not None:
                pending.evaluation.wait()
        self._apply_completed()

    def give_up(self) -> None:
        """Stop waiting for replies, so that programs behind an open proposal get their verdict."""
        self._drop_repairs()
        for pending in self._pending.values():
            if not pending.answered:
                pending.answered = pending.unpaid = True
                pending.unanswered = "nobody answered"
        self.wait_for_scores()

    @property
    def evaluations(self) -> dict[int, CandidateEvaluation]:
        """The evaluation of each proposal that is incomplete, some because an earlier one has no reply yet."""
        return {number: p.evaluation for number, p in self._pending.items() if p.evaluation is not None}

    def restore(self) -> None:
        """Restore the questions and replies from before this process began."""
        for number, turn in self.store.questions():
            if number in self.record.proposals:
                continue
            self._apply_completed()
            proposal = self._redraft(number)
            if proposal is None:  # in a repaired run, its parents may have no verdict yet
                self.wait_for_scores()
                proposal = self._redraft(number)
            if proposal is None or (proposal.number, proposal.turn) != (number, turn):
                raise UserError(f"proposal {number} was asked, and cannot be drafted again: was the task changed?")
            if (stored := self.store.call(number, turn)) is not None:
                self._accept(proposal, stored)

    def _redraft(self, number: int) -> Proposal | None:
        return self.ask(number) if number in self._pending else self._draft_next()

    def run(self, models: ModelPool, parallel: int | None = None, must_find: bool = True) -> None:
        """Search until the plan or a budget is exhausted, then choose and test the winner.

        Raises ModelRefused, or UserError where the model no longer answers; the run can then be resumed. With
        `must_find` also UserError where no reply had a program in it; a search that is ended by hand may have none.
        """
        width = parallel or max(2 * self.executor.workers, self.config.in_flight)
        calls = CallsInFlight(models, self.store, width, self._waiting, self._news)
        try:
            with models.deadline():
                while True:
                    while (self.repairs or len(self._pending) < 2 * width) and (
                        self._answered_before() or not models.exhausted()
                    ):
                        if (proposal := self.ask()) is None:
                            break
                        calls.ask(proposal)
                    if models.exhausted():
                        self._drop_repairs()
                        self._apply_completed()
                    if not self._pending:
                        break
                    if (calls or self._scoring) and not self._news.wait(NOTICE_SECONDS):
                        calls.report_wait()
                    self._news.clear()
                    for proposal, answered in calls.take():
                        self._take(proposal, answered)
                    for model, change in models.take_changes():
                        self.emit(CallsChanged(self.completed + self.starts + 1, model, change))
                    if not calls:
                        self._missing.check_refusals()
                    self._apply_completed()
        except BaseException:
            models.close()  # cuts off the calls that the threads wait for
            raise
        finally:
            calls.close()
        if must_find and self._recording is None and not self.config.offline:
            check_replies(self.record, self.config, self.costs, self._buffered, models.why_exhausted())
        if self.completed < self.total:
            self._ended = models.why_exhausted()
        self.finish()

    def _answered_before(self) -> bool:
        """Check whether a paid answer from before an interruption has yet to be processed."""
        repairs = (self._pending[number].repair for number in self.repairs)
        return self.starts + self._drafted < self._last_answered or any(
            r is not None and self.store.call(r.number, r.turn) is not None for r in repairs
        )

    def _take(self, proposal: Proposal, answered: Future[CallRecord]) -> None:
        try:
            call = answered.result()
            self._missing.answered = True
            self._accept(proposal, call)
        except ModelUnavailable as error:
            if isinstance(error, RequestRefused):
                self._missing.refuse(self._pending[proposal.number], error)
            self.tell_unanswered(proposal, str(error))
        except BudgetExhausted as error:
            self._pending[proposal.number].unpaid = True
            self.tell_unanswered(proposal, str(error))

    def finish(self) -> None:
        """Refine the best candidate, measure the finalists, choose the winner and test it."""
        if self._buffered:
            self.store.append(*self._buffered)
            self._buffered.clear()
        self._finalizer.finish()

    def measure_held_out(self) -> None:
        """Measure what the verdict needs besides the finalists, once the winner is chosen."""
        if self.record.chosen is not None and self.record.held_out is None:
            self._waiting("measuring known policies and blocks of time for the verdict")
            self.emit(*measure_held_out(self.task, self.record, self.scorer, self.executor, self.config.limit))

    def close(self, reason: StopReason) -> None:
        """Record in the store that the search is over, and which budget ended it before its plan."""
        self.emit(RunStopped(reason, self._ended))

    # Scoring

    def begin(self) -> None:
        """Score the policies to begin with, if not done before: fully, as round 0."""
        for number, (name, source) in enumerate(self._seed_policies.items(), 1):
            if number in self.record.proposals:
                continue
            reading = parse_source(source, self.task, self.config.target)
            if reading.policy is None:
                why = reading.feedback.splitlines()[0].removeprefix("- ")
                raise UserError(f"task {self.task.name!r}: its policy {name!r} is rejected: {why}")
            repeats = self.record.candidate_with(reading.policy.fingerprint) is not None
            trial = None if repeats else self._evaluate(number, source, StoppingContext(stops=False))
            if trial is not None:
                trial.wait()
            candidate = len(self.record.candidates) + 1
            verdict = judged(self.record, Attempt(0, reading, trial), candidate, number)
            self.emit(CandidateProposed(number, 0, "seed", (), 0, ""), replace(verdict, origin="seed"))

    @cached_property
    def _seed_policies(self) -> dict[str, str]:
        return starts_of(self.task, self.config)

    def _evaluate(self, number: int, source: str, context: StoppingContext) -> CandidateEvaluation:
        return CandidateEvaluation(number, source, self._plan, context, self.scorer, self.executor, self.config.limit)

    # Verdicts, in the order of proposals

    def _apply_completed(self) -> None:
        self.emit(*self._finalizer.after_new_best(self.completed))  # if an interruption cut it off
        self._scoring.advance()
        try:
            while self._pending and next(iter(self._pending.values())).complete:
                if rest_is_unpaid(self._pending, self._last_answered):
                    if all(pending.answered for pending in self._pending.values()):
                        self._drafted -= len(self._pending)
                        self._pending.clear()
                        self.repairs.clear()
                        self.feedback.forget_pending()
                    break
                number, pending = self._pending.popitem(last=False)
                while self._changed and self._changed[0].proposal <= number:
                    self.emit(self._changed.popleft())
                self.completed += 1
                if waits := self._missing.count(pending):
                    self._flush()
                self._gather(*pending.events(self.record))
                if waits:
                    self._flush(is_stored=False)
                self.emit(*self._finalizer.after_new_best(self.completed))
                if self._recording is None:
                    self._missing.check_row(pending)
        finally:
            self._flush()

    def _announce(self, what: str) -> None:
        self._flush()
        self._waiting(what)

    def emit(self, *events: Event) -> None:
        if events:
            self._gather(*events)
            self._flush()

    def _gather(self, *events: Event) -> None:
        """Take events in that the next flush stores: verdicts that come together are one transaction."""
        self._gathered.extend(events)
        for event in events:
            self.record.add(event)
            self._history.add(event)

    def _flush(self, *, is_stored: bool = True) -> None:
        """Store what was gathered, and have it heard; or have it stored with the next, and dropped without one."""
        events, self._gathered = self._gathered, []
        self._buffered.extend(events)
        if events and is_stored:
            self.store.append(*self._buffered)
            self._buffered.clear()
        for event in events:
            for listener in self._listeners:
                listener(event)

    def _pending_proposal(self, proposal: Proposal) -> PendingProposal:
        pending = self._pending.get(proposal.number)
        if pending is None or pending.answered or pending.proposal.turn != proposal.turn:
            raise ValueError(f"proposal {proposal.number}, turn {proposal.turn}, is not open")
        return pending
