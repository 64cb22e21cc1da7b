"""Tries to break a property that is said to be proved: inputs at every boundary, through the reference interpreter."""

from __future__ import annotations

import math
from collections.abc import Mapping
from random import Random

from vulcan.anvil import Policy, ir
from vulcan.anvil.analysis.intervals import Interval
from vulcan.anvil.proofs.claims import statement
from vulcan.anvil.proofs.terms import TooLarge, parts_within
from vulcan.anvil.proofs.verdict import Judge, Point
from vulcan.task import Property

_EXTREME = (
    0.0, 1.0, -1.0, 2.0, -2.0, 3.0, 0.5, -0.5, 0.1, 0.3, 0.7, 5.0, 7.0, 10.0, 5e-324, -5e-324, 1e-300, -1e-20, 1e-160,
    1e16, -1e16, 1e154, 1e300, -1e300, 2.0**53, 2.0**53 - 1.0, 2.0**53 + 2.0, -(2.0**53), 2.0**40, 709.0, -745.0, 1e100,
)  # fmt: skip


class Answers(dict[tuple[ir.Statistic, float], float]):
    """An arbitrary function of the value looked for."""

    def __init__(self, seed: int) -> None:
        super().__init__()
        self.seed = seed

    def get(self, key: tuple[ir.Statistic, float], default: float = 0.0) -> float:  # type: ignore[override]
        statistic, value = key
        most = 1 if statistic.kind == "contains" else int(statistic.arguments[-1])
        return float(Random(f"{self.seed}:{statistic.kind}:{statistic.feature}:{value!r}").randint(0, most))


def value_within(within: Interval, random: Random, constants: list[float]) -> float:
    low, high = within.low, within.high
    match random.randrange(6):
        case 0:
            value = random.choice((low, high))
        case 1:
            value = random.choice(_EXTREME)
        case 2 if constants:
            value = random.choice(constants) + random.choice((0.0, 1.0, -1.0))
        case 3:
            value = low + random.randrange(12)
        case 4:
            value = 10.0 ** random.uniform(-20.0, 20.0) * random.choice((1.0, -1.0))
        case _:
            value = low / 2 + random.random() * (high / 2 - low / 2) + low / 2
    if within.whole:
        value = float(round(value))
    elif random.random() < 0.2:
        value = math.nextafter(value, random.choice((math.inf, -math.inf)))
    return min(max(value, low), high)


def broken(policy: Policy, declared: Property, random: Random, trials: int) -> tuple[tuple[Point, ...], object] | None:
    """Inputs that break the property, if any of so many do."""
    judge = Judge(policy, declared)
    try:
        said = statement(policy.program, policy.task, declared)
    except TooLarge:
        return None
    terms = [part for term in (*said.assumed, said.concluded) for part in parts_within(term)]
    constants = [term.number for term in terms if term.number is not None]
    for trial in range(trials):
        values = {name: value_within(within, random, constants) for name, within in said.ranges.items()}
        points = _points(values, said.ranges, declared, random, Answers(trial), constants)
        results = judge.results(points) if points else None
        if results is not None:
            return points, results
    return None


def _points(
    values: dict[str, float], ranges: Mapping[str, Interval], declared: Property, random: Random, answers: Answers,
    constants: list[float],
) -> tuple[Point, ...]:  # fmt: skip
    subject = declared.subject
    if subject is None:
        return (Point(values, answers),)
    within, old = ranges[subject], values[subject]
    new = value_within(within, random, constants)
    if random.random() < 0.4:
        new = old + 1.0 if within.whole else math.nextafter(old, math.inf)
    low, high = sorted((old, min(max(new, within.low), within.high)))
    if low == high:
        return ()
    return Point({**values, subject: low}, answers), Point({**values, subject: high}, answers)
