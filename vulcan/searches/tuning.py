"""Tuning of a policy's numbers by CMA-ES, which costs evaluations but no model calls.

Hansen, "The CMA Evolution Strategy: A Tutorial", 2016, by the package `cmaes`; the covariance stays diagonal (Ros and
Hansen, "A Simple Modification in CMA-ES", 2008), which learns faster from as few evaluations as a search can afford.
Scores that count events are step functions with plateaus: ties are ranked by distance to the best point so far, and a
flat generation doubles the step (the remedy of the tutorial for a flat function). After three generations without gain
it restarts from the best point, after six it stops, or takes smaller steps from there if it may evaluate often.

Numbers are tuned on scales on which steps of one size have about the same effect everywhere.
"""

from __future__ import annotations

import math
import operator
import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from statistics import fmean
from typing import Any, TypeVar

from vulcan.anvil import Policy, Rejected, check, ir
from vulcan.anvil.rewrite.lift_constants import Adjustable, Knob, adjustable, lift, lowered
from vulcan.anvil.unparse import emit_source
from vulcan.evaluator import Instance
from vulcan.imports import import_without
from vulcan.python_policy.check import check_policy
from vulcan.python_policy.policy import ProgramPolicy
from vulcan.scoring import Executor, Job, Outcome
from vulcan.searches.options import MIN_EVALUATIONS
from vulcan.searches.reply import refutation
from vulcan.searches.scorer import Scorer
from vulcan.store.events import InstanceMetrics
from vulcan.task import Task

DIGITS = 3
"""Significant digits of every number that a scale gives: more would be noise."""

_MAX_EXPONENT = 690.0
_EDGE = 0.02
_FIGURE = re.compile(r"(?<![\w.])\d+(?:\.\d+)?(?:e[+-]?\d+)?")


def round_digits(value: float) -> float:
    return float(f"{value:.{DIGITS}g}")


@dataclass(frozen=True, slots=True)
class Scale:
    """A map between a number and its coordinate on the real line."""

    to_coordinate: Callable[[float], float]
    from_coordinate: Callable[[float], float]


def scale_of(knob: Knob) -> Scale:
    """Return the scale for a number: by its bounds if it has some, else by its magnitude and sign."""
    if knob.is_bounded:
        return _logit_scale(knob.low, knob.high)
    if knob.value:  # logarithmic: a step is a factor, and the sign is preserved
        sign = math.copysign(1.0, knob.value)
        return Scale(lambda value: math.log(abs(value)), lambda x: sign * round_digits(math.exp(_bounded(x))))
    # linear within 1 of 0, and logarithmic beyond
    return Scale(math.asinh, lambda x: round_digits(math.sinh(_bounded(x))))


def _bounded(coordinate: float) -> float:
    return min(max(coordinate, -_MAX_EXPONENT), _MAX_EXPONENT)


def _logit_scale(low: float, high: float) -> Scale:
    """Return the scale of the fraction of the range, whose bounds are never left."""

    def to_coordinate(value: float) -> float:
        inner = min(max((value - low) / (high - low), _EDGE), 1.0 - _EDGE)
        return math.log(inner / (1.0 - inner))

    def from_coordinate(coordinate: float) -> float:
        share = 0.5 * (1.0 + math.tanh(0.5 * coordinate))
        return min(max(round_digits(low + (high - low) * share), low), high)

    return Scale(to_coordinate, from_coordinate)


Evaluate = Callable[[Sequence[str]], Sequence[float | None]]
"""Evaluates sources to their mean objectives, higher is better, in the same order; None for one that failed."""


