"""The population that a strategy sees: scored candidates, judged replies and advice before a barrier.

Work finishes in any order, and may be further along when a proposal is drafted than it was for the same proposal in
another run. The visible history is therefore cut off at a barrier that only the strategy sets; proposals are drafted,
and their programs stopped, by nothing else.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field

from vulcan.models.ensemble import ArmOutcome, gain_of
from vulcan.searches.evaluation import WINDOW, StoppingContext
from vulcan.searches.scorer import Scorer
from vulcan.store import RunRecord, Store
from vulcan.store.events import AdviceReceived, CandidateJudged, CandidateProposed, Event, Origin, Verdict


@dataclass(frozen=True, slots=True)
class ScoredCandidate:
    """A scored candidate.

    `score` is its mean objective on the split `train`, higher is better, and `scores` the objective on each of the
    instances there, in their order. `size` counts the nodes of the program. `parents` are candidate numbers. `warnings`
    has one line each, as sent to the model.
    """

    candidate: int
    round: int
    source: str
    score: float
    scores: tuple[float, ...]
    size: int
    island: int = 0
    parents: tuple[int, ...] = ()
    origin: Origin = "model"
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class JudgedReply:
    """A judged reply, whether its program got a score or not, or it had no program at all.

    `feedback` is the text sent to the model, empty if nothing was wrong; `form` is the requested form of the program:
    "full" or "diff".
    """

    turn: int
    form: str
    verdict: Verdict
    feedback: str


@dataclass
class Population:
    """The completed history before a barrier: scored candidates, judged replies, and advice with its proposal.

    It grows in the order of candidates.
    """

    members: list[ScoredCandidate] = field(default_factory=list)
    attempts: list[JudgedReply] = field(default_factory=list)
    advice: list[tuple[int, str]] = field(default_factory=list)

    def best(self, count: int, *, before_round: int | None = None) -> tuple[ScoredCandidate, ...]:
        """Return the best members, optionally only of the rounds before one; ties go to the earlier."""
        chosen = [m for m in self.members if before_round is None or m.round < before_round]
        return tuple(sorted(chosen, key=lambda m: (-m.score, m.candidate))[:count])


SCORING_SECONDS = 0.1
"""Seconds that scoring a candidate adds to the time of an answer, so that the fastest answers have a price.

A nominal value: measured ones would differ in a replay, and with them the choice of models.
"""


class VisibleHistory:
    """The history of a run, released only up to a barrier. Events are added in order, and barriers never move back."""

    def __init__(self, record: RunRecord, store: Store, scorer: Scorer, reach: int) -> None:
        """Read the events in the store; `reach` is the rank of the candidate that a program must come near.

        A program that does not is not scored on all instances.
        """
        self._record = record
        self._store = store
        self._scorer = scorer
        self._reach = reach
        self._latest = 0
        self._waiting: deque[tuple[int, Event]] = deque()
        self._population = Population()
        self._rungs: dict[str, deque[float]] = {}
        self._signatures: dict[str, tuple[CandidateJudged, ...]] = {}
        self.history: list[ArmOutcome] = []
        """Outcome of each reply to a proposal completed before the latest barrier."""
        for event in store.events():
            self.add(event)

    def add(self, event: Event) -> None:
        match event:
            case CandidateProposed(number):
                self._latest = number
            case CandidateJudged() | AdviceReceived():
                self._waiting.append((self._latest, event))

    def before(self, number: int) -> tuple[Population, StoppingContext]:
        """Return the history as of the completion of the last proposal below this number.

        The population returned grows with the next call.
        """
        while self._waiting and self._waiting[0][0] < number:
            _, event = self._waiting.popleft()
            match event:
                case CandidateJudged():
                    self._judged(event)
                case AdviceReceived(proposal, text):
                    self._population.advice.append((proposal, text))
        signatures = dict(self._signatures)
        best = self._population.best(self._reach)
        known = StoppingContext(
            earlier={rung: tuple(scores) for rung, scores in self._rungs.items()},
            to_reach=best[-1].scores if len(best) == self._reach else None,
            same_decisions=lambda signature: signatures.get(signature, ()),
        )
        return self._population, known

    def _judged(self, judged: CandidateJudged) -> None:
        proposed = self._record.proposals[judged.proposal]
        for rung, score in judged.rungs:
            self._rungs.setdefault(rung, deque(maxlen=WINDOW)).append(score)
        if judged.signature is not None and judged.verdict in ("scored", "stopped"):
            self._signatures[judged.signature] = (*self._signatures.get(judged.signature, ()), judged)
        if judged.origin == "model":
            reply = JudgedReply(judged.turn, proposed.form, judged.verdict, judged.feedback)
            self._population.attempts.append(reply)
            self._answered(judged, proposed)
        if judged.score is not None and judged.verdict == "scored":
            self._population.members.append(
                ScoredCandidate(
                    candidate=judged.candidate,
                    round=proposed.round,
                    source=judged.source,
                    score=judged.score,
                    scores=self._scorer.on_each(self._scorer.of("train"), judged.metrics),
                    size=judged.size or 0,
                    island=proposed.island,
                    parents=self._record.parents_of(judged.candidate),
                    origin=judged.origin,
                    warnings=judged.warnings,
                )
            )

    def _answered(self, judged: CandidateJudged, proposed: CandidateProposed) -> None:
        """Record the reply's gain over the best of its parents, and its cost."""
        call = self._store.call(judged.proposal, judged.turn)
        if call is not None:
            scores = [s for p in proposed.parents if (s := self._record.candidates[p].score) is not None]
            gain = gain_of(judged.score, scores)
            self.history.append(
                ArmOutcome(call.by or proposed.model, gain, call.dollars, call.seconds + SCORING_SECONDS)
            )
