"""Evaluation of one program in stages, from the cheapest rung to all instances, with early stopping.

Stopping is decided from recorded scores alone, so that a resumed search decides as the uninterrupted one would have.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from statistics import fmean

import numpy as np

from vulcan.evaluator import Instance, Rung
from vulcan.scoring import Executor, Job, Outcome
from vulcan.searches.bootstrap import draws, quantile, standard_error, studentised
from vulcan.searches.scorer import Scorer
from vulcan.store.events import CandidateJudged, InstanceMetrics, Verdict

WINDOW = 60
"""Number of latest candidates with which a rung's score is compared: standards rise during a search."""

MIN_EARLIER = 10
"""Minimum number of earlier scores for pruning: with fewer, every candidate passes a rung."""

MIN_PAIRS = 5
"""Minimum number of instances on which two candidates are compared before one is stopped."""

_RESAMPLES = 2000


def passes(score: float, earlier: Sequence[float], keep: float) -> bool:
    """Check whether a score on a rung is among the best share `keep` of the latest ones there (latest last).

    A tie with the last score to pass passes too. While a search improves, more than `keep` of its candidates pass,
    because they are compared with worse ones; a shorter window lets fewer pass.
    """
    recent = earlier[-WINDOW:]
    better = sum(other > score for other in recent)
    return len(recent) < MIN_EARLIER or better < keep * len(recent)


def will_not_reach(candidate: Sequence[float], incumbent: Sequence[float], confidence: float = 0.95) -> bool:
    """Predict, with this confidence, whether the candidate's mean over all instances is below the incumbent's.

    `incumbent` has a score for every instance, `candidate` those of the first of them, in the same order. The
    candidate's loss or gain on the rest is predicted from the differences seen so far, by a studentised bootstrap
    (Mojirsheibani and Tibshirani, Canadian Journal of Statistics 1996); so the test is about the mean, by which the
    archive ranks, and not about how many instances are lost. Never true with fewer than `MIN_PAIRS` instances, unless
    those are all there are: then the two means decide. The same scores give the same answer.
    """
    seen, rest = len(candidate), len(incumbent) - len(candidate)
    if rest == 0:
        return math.fsum(candidate) < math.fsum(incumbent)
    if seen < MIN_PAIRS:
        return False
    differences = np.subtract(candidate, incumbent[:seen], dtype=np.float64)
    mean = float(differences.mean())
    error = standard_error(differences)
    if mean >= 0 or error == 0:
        return mean < 0
    chosen = draws((_RESAMPLES, seen + rest), seen)
    resampled, predicted = differences[chosen[:, :seen]], differences[chosen[:, seen:]]
    # Spread of the mean over the rest around the mean seen, in standard errors of the latter
    spread = math.sqrt(1 + seen / rest)
    errors = resampled.std(axis=1, ddof=1) / math.sqrt(seen) * spread
    highest = quantile(studentised(predicted.mean(axis=1) - resampled.mean(axis=1), errors), confidence)
    return seen * mean + rest * (mean + highest * error * spread) < 0


