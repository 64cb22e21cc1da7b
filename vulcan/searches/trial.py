"""One program on its way from the cheapest score to the full one."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from statistics import fmean

from vulcan.evaluator import Instance, Rung
from vulcan.scoring import Executor, Job, Outcome
from vulcan.searches import racing
from vulcan.searches.score import Scorer
from vulcan.store.events import InstanceMetrics, Verdict


@dataclass(frozen=True, slots=True)
class Course:
    """What a program is measured on: cheaper versions of the instances, then the instances, part after part.

    `parts` are indices into `instances`: of many instances some come first, after which a program that is plainly
    worse than it must be is stopped.
    """

    rungs: tuple[Rung, ...]
    instances: tuple[Instance, ...]
    parts: tuple[tuple[int, ...], ...]

    @classmethod
    def of(cls, rungs: Sequence[Rung], instances: Sequence[Instance], *, races: bool) -> Course:
        if not races:
            return cls((), tuple(instances), (tuple(range(len(instances))),))
        return cls(tuple(rungs), tuple(instances), racing.stages(len(instances)))


@dataclass(frozen=True, slots=True)
class Known:
    """What had settled when the program was asked for: all that decides whether it goes on.

    `earlier` has the recent scores on each rung, `to_reach` the scores on each instance of a candidate that it must
    come near, and `same_decisions` finds a candidate by its signature. `stops` is off for what must be scored fully.
    """

    earlier: Mapping[str, Sequence[float]] = field(default_factory=dict)
    to_reach: tuple[float, ...] | None = None
    same_decisions: Callable[[str], int | None] = lambda _: None
    stops: bool = True


@dataclass
class Trial:
    """Runs the stages of a course one after the other; `advance` takes in what is done and goes on."""

    number: int
    source: str
    course: Course
    known: Known
    scorer: Scorer
    executor: Executor
    limit: float
    verdict: Verdict | None = None
    feedback: str = ""
    score: float | None = None
    metrics: InstanceMetrics = ()
    rungs: tuple[tuple[str, float], ...] = ()
    signature: str | None = None
    of: int | None = None
    running: Future[Outcome] = field(init=False)

    def __post_init__(self) -> None:
        self._stages = [rung.instances for rung in self.course.rungs]
        self._stages += [tuple(self.course.instances[i] for i in part) for part in self.course.parts]
        self._stage = 0
        self._measured: dict[str, dict[str, float]] = {}
        self._submit()

    def _submit(self) -> None:
        probe = self._stage == 0
        self.running = self.executor.submit(Job(self.number, self.source, self._stages[self._stage], self.limit, probe))

    @property
    def finished(self) -> bool:
        return self.verdict is not None

    def advance(self) -> None:
        """Go on as far as results are there. Raises what the executor raises."""
        while not self.finished and self.running.done():
            self._take(self.running.result())

    def wait(self) -> None:
        """Go on to the end."""
        while not self.finished:
            self._take(self.running.result())

    def _take(self, outcome: Outcome) -> None:
        if self._stage == 0 and outcome.signature is not None:
            self.signature = outcome.signature
            self.of = self.known.same_decisions(outcome.signature)
        if outcome.status != "scored":
            self.verdict = "failed" if outcome.status == "rejected" else outcome.status
            self.feedback = outcome.message
        elif self.of is not None:
            self.verdict = "same-decisions"
            self.feedback = f"it decides as candidate {self.of} does"
        else:
            self._score(outcome)

    def _score(self, outcome: Outcome) -> None:
        scores = self.scorer.on_each(self._stages[self._stage], outcome.metrics)
        if self._stage < len(self.course.rungs):
            rung = self.course.rungs[self._stage]
            score = fmean(scores)
            self.rungs += ((rung.name, score),)
            if self.known.stops and not racing.passes(score, self.known.earlier.get(rung.name, ()), rung.keep):
                self._stop(f"it scored {score:.4f} on {rung.name}, not among the best {rung.keep:.0%} of late")
                return
        else:
            self._measured |= dict(outcome.metrics)
            if len(self._measured) == len(self.course.instances):
                self.verdict = "scored"
                self.metrics = tuple((i.name, self._measured[i.name]) for i in self.course.instances)
                self.score = self.scorer.mean("train", self.metrics)
                return
            if self.known.stops and self.known.to_reach is not None and self._falls_short(scores):
                self._stop(f"on the first {len(scores)} instances it was plainly worse than the best candidates")
                return
        self._stage += 1
        self._submit()

    def _falls_short(self, scores: Sequence[float]) -> bool:
        """Whether the scores of the first part say that it will not come near the candidate it must."""
        assert self.known.to_reach is not None
        in_order = [self.known.to_reach[i] for part in self.course.parts for i in part]
        return racing.will_not_reach(scores, in_order)

    def _stop(self, why: str) -> None:
        self.verdict, self.feedback = "stopped", why