@dataclass
class BatchEvaluation:
    """A batch evaluator: mean objectives of programs on some instances, in parallel; None where one failed.

    A program that the search would reject gives None without evaluation: an optimum without its guards is useless.
    Batches of the same programs share what they know of that, `sound`.
    """

    task: Task
    instances: tuple[Instance, ...]
    scorer: Scorer
    executor: Executor
    limit: float
    outcomes: dict[str, Outcome] = field(default_factory=dict)
    sound: dict[str, bool] = field(default_factory=dict)

    @property
    def count(self) -> int:
        return len(self.outcomes)

    def outcome(self, source: str) -> Outcome:
        """Return the outcome of a program of known score; measured now if the score is that of an equal program."""
        if source not in self.outcomes:
            self([source])
        return self.outcomes[source]

    def __call__(self, sources: Sequence[str]) -> list[float | None]:
        self.sound |= {source: self._keeps_required(source) for source in sources if source not in self.sound}
        tried = [source for source in dict.fromkeys(sources) if self.sound[source]]
        running = [self.executor.submit(Job(i, s, self.instances, self.limit)) for i, s in enumerate(tried)]
        self.outcomes.update(zip(tried, [future.result() for future in running], strict=True))
        return [self._mean(self.outcomes.get(source)) for source in sources]

    def worst_beside(self, metrics: InstanceMetrics) -> Evaluate:
        """Return an evaluator of the least gain on any instance over results there."""
        before = self.scorer.on_each(self.instances, metrics)

        def worst(sources: Sequence[str]) -> list[float | None]:
            means = self(sources)
            after = [None if m is None else self._each(self.outcomes[s]) for s, m in zip(sources, means, strict=True)]
            return [None if new is None else min(map(operator.sub, new, before)) for new in after]

        return worst

    def _mean(self, outcome: Outcome | None) -> float | None:
        if outcome is None or outcome.status != "scored":
            return None
        return fmean(self._each(outcome))

    def _each(self, outcome: Outcome) -> Sequence[float]:
        return self.scorer.on_each(self.instances, outcome.metrics)

    def _keeps_required(self, source: str) -> bool:
        try:
            return refutation(check_policy(source, self.task)) is None
        except Rejected:
            return True  # the evaluation will report it


@dataclass
class FirstLook:
    """Where a changed program is measured first: the share of a full score that this costs, and the one unchanged."""

    batch: BatchEvaluation
    share: float
    before: InstanceMetrics
    tolerance: float

    @property
    def cost(self) -> float:
        return self.share * self.batch.count


T = TypeVar("T")


class Scores(dict[str, float | None]):
    """The scores of what was evaluated, by key, of at most so many evaluations."""

    def __init__(self, evaluate: Evaluate, evaluations: int) -> None:
        super().__init__()
        self._evaluate = evaluate
        self.remaining = evaluations

    def measured(self, candidates: Iterable[T], named: Callable[[T], tuple[str, str]]) -> list[T]:
        """Evaluate new candidates in order until the evaluations run out, and return those with a score.

        `named` returns a candidate's key and source.
        """
        known: list[T] = []
        new: dict[str, str] = {}
        for candidate in candidates:
            key, source = named(candidate)
            if key not in self and key not in new:
                if len(new) == self.remaining:
                    break
                new[key] = source
            known.append(candidate)
        if new:
            self.update(zip(new, self._evaluate(list(new.values())), strict=True))
            self.remaining -= len(new)
        return known


MAX_CONFIRMATIONS = 4
"""Most confirmations of one tuning: the policy itself and the best three found."""

_MIN_DIMENSIONS = 2
"""Minimum dimension in the package `cmaes`: a single number is padded by a dummy one."""

_STEP = 0.7
_MAX_STEP = 3.0
_MAX_IDLE_ROUNDS = 6
_GROWTH = 2.0

MANY = 1_000
"""Evaluations from which on a search that has stopped to gain goes on with smaller steps: what was tuned before, or
has dozens of numbers, gains nothing from steps that double them."""

_SHRINKAGE = 4.0
_MIN_STEP = 0.01


@dataclass(frozen=True, slots=True)
class TuningResult:
    """A policy that scores higher than the original (`before`), both by `confirm` if there is one."""

    source: str
    score: float
    before: float


@dataclass(frozen=True, slots=True)
class Tuning:
    """What a tuning evaluated, and the best of it; None if nothing is better than the policy itself.

    Each sample has the values of the constants and, last, the score, to six digits; the first is the policy itself.
    Failures are left out.
    """

    constants: tuple[str, ...] = ()
    samples: tuple[tuple[float, ...], ...] = ()
    best: TuningResult | None = None


