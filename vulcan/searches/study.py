"""The search loop: `ask` gives a proposal, `tell` takes the reply, and `run` is a loop over the two.

Work may finish in any order; its results are applied in the order of proposals, and each proposal is drafted from the
history completed before its barrier. So one seed and the same replies give the same run.
"""

from __future__ import annotations

import hashlib
import logging
import random
from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import replace
from functools import cached_property
from typing import Any

from vulcan.errors import UserError
from vulcan.evaluator import SplitName
from vulcan.models import BudgetExhausted, ModelUnavailable, Reply
from vulcan.scoring import Executor
from vulcan.searches.config import SearchConfig
from vulcan.searches.costs import Costs
from vulcan.searches.evaluation import CandidateEvaluation, EvaluationPlan, StoppingContext
from vulcan.searches.finalize import Finalizer, Refiner
from vulcan.searches.model_pool import ModelPool, choose, reply_of
from vulcan.searches.population import VisibleHistory
from vulcan.searches.prompts import Prompts
from vulcan.searches.proposal import ADVICE, PendingProposal, Proposal, call_record, judged, storable
from vulcan.searches.reply import ParsedReply, parse_reply, parse_source
from vulcan.searches.scorer import Scorer
from vulcan.searches.strategies import make_strategy
from vulcan.store import RunRecord, Store
from vulcan.store.events import (
    CallRecord,
    CandidateProposed,
    ControlFinished,
    Event,
    RunStopped,
    StopReason,
)
from vulcan.task import Task

log = logging.getLogger(__name__)

MAX_UNANSWERED = 5
"""Consecutive proposals that a model may leave unanswered before the search stops."""

MAX_ADVICE = 2_000
"""Maximum length, in characters, of the stored reply to a proposal for advice."""

Listener = Callable[[Event], None]


