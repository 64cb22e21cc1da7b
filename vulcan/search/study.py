"""The search as a conversation: `ask` gives a proposal, `tell` takes the reply, and `run` is a loop over the two.

Work may finish in any order; its results are applied in the order of proposals, so that one seed and the same replies
give the same run.
"""

from __future__ import annotations

import hashlib
from collections import OrderedDict
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field, replace
from typing import Any

from vulcan.errors import UserError
from vulcan.evaluator import SplitName
from vulcan.models import ModelUnavailable, Proposer, Reply
from vulcan.scoring import Executor, Job, Outcome
from vulcan.search.config import SearchConfig
from vulcan.search.costs import Costs
from vulcan.search.population import Member, Population
from vulcan.search.prompts import Prompts
from vulcan.search.proposal import Proposal
from vulcan.search.reading import Reading, read_reply, read_source
from vulcan.search.score import Scorer
from vulcan.search.strategy import make_strategy
from vulcan.store import RunRecord, Store
from vulcan.store.events import (
    CallRecord,
    Chosen,
    Confirmed,
    Event,
    InstanceMetrics,
    Judged,
    Proposed,
    Stopped,
    Verdict,
)
from vulcan.task import Task

MOST_UNANSWERED = 5
"""Proposals in a row that a model may fail to answer before the search stops."""

Listener = Callable[[Event], None]


@dataclass
class _Flight:
    """A proposal that has no verdict yet, and what is known of it."""

    proposal: Proposal
    readings: list[Reading] = field(default_factory=list)
    scoring: Future[Outcome] | None = None
    repair: Proposal | None = None
    unanswered: str | None = None
    told: bool = False

    @property
    def settled(self) -> bool:
        return self.told and self.repair is None and (self.scoring is None or self.scoring.done())