def tune(
    source: str,
    task: Task,
    evaluate: Evaluate,
    *,
    evaluations: int,
    seed: int,
    confirm: Evaluate | None = None,
    named: bool = False,
) -> Tuning:
    """Search the best setting of the policy's numbers.

    Tuned are the module's parameters, the magnitudes in its body (which become parameters if they change) and the alpha
    and p of its statistics. Magnitudes keep their sign and move on a logarithmic scale. Where nothing of the first
    generation has a score, as the task refuses other magnitudes (of `return 2`, say, where 2 is the most), the body
    stays as it is. With `named`, the parameters alone are tuned where there are any: an author who names some numbers
    leaves limits and markers in the body. The evaluated program is the one returned: every number that changes has at
    most three significant digits. Comments are lost, and docstrings that give a number which changed.

    At most `evaluations` sources are passed to `evaluate`, including the policy itself. `confirm` measures exactly if
    `evaluate` is a cheaper proxy: it is called once, for the policy itself and the best three found. The result is a
    pure function of the arguments. Raises Rejected if the source is not a policy of the task.
    """
    policy = check_policy(source, task)
    ways: list[_Numbers]
    if isinstance(policy, ProgramPolicy):
        ways = [_of_program(policy)]
    elif named and (own := adjustable(policy.program)).parameters:
        ways = [_of_anvil(policy, replace(own, arguments=()))]
    else:
        ways = [_of_anvil(policy, numbers) for numbers in dict.fromkeys((_numbers(policy), adjustable(policy.program)))]
    for numbers in ways:
        if not numbers.knobs or evaluations < MIN_EVALUATIONS:
            return Tuning()
        search = _Search(source, numbers, evaluate, evaluations, goes_on=evaluations >= MANY)
        if not search.run(seed, is_last=numbers is ways[-1]):
            return Tuning()
        if search.found_any:
            break
        evaluations = search.scores.remaining
    return Tuning(tuple(knob.name for knob in numbers.knobs), search.samples(), search.best(confirm))


def _numbers(policy: Policy) -> Adjustable:
    """Lift the policy's numbers, unless it would then be too large for the language."""
    signature = policy.task.whole_interface
    lifted = lift(policy.program, signature)
    try:
        check(emit_source(lifted, signature), policy.task)
    except Rejected:
        return adjustable(policy.program)
    return adjustable(lifted)


@dataclass(frozen=True, slots=True)
class _Numbers:
    """The numbers of a policy, and its source with other values."""

    knobs: tuple[Knob, ...]
    written: Callable[[tuple[float, ...]], str]


def _of_anvil(policy: Policy, numbers: Adjustable) -> _Numbers:
    def written(values: tuple[float, ...]) -> str:
        """Emit the source, with unchanged lifted numbers put back in place."""
        own = policy.parameters
        idle = (k.name for k, v in zip(numbers.knobs, values, strict=True) if k.name not in own and k.value == v)
        former = {abs(k.value) for k, v in zip(numbers.knobs, values, strict=True) if k.value != v}
        program = _without_figures(lowered(numbers.with_values(values), frozenset(idle)), former)
        return emit_source(program, policy.task.whole_interface)

    return _Numbers(numbers.knobs, written)


def _without_figures(program: ir.Module, former: Collection[float]) -> ir.Module:
    """Return the program without the docstrings that give one of these numbers, which it had before."""

    def kept(text: str) -> str:
        return "" if any(float(number) in former for number in _FIGURE.findall(text)) else text

    functions = tuple(replace(f, documentation=kept(f.documentation)) for f in program.functions)
    return replace(program, documentation=kept(program.documentation), functions=functions)


def _of_program(policy: ProgramPolicy) -> _Numbers:
    """Return the constants at the top of free Python; everything else is unchanged, including comments."""
    own = policy.parameters
    knobs = tuple(Knob(name, value) for name, value in own.items())
    return _Numbers(knobs, lambda values: policy.source_with(dict(zip(own, values, strict=True))))


@dataclass(frozen=True, slots=True)
class _Point:
    """An evaluated point: the values of the knobs, and their coordinates on the scales of the search."""

    coordinates: tuple[float, ...]
    values: tuple[float, ...]
    source: str