class Study:
    """One search over one run's store. `executor` scores on the instances of `scorer` and of the record's rungs."""

    def __init__(
        self,
        task: Task,
        config: SearchConfig,
        store: Store,
        scorer: Scorer,
        executor: Executor,
        listeners: Iterable[Listener] = (),
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
        self._last_kept = max((c.proposal for c in calls), default=0)
        self._listeners = tuple(listeners)
        self._prompts = Prompts(task, scorer.objective, config.settings, scorer.of("train"))
        self._strategy = make_strategy(config, config.offline)
        self._course = EvaluationPlan.of(self.record.rungs, scorer.of("train"), races=config.racing)
        self._settled = VisibleHistory(self.record, store, scorer, config.finalists)
        self._refining = Refiner(task, config, self.record, scorer, executor)
        self._flights: OrderedDict[int, PendingProposal] = OrderedDict()
        self._asked = self.settled = sum(p.round > 0 for p in self.record.proposals.values())
        self._unanswered_in_row = 0
        self._held: list[Event] = []
        self._most: int | None = None
        self._last_turns: Mapping[int, int] = {}

    # Ask and tell

    def begin(self) -> None:
        """Score the task's own policies, if not done before."""
        self._score_seed_policies()

    @property
    def total(self) -> int:
        """Number of proposals of the search, excluding seed policies; none are added once finalists are measured."""
        if self.record.confirmed or self.record.chosen is not None:
            return self.settled
        planned = self._strategy.total()
        if self.config.budget_candidates is not None:
            planned = min(planned, self.config.budget_candidates)
        return planned if self._most is None else min(planned, self._most)

    def repeat(self, proposals: int, last_turns: Mapping[int, int]) -> None:
        """Replay another search: its number of proposals, and no repair beyond the last turn of each.

        It does not stop where a model does not answer, because that search did not.
        """
        self._most = proposals
        self._last_turns = last_turns

    def ask(self) -> Proposal | None:
        """Return the next proposal to answer; None if all are made, or others need their verdict first."""
        self._settle()
        return next(filter(None, map(self._take_repair, self._flights.values())), None) or self._draft_next()

    def _take_repair(self, flight: PendingProposal) -> Proposal | None:
        """Return the next turn of a proposal whose program was rejected; None if it has none."""
        if (repair := flight.repair) is not None:
            flight.proposal, flight.repair, flight.told = repair, None, False
        return repair

    def _draft_next(self) -> Proposal | None:
        self._score_seed_policies()
        barrier = self._strategy.settled_before(self._asked)
        if self._asked >= self.total or self.settled < barrier:
            return None
        number = self._first_number + self._asked
        population, known = self._settled.before(self._first_number + barrier)
        rng = random.Random(derived_seed(self.config.seed, number))
        draft = self._strategy.draft(self._asked, population, rng)
        proposal = Proposal(
            number=number,
            turn=0,
            draft=draft,
            model=choose(self._able_to(draft.operator), self._settled.history, rng),
            messages=self._prompts.chat(draft),
            seed=derived_seed(self.config.seed, number),
            progress=self._asked / max(1, self.total),
        )
        self._asked += 1
        self._flights[number] = PendingProposal(proposal, known)
        return proposal

    def _able_to(self, operator: str) -> tuple[str, ...]:
        """Return the models capable of the operator: the offline generator gives no advice."""
        return tuple(m for m in self.config.model if operator != ADVICE or not m.startswith("offline/"))

    @property
    def _repairs(self) -> bool:
        return any(flight.repair is not None for flight in self._flights.values())

    def open(self) -> list[Proposal]:
        """Return the proposals that wait for a reply."""
        return [f.proposal for f in self._flights.values() if not f.told]

    def tell(self, proposal: Proposal, reply: Reply) -> ParsedReply | None:
        """Accept the reply to a proposal. `ask` returns rejected programs for repair while turns remain.

        None if the proposal asked for advice. Raises ValueError for a proposal that is not open.
        """
        self._open_flight(proposal)
        call = call_record(proposal, storable(reply))
        self.store.keep_call(call)
        return self._accept(proposal, call)

    def _accept(self, proposal: Proposal, call: CallRecord) -> ParsedReply | None:
        """Process a reply that is in the store."""
        flight, reply = self._open_flight(proposal), reply_of(call)
        self.costs.add(call)
        flight.told = True
        if proposal.draft.operator == ADVICE:
            flight.advice = reply.text.strip()[:MAX_ADVICE]
            self._settle()
            return None
        reading = parse_reply(reply, self.task, proposal.diff_of)
        flight.readings.append(reading)
        if reading.policy is None and proposal.turn < self._last_turns.get(proposal.number, self.config.repairs):
            repair = proposal.repaired(reply.text, self._prompts.repair(reading.feedback))
            flight.repair = replace(repair, model=reply.by or proposal.model)  # by the author of the rejected program
        elif reading.policy is not None and self.record.candidate_with(reading.policy.fingerprint) is None:
            flight.trial = self._trial(proposal.number, reading.source, flight.known)
        self._settle()
        return reading

    def tell_unanswered(self, proposal: Proposal, why: str) -> None:
        """Record that the model gave no reply to a proposal, for a reason that may be temporary."""
        flight = self._open_flight(proposal)
        flight.told = True
        flight.unanswered = why
        self._settle()

    def wait_for_scores(self) -> None:
        """Wait until every program received has its verdict, so that `ask` can give all that can be asked."""
        for flight in tuple(self._flights.values()):
            if flight.trial is not None:
                flight.trial.wait()
        self._settle()

    def give_up(self) -> None:
        """Stop waiting for replies, so that programs behind an open proposal get their verdict."""
        for flight in self._flights.values():
            flight.repair = None
            if not flight.told:
                flight.told = flight.unpaid = True
                flight.unanswered = "nobody answered"
        self.wait_for_scores()

    def trial_of(self, proposal: int) -> CandidateEvaluation | None:
        """Return the evaluation of a proposal that is incomplete because an earlier one has no reply yet."""
        flight = self._flights.get(proposal)
        return flight.trial if flight else None

    def restore(self) -> None:
        """Restore the questions and replies from before this process began."""
        for number, turn in self.store.asked():
            if number in self.record.proposals:
                continue
            self._settle()
            proposal = self._redraft(number)
            if proposal is None:  # in a repaired run, its parents may have no verdict yet
                self.wait_for_scores()
                proposal = self._redraft(number)
            if proposal is None or (proposal.number, proposal.turn) != (number, turn):
                raise UserError(f"proposal {number} was asked, and cannot be drafted again: was the task changed?")
            if (kept := self.store.call(number, turn)) is not None:
                self._accept(proposal, kept)

    def _redraft(self, number: int) -> Proposal | None:
        return self._take_repair(self._flights[number]) if number in self._flights else self._draft_next()

    def run(self, lineup: ModelPool, parallel: int | None = None) -> None:
        """Search until the plan or a budget is exhausted, then choose and test the winner.

        Raises ModelRefused, or UserError where the model no longer answers; the run can then be resumed.
        """
        width = parallel or max(2 * self.executor.workers, self.config.in_flight)
        replies: dict[Future[CallRecord], Proposal] = {}
        threads = ThreadPoolExecutor(width, thread_name_prefix="vulcan-model")
        try:
            with lineup.deadline():
                while True:
                    while (self._repairs or len(self._flights) < 2 * width) and (
                        self._answered_before() or not lineup.over()
                    ):
                        if (proposal := self.ask()) is None:
                            break
                        replies[threads.submit(self._reply, lineup, proposal)] = proposal
                    if lineup.over():
                        self._give_up_repairs()
                    if not self._flights:
                        break
                    pending: set[Future[Any]] = set(replies)
                    pending |= {f.trial.running for f in self._flights.values() if f.trial and not f.trial.finished}
                    done, _ = wait(pending, return_when=FIRST_COMPLETED)
                    for future in [f for f in replies if f in done]:
                        self._take(replies.pop(future), future)
                    self._settle()
        except BaseException:
            lineup.close()  # cuts off the calls that the threads wait for
            raise
        finally:
            threads.shutdown(wait=True, cancel_futures=True)
        self.finish()

    def _answered_before(self) -> bool:
        """Check whether a paid answer from before an interruption has yet to be processed."""
        repairs = [f.repair for f in self._flights.values() if f.repair is not None]
        return self._first_number + self._asked <= self._last_kept or any(
            self.store.call(r.number, r.turn) is not None for r in repairs
        )

    def _take(self, proposal: Proposal, answered: Future[CallRecord]) -> None:
        try:
            self._accept(proposal, answered.result())
        except ModelUnavailable as error:
            self.tell_unanswered(proposal, str(error))
        except BudgetExhausted as error:
            self._flights[proposal.number].unpaid = True
            self.tell_unanswered(proposal, str(error))

    def finish(self) -> None:
        """Refine the best candidate, measure the finalists, choose the winner and test it."""
        if self._held:
            self.store.append(*self._held)
            self._held.clear()
        Finalizer(self.config, self.record, self.scorer, self.executor, self._refining, self._emit).run()

    def as_control(self) -> ControlFinished:
        """Return the result of the search, as a control for another one."""
        chosen = self.record.chosen
        if chosen is None:
            return ControlFinished("", self.settled, ())
        winner = self.record.candidates[chosen.candidate]
        scores: list[tuple[SplitName, float | None]] = [("train", winner.score)]
        for (candidate, split), confirmed in self.record.confirmed.items():
            if candidate == winner.candidate:
                scores.append((split, confirmed.score))
        return ControlFinished(winner.source, self.settled, tuple(scores))

    def compare_with(self, control: ControlFinished) -> None:
        self._emit(control)

    def close(self, reason: StopReason) -> None:
        """Record in the store that the search is over."""
        self._emit(RunStopped(reason))

    # Scoring

    def _score_seed_policies(self) -> None:
        """Score the task's own policies fully, as round 0: the first proposals build on them."""
        seeds = list(self.task.seed_policies().items())
        for number, (name, source) in enumerate(seeds, 1):
            if number in self.record.proposals:
                continue
            reading = parse_source(source, self.task)
            if reading.policy is None:
                why = reading.feedback.splitlines()[0].removeprefix("- ")
                raise UserError(f"task {self.task.name!r}: its policy {name!r} is rejected: {why}")
            repeats = self.record.candidate_with(reading.policy.fingerprint) is not None
            trial = None if repeats else self._trial(number, source, StoppingContext(stops=False))
            if trial is not None:
                trial.wait()
            candidate = len(self.record.candidates) + 1
            verdict = judged(self.record, reading, candidate, number, 0, trial)
            self._emit(CandidateProposed(number, 0, "seed", (), 0, ""), replace(verdict, origin="seed"))

    @cached_property
    def _first_number(self) -> int:
        return 1 + len(self.task.seed_policies())

    def _trial(self, number: int, source: str, known: StoppingContext) -> CandidateEvaluation:
        return CandidateEvaluation(number, source, self._course, known, self.scorer, self.executor, self.config.limit)

    # Settling, in the order of proposals

    def _settle(self) -> None:
        self._emit(*self._refining.of_new_best(self.settled))  # if an interruption cut it off
        for flight in tuple(self._flights.values()):
            if flight.trial is not None:
                flight.trial.advance()
        while self._flights and next(iter(self._flights.values())).settled:
            if self._ends_unpaid():
                if all(flight.told for flight in self._flights.values()):
                    self._asked -= len(self._flights)
                    self._flights.clear()
                break
            _, flight = self._flights.popitem(last=False)
            self.settled += 1
            passing = flight.unanswered is not None and not flight.unpaid
            (self._hold if passing else self._emit)(*flight.events(self.record))
            self._emit(*self._refining.of_new_best(self.settled))
            self._unanswered_in_row = self._unanswered_in_row + 1 if passing else 0
            if self._unanswered_in_row >= MAX_UNANSWERED and self._most is None:
                raise UserError(
                    f"the model gave no reply to {MAX_UNANSWERED} proposals in a row, the last of them "
                    f"{flight.proposal.number}: {flight.unanswered}; when it is back, go on with `vulcan resume`"
                )

    def _ends_unpaid(self) -> bool:
        """Check whether all remaining proposals, as far as known, were asked when the budget was already exhausted.

        They then count as never asked, unless something later was answered.
        """
        first, left = next(iter(self._flights)), tuple(self._flights.values())
        return (
            left[0].unpaid
            and first > self._last_kept
            and all(not f.readings and (f.unpaid or not f.told) for f in left)
        )

    def _emit(self, *events: Event) -> None:
        if events:
            self.store.append(*self._held, *events)
            self._held.clear()
        self._tell(events)

    def _hold(self, *events: Event) -> None:
        """Buffer events to be stored with the next ones, and dropped if the search stops before.

        A missing reply counts only if the model answers later proposals: if it is down, the unanswered proposals are
        asked again when the search resumes.
        """
        self._held.extend(events)
        self._tell(events)

    def _tell(self, events: Iterable[Event]) -> None:
        for event in events:
            self.record.add(event)
            self._settled.add(event)
            for listener in self._listeners:
                listener(event)

    # Replies

    def _reply(self, lineup: ModelPool, proposal: Proposal) -> CallRecord:
        """Return the stored reply from before an interruption, or else ask the model."""
        call = self.store.call(proposal.number, proposal.turn)
        if call is None:
            call = call_record(proposal, storable(lineup.propose(proposal)))
            self.store.keep_call(call)  # in this thread: it may have been billed, and others are scored meanwhile
        return call

    def _give_up_repairs(self) -> None:
        """Drop pending repairs once the budget is exhausted: rejected programs stay rejected."""
        for flight in self._flights.values():
            flight.repair = None
        self._settle()

    def _open_flight(self, proposal: Proposal) -> PendingProposal:
        flight = self._flights.get(proposal.number)
        if flight is None or flight.told or flight.proposal.turn != proposal.turn:
            raise ValueError(f"proposal {proposal.number}, turn {proposal.turn}, is not open")
        return flight


def derived_seed(seed: int, number: int) -> int:
    """Derive a seed of 63 bits for one proposal, unrelated to those of its neighbours."""
    digest = hashlib.sha256(f"{seed}:{number}".encode()).digest()
    return int.from_bytes(digest[:8], "big") >> 1