def stages(count: int, seed: int = 1) -> tuple[tuple[int, ...], ...]:
    """Divide `count` instances into those run first, and those run only if `will_not_reach` is false.

    They are two halves of a shuffle, because the first must be representative, which the user's order of traces seldom
    is; the first has at least `MIN_PAIRS`. One stage if that would leave the second with a single instance.
    """
    order = list(range(count))
    random.Random(seed).shuffle(order)
    first = max(MIN_PAIRS, (count + 1) // 2)
    return (tuple(order),) if count - first < 2 else (tuple(order[:first]), tuple(order[first:]))


@dataclass(frozen=True, slots=True)
class EvaluationPlan:
    """The stages of an evaluation: cheaper versions of the instances, then the instances, part by part.

    `parts` are indices into `instances`: of many instances some come first, after which a program that is clearly worse
    than required is stopped.
    """

    rungs: tuple[Rung, ...]
    instances: tuple[Instance, ...]
    parts: tuple[tuple[int, ...], ...]

    @classmethod
    def of(cls, rungs: Sequence[Rung], instances: Sequence[Instance], *, races: bool) -> EvaluationPlan:
        if not races:
            return cls((), tuple(instances), (tuple(range(len(instances))),))
        return cls(tuple(rung for rung in rungs if rung.keep < 1), tuple(instances), stages(len(instances)))


@dataclass(frozen=True, slots=True)
class StoppingContext:
    """The history visible when the program was requested: the only input to early stopping.

    `earlier` has the recent scores on each rung, `to_reach` the scores on each instance of a candidate that it must
    come near, and `same_decisions` finds candidates by their signature. `stops` is off for what must be scored fully.
    """

    earlier: Mapping[str, Sequence[float]] = field(default_factory=dict)
    to_reach: tuple[float, ...] | None = None
    same_decisions: Callable[[str], Sequence[CandidateJudged]] = lambda _: ()
    stops: bool = True


@dataclass
class CandidateEvaluation:
    """An evaluation in progress: runs the stages of a plan one after the other; `advance` takes finished results.

    A probe is short: candidates of one signature may differ later. So a candidate counts as deciding like an earlier
    one only if all that it is measured on is equal too, up to where it is stopped.
    """

    number: int
    source: str
    plan: EvaluationPlan
    context: StoppingContext
    scorer: Scorer
    executor: Executor
    limit: float
    verdict: Verdict | None = None
    feedback: str = ""
    score: float | None = None
    metrics: InstanceMetrics = ()
    rungs: tuple[tuple[str, float], ...] = ()
    signature: str | None = None
    duplicate_of: int | None = None
    running: Future[Outcome] = field(init=False)

    def __post_init__(self) -> None:
        self._stages = [rung.instances for rung in self.plan.rungs]
        self._stages += [tuple(self.plan.instances[i] for i in part) for part in self.plan.parts]
        self._stage = 0
        self._measured: dict[str, dict[str, float]] = {}
        self._alike: list[CandidateJudged] = []
        self._submit(self._stages[0])

    def _submit(self, instances: tuple[Instance, ...]) -> None:
        probe = self._stage == 0
        self.running = self.executor.submit(Job(self.number, self.source, instances, self.limit, probe))

    @property
    def finished(self) -> bool:
        return self.verdict is not None

    def advance(self) -> None:
        """Process all finished stages without waiting. Raises what the executor raises."""
        while not self.finished and self.running.done():
            self._take(self.running.result())

    def wait(self) -> None:
        """Run the remaining stages to the end."""
        while not self.finished:
            self._take(self.running.result())

    def _take(self, outcome: Outcome) -> None:
        if self._stage == 0 and outcome.signature is not None:
            self.signature = outcome.signature
            self._alike = list(self.context.same_decisions(outcome.signature))
        if outcome.status != "scored":
            self.verdict = "failed" if outcome.status == "rejected" else outcome.status
            self.feedback = outcome.message
        else:
            self._measured |= dict(outcome.metrics)
            self._score()

    def _score(self) -> None:
        """Score the stage, which is measured, and go on to the next: what is on a rung as it is, is measured once."""
        instances = self._stages[self._stage]
        scores = self.scorer.on_each(instances, tuple((i.name, self._measured[i.name]) for i in instances))
        if self._stage < len(self.plan.rungs):
            rung = self.plan.rungs[self._stage]
            score = fmean(scores)
            self.rungs += ((rung.name, score),)
            self._alike = [earlier for earlier in self._alike if dict(earlier.rungs).get(rung.name) == score]
            if self.context.stops and not passes(score, self.context.earlier.get(rung.name, ()), rung.keep):
                self._stop(f"it scored {score:.4f} on {rung.name}, not among the best {rung.keep:.0%} of late")
                return
        else:
            if self._stage == len(self._stages) - 1:
                metrics = tuple((i.name, self._measured[i.name]) for i in self.plan.instances)
                self._alike = [earlier for earlier in self._alike if earlier.metrics == metrics]
                if self._alike:
                    self._repeat()
                    return
                self.verdict, self.metrics = "scored", metrics
                self.score = self.scorer.mean("train", self.metrics)
                return
            if self.context.stops and self.context.to_reach is not None and self._falls_short(scores):
                self._stop(f"on the first {len(scores)} instances it was plainly worse than the best candidates")
                return
        self._stage += 1
        if left := tuple(i for i in self._stages[self._stage] if i.name not in self._measured):
            self._submit(left)
        else:
            self._score()

    def _falls_short(self, scores: Sequence[float]) -> bool:
        """Predict from the first part's scores whether it will stay below the candidate in `to_reach`."""
        assert self.context.to_reach is not None
        in_order = [self.context.to_reach[i] for part in self.plan.parts for i in part]
        return will_not_reach(scores, in_order)

    def _stop(self, why: str) -> None:
        if self._alike:
            self._repeat()
        else:
            self.verdict, self.feedback = "stopped", why

    def _repeat(self) -> None:
        self.duplicate_of = self._alike[0].candidate
        self.rungs = ()  # a repeat says nothing of how good candidates are of late
        self.verdict = "same-decisions"
        self.feedback = f"it decides as candidate {self.duplicate_of} does"