class _Search:
    def __init__(self, source: str, numbers: _Numbers, evaluate: Evaluate, evaluations: int, goes_on: bool) -> None:
        self.source = source
        self.numbers = numbers
        self.goes_on = goes_on
        self.scales: tuple[Scale, ...] = tuple(scale_of(knob) for knob in numbers.knobs)
        self.scores = Scores(evaluate, evaluations)
        self.points: list[_Point] = []
        self.found_any = False
        values = tuple(knob.value for knob in numbers.knobs)
        self.origin = _Point(self.to_coordinates(values), values, source)

    def to_coordinates(self, values: Sequence[float]) -> tuple[float, ...]:
        return tuple(scale.to_coordinate(value) for scale, value in zip(self.scales, values, strict=True))

    def point(self, coordinate: Sequence[float]) -> _Point:
        values = tuple(scale.from_coordinate(float(x)) for scale, x in zip(self.scales, coordinate, strict=True))
        return _Point(tuple(float(x) for x in coordinate), values, self.numbers.written(values))

    def measure(self, points: Sequence[_Point]) -> list[_Point]:
        """Evaluate new points in order until the evaluations run out, and return those with a score."""
        known = self.scores.measured(points, lambda point: (point.source, point.source))
        self.points += known
        return known

    def rank(self, point: _Point, towards: _Point) -> tuple[float, float]:
        """Return a sort key, smaller is better: the score, with ties by distance to a point."""
        return (-self.score(point), math.dist(point.coordinates, towards.coordinates))

    def score(self, point: _Point) -> float:
        score = self.scores[point.source]
        return -math.inf if score is None else score

    def run(self, seed: int, is_last: bool) -> bool:
        """Spend the evaluations, or stop when progress stalls; False if the policy itself failed.

        Unless this `is_last` of the ways to tune the policy, stop where nothing of the first generation has a score.
        """
        import numpy as np  # slow to load, as is the next

        # which needs SciPy's distributions, a second to load, only for the kind with margins
        sep_cma = import_without("cmaes", hidden="scipy.stats").SepCMA

        best, step, usual, idle, starts = self.origin, _STEP, _STEP, 0, 0
        idle_places = [0.0] * (_MIN_DIMENSIONS - len(self.scales))
        generation: Any = None
        while self.scores.remaining > 0:
            if idle >= _MAX_IDLE_ROUNDS:
                usual /= _SHRINKAGE
                if not self.goes_on or usual < _MIN_STEP:
                    break
                generation, step, idle = None, usual, 0
            if generation is None:
                mean = np.array([*best.coordinates, *idle_places])
                generation = sep_cma(mean=mean, sigma=step, seed=(seed + starts) % 2**32)
                starts += 1
            drawn = [generation.ask() for _ in range(generation.population_size)]
            measured = self.measure([self.origin, *(self.point(place[: len(self.scales)]) for place in drawn)])[1:]
            if self.scores[self.source] is None:
                return False
            self.found_any = self.found_any or any(self.scores[point.source] is not None for point in measured)
            if len(measured) < len(drawn) or not (self.found_any or is_last):
                break
            ranked = sorted(zip(measured, drawn, strict=True), key=lambda pair: self.rank(pair[0], best))
            first, last = ranked[0][0], ranked[-1][0]
            flat = self.score(first) == self.score(last)
            improved = self.score(first) > self.score(best)
            idle = 0 if improved else idle + 1
            best = first if improved else best
            if flat:
                generation, step = None, min(step * _GROWTH, _MAX_STEP)
            elif idle == _MAX_IDLE_ROUNDS // 2:
                generation, step = None, usual
            else:
                generation.tell([(place, float(rank)) for rank, (_, place) in enumerate(ranked)])
        return True

    def best(self, confirm: Evaluate | None) -> TuningResult | None:
        """Return the best point, if it is better than the policy itself."""
        before = self.score(self.origin)
        better = [point for point in dict.fromkeys(self.points) if self.score(point) > before]
        better.sort(key=lambda point: self.rank(point, self.origin))
        asked = list(dict.fromkeys(point.source for point in (self.origin, *better)))
        scores: Mapping[str, float | None] = self.scores
        if confirm is not None and better:
            asked = asked[:MAX_CONFIRMATIONS]
            scores = dict(zip(asked, confirm(asked), strict=True))
        own = scores[self.source]
        if own is None:
            return None
        found = [(score, source) for source in asked if (score := scores[source]) is not None and score > own]
        if not found:
            return None
        score, source = max(found, key=lambda pair: pair[0])
        return TuningResult(source, score, own)

    def samples(self) -> tuple[tuple[float, ...], ...]:
        """Return the values and the score of each point that has one, in the order of evaluation."""
        found = {point.source: point.values for point in self.points if self.scores[point.source] is not None}
        return tuple((*values, float(f"{self.scores[source]:.6g}")) for source, values in found.items())