class Study:
    """One search over one run's store. `executor` scores on the instances of `scorer`."""

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
        self.scorer = scorer
        self.executor = executor
        self.record = RunRecord.of(store.events())
        self.costs = Costs.of(c for c in store.calls() if c.proposal in self.record.proposals)
        self._listeners = tuple(listeners)
        self._prompts = Prompts(task, scorer.objective, config.settings)
        self._strategy = make_strategy(config)
        self._population = Population(
            Member(c.candidate, self.record.proposals[c.proposal].round, c.source, c.score)
            for c in self.record.candidates.values()
            if c.score is not None
        )
        self._flights: OrderedDict[int, _Flight] = OrderedDict()
        self._in_scoring: dict[str, Future[Outcome]] = {}
        self._asked = self.settled = sum(p.round > 0 for p in self.record.proposals.values())
        self._unanswered_in_row = 0

    # Ask and tell

    @property
    def total(self) -> int:
        """How many proposals the search makes, but for the task's seed policies."""
        budget = self.config.budget_candidates
        return min(self._strategy.total(), budget) if budget is not None else self._strategy.total()

    def ask(self) -> Proposal | None:
        """The next proposal to answer; None where all are made, or others need their verdict first."""
        self._settle()
        for flight in self._flights.values():
            if flight.repair is not None:
                proposal, flight.repair, flight.told = flight.repair, None, False
                flight.proposal = proposal
                return proposal
        self._score_seed_policies()
        if self._asked >= self.total or self.settled < self._strategy.settled_before(self._asked):
            return None
        draft = self._strategy.draft(self._asked, self._population)
        number = self._first_number + self._asked
        proposal = Proposal(
            number=number,
            turn=0,
            round=draft.round,
            operator=draft.operator,
            parents=draft.parents,
            messages=self._prompts.chat(draft.round, draft.parents),
            seed=_derived_seed(self.config.seed, number),
        )
        self._asked += 1
        self._flights[number] = _Flight(proposal)
        return proposal

    @property
    def _repairs(self) -> bool:
        return any(flight.repair is not None for flight in self._flights.values())

    def tell(self, proposal: Proposal, reply: Reply) -> Reading:
        """Take the reply to a proposal. Rejected programs come back from `ask` for repair while turns remain.

        Raises ValueError for a proposal that is not open.
        """
        flight = self._open_flight(proposal)
        reply = _storable(reply)
        call = _call_record(proposal, reply)
        self.store.keep_call(call)
        self.costs.add(call)
        reading = read_reply(reply, self.task)
        flight.readings.append(reading)
        flight.told = True
        if reading.policy is None and proposal.turn < self.config.repairs:
            flight.repair = proposal.repaired(reply.text, self._prompts.repair(reading.feedback))
        elif reading.policy is not None:
            flight.scoring = self._score(reading, proposal.number)
        self._settle()
        return reading

    def tell_unanswered(self, proposal: Proposal, why: str) -> None:
        """The model gave no reply to a proposal, for a reason that may pass."""
        flight = self._open_flight(proposal)
        flight.told = True
        flight.unanswered = why
        self._settle()

    def wait_for_scores(self) -> None:
        """Wait until every program that was told is scored: then `ask` gives all that can be asked."""
        wait([flight.scoring for flight in self._flights.values() if flight.scoring is not None])
        self._settle()

    def run(self, proposer: Proposer, parallel: int | None = None) -> None:
        """Search until the plan or the budget is through, then choose and test the winner.

        Raises ModelRefused, or UserError where the model answers nothing any more; the run can then be resumed.
        """
        width = parallel or 2 * self.executor.workers
        replies: dict[Future[Reply], Proposal] = {}
        threads = ThreadPoolExecutor(width, thread_name_prefix="vulcan-model")
        try:
            while True:
                while (self._repairs or len(self._flights) < 2 * width) and (proposal := self.ask()) is not None:
                    replies[threads.submit(self._reply, proposer, proposal)] = proposal
                if not self._flights:
                    break
                pending: set[Future[Any]] = set(replies)
                pending |= {f.scoring for f in self._flights.values() if f.scoring and not f.scoring.done()}
                done, _ = wait(pending, return_when=FIRST_COMPLETED)
                for future in [f for f in replies if f in done]:
                    proposal = replies.pop(future)
                    try:
                        self.tell(proposal, future.result())
                    except ModelUnavailable as error:
                        self.tell_unanswered(proposal, str(error))
                self._settle()
        except BaseException:
            proposer.close()  # cuts off the calls that the threads wait for
            raise
        finally:
            threads.shutdown(wait=True, cancel_futures=True)
        self.finish()

    def finish(self) -> None:
        """Measure the finalists on the split `validation`, choose the winner, and measure it on `test`, once."""
        ranked = self.record.ranked()
        if self.record.chosen is None and ranked:
            winner, split = ranked[0], "train"
            if self.scorer.of("validation"):
                finalists = ranked[: self.config.finalists]
                confirmed = self._confirm([c.candidate for c in finalists], "validation")
                scored = [(c, s) for c in finalists if (s := confirmed[c.candidate]) is not None]
                if scored:
                    winner, _ = max(scored, key=lambda pair: pair[1])  # of equals the better on train
                    split = "validation"
            self._emit(Chosen(winner.candidate, split))  # type: ignore[arg-type]
        if self.record.chosen is not None and self.scorer.of("test"):
            self._confirm([self.record.chosen.candidate], "test")
        self._emit(Stopped("finished"))

    # Scoring

    def _score_seed_policies(self) -> None:
        """The task's own policies are round 0: what the first proposals build on."""
        seeds = list(self.task.seed_policies().items())
        for number, (name, source) in enumerate(seeds, 1):
            if number in self.record.proposals:
                continue
            reading = read_source(source, self.task)
            if reading.policy is None:
                raise UserError(f"task {self.task.name!r}: its policy {name!r} is rejected: {reading.feedback[2:]}")
            scoring = self._score(reading, number)
            outcome = scoring.result() if scoring is not None else None
            candidate = len(self.record.candidates) + 1
            self._emit(Proposed(number, 0, "seed", (), 0), self._judged(reading, candidate, number, 0, outcome))
            self._in_scoring.clear()

    @property
    def _first_number(self) -> int:
        return 1 + len(self.task.seed_policies())

    def _score(self, reading: Reading, number: int) -> Future[Outcome] | None:
        """The score to come of a program; None where an equal one has its verdict already."""
        assert reading.policy is not None
        fingerprint = reading.policy.fingerprint
        if self.record.candidate_with(fingerprint) is not None:
            return None
        if fingerprint not in self._in_scoring:
            job = Job(number, reading.source, self.scorer.of("train"), self.config.limit)
            self._in_scoring[fingerprint] = self.executor.submit(job)
        return self._in_scoring[fingerprint]

    def _confirm(self, candidates: Sequence[int], split: SplitName) -> dict[int, float | None]:
        """Scores on a split that the search does not see, in the order of the candidates."""
        todo = [c for c in candidates if (c, split) not in self.record.confirmed]
        jobs = {
            c: self.executor.submit(Job(c, self.record.candidates[c].source, self.scorer.of(split), self.config.limit))
            for c in todo
        }
        for candidate, future in jobs.items():
            outcome = future.result()
            score = self.scorer.mean(split, outcome.metrics) if outcome.status == "scored" else None
            self._emit(Confirmed(candidate, split, score, outcome.metrics))
        return {c: self.record.confirmed[c, split].score for c in candidates}

    # Settling, in the order of proposals

    def _settle(self) -> None:
        while self._flights and next(iter(self._flights.values())).settled:
            number, flight = self._flights.popitem(last=False)
            events = self._events_of(flight)
            self.settled += 1
            self._emit(*events)
            for reading in flight.readings:
                if reading.policy is not None:
                    self._in_scoring.pop(reading.policy.fingerprint, None)
            self._unanswered_in_row = self._unanswered_in_row + 1 if flight.unanswered else 0
            if self._unanswered_in_row >= MOST_UNANSWERED:
                raise UserError(
                    f"the model gave no reply to {MOST_UNANSWERED} proposals in a row, the last of them {number}: "
                    f"{flight.unanswered}; when it is back, go on with `vulcan resume`"
                )

    def _events_of(self, flight: _Flight) -> list[Event]:
        proposal = flight.proposal
        parents = tuple(m.candidate for m in proposal.parents)
        events: list[Event] = [Proposed(proposal.number, proposal.round, proposal.operator, parents, proposal.seed)]
        next_candidate = len(self.record.candidates) + 1
        for turn, reading in enumerate(flight.readings):
            outcome = flight.scoring.result() if flight.scoring and reading.policy is not None else None
            events.append(self._judged(reading, next_candidate + turn, proposal.number, turn, outcome))
        if flight.unanswered is not None:
            candidate = next_candidate + len(flight.readings)
            turn = len(flight.readings)
            events.append(_without_score(candidate, proposal.number, turn, "no-reply", flight.unanswered))
        return events

    def _judged(self, reading: Reading, candidate: int, proposal: int, turn: int, outcome: Outcome | None) -> Judged:
        policy = reading.policy
        if policy is None:
            return _without_score(
                candidate, proposal, turn, "rejected", reading.feedback, reading.source, reading.rules
            )
        verdict: Verdict
        score: float | None = None
        metrics: InstanceMetrics = ()
        feedback = ""
        original = self.record.candidate_with(policy.fingerprint)
        if original is not None or outcome is None:
            verdict = "duplicate"
        elif outcome.status == "scored":
            verdict, metrics = "scored", outcome.metrics
            score = self.scorer.mean("train", metrics)
        else:
            verdict = "failed" if outcome.status == "rejected" else outcome.status
            feedback = outcome.message
        return Judged(
            candidate=candidate,
            proposal=proposal,
            turn=turn,
            source=reading.source,
            fingerprint=policy.fingerprint,
            verdict=verdict,
            feedback=feedback,
            rules=(),
            operations=policy.plan.operations,
            of=original,
            score=score,
            metrics=metrics,
        )

    def _emit(self, *events: Event) -> None:
        self.store.append(*events)
        for event in events:
            self.record.add(event)
            if isinstance(event, Judged) and event.score is not None:
                round_ = self.record.proposals[event.proposal].round
                self._population.add(Member(event.candidate, round_, event.source, event.score))
            for listener in self._listeners:
                listener(event)

    # Replies

    def _reply(self, proposer: Proposer, proposal: Proposal) -> Reply:
        """The reply that the store has from before an interruption, or else the proposer's."""
        kept = self.store.call(proposal.number, proposal.turn)
        if kept is not None:
            return Reply(
                kept.reply, kept.model, kept.finish, kept.tokens_in, kept.tokens_out, kept.dollars, kept.seconds
            )
        reply = _storable(proposer.propose(proposal.request()))
        self.store.keep_call(_call_record(proposal, reply))  # here, and not when it is told: it may have been paid for
        return reply

    def _open_flight(self, proposal: Proposal) -> _Flight:
        flight = self._flights.get(proposal.number)
        if flight is None or flight.told or flight.proposal.turn != proposal.turn:
            raise ValueError(f"proposal {proposal.number}, turn {proposal.turn}, is not open")
        return flight


def _storable(reply: Reply) -> Reply:
    """The same without halves of surrogate pairs, which are no text."""
    return replace(reply, text=reply.text.encode(errors="replace").decode())


def _call_record(proposal: Proposal, reply: Reply) -> CallRecord:
    return CallRecord(
        proposal.number,
        proposal.turn,
        tuple((m.role, m.content) for m in proposal.messages),
        reply.text,
        reply.model,
        reply.finish,
        reply.tokens_in,
        reply.tokens_out,
        reply.dollars,
        reply.seconds,
    )


def _without_score(
    candidate: int, proposal: int, turn: int, verdict: Verdict, feedback: str, source: str = "",
    rules: tuple[str, ...] = (),
) -> Judged:  # fmt: skip
    return Judged(candidate, proposal, turn, source, None, verdict, feedback, rules, None, None, None, ())


def _derived_seed(seed: int, number: int) -> int:
    """A seed of 63 bits for one proposal, far from those of its neighbours."""
    digest = hashlib.sha256(f"{seed}:{number}".encode()).digest()
    return int.from_bytes(digest[:8], "big") >> 1
