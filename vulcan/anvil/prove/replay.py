"""The judge of counterexamples: the reference interpreter, given the answers of statistics and histories as values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from vulcan.anvil import program as p
from vulcan.anvil.interpret import Reference
from vulcan.anvil.plan import Plan
from vulcan.anvil.policy import Policy
from vulcan.anvil.prove.inputs import key_of, spelled
from vulcan.anvil.prove.statement import RESULT, Condition, conditions
from vulcan.task import Property, Signature


@dataclass(frozen=True)
class Point:
    """One input: features, statistics and answers of histories by the names they are written with.

    `found` is what a statistic answers for a value that it looks for; 0 for one that is not there.
    """

    values: Mapping[str, float]
    found: Mapping[tuple[p.Statistic, float], float]


class Answered(Reference):
    """The reference, but for its statistics: they are what a point says that they are."""

    def __init__(self, program: p.Program, plan: Plan, signature: Signature) -> None:
        super().__init__(program, plan, signature)
        self._signature = signature
        self._point = Point({}, {})
        self.asked: dict[tuple[p.Statistic, float], float] = {}

    def at(self, point: Point) -> float:
        """What the program returns for the input; `asked` is then what was looked for, and found."""
        self._point = point
        self.asked = {}
        return self(point.values)

    def _statistic(self, statistic: p.Statistic, key: object, value: float = 0.0) -> float:
        values = self._point.values
        if statistic.kind not in _LOOKING:
            return values[spelled(statistic, self._signature)]
        own = key_of(self._signature)
        name = spelled(statistic, self._signature, own or "")
        if own is not None and name in values and values.get(own) == value:
            return values[name]
        answer = self._point.found.get((statistic, value), 0.0)
        self.asked[statistic, value] = answer
        return answer


_LOOKING = ("count", "contains")


class Judge:
    """Says whether points refute a property of a policy."""

    def __init__(self, policy: Policy, declared: Property) -> None:
        function = policy.function(declared.function)
        self._declared = declared
        self._signature = function.signature
        self._policy = Answered(function.program, function.plan, function.signature)
        when, claim = conditions(policy.task, declared)
        self._when = _asked(when)
        self._claim = _asked(claim)

    def results(self, points: tuple[Point, ...]) -> tuple[float, ...] | None:
        """What the policy returns for the points, if that refutes the property; else None.

        The points are one input, or two that differ in the subject alone, the smaller first.
        """
        if self._when is not None and not all(self._when.at(point) != 0.0 for point in points):
            return None
        results = tuple(self._policy.at(point) for point in points)
        return results if self._refute(points, results) else None

    def shown(self, point: Point) -> dict[str, float]:
        """The point as it is shown: with what the policy looks for there, and finds."""
        self._policy.at(point)
        asked = {
            spelled(statistic, self._signature, repr(value).removesuffix(".0")): answer
            for (statistic, value), answer in self._policy.asked.items()
        }
        return {**point.values, **asked}

    def _refute(self, points: tuple[Point, ...], results: tuple[float, ...]) -> bool:
        declared = self._declared
        if declared.subject is not None and not points[0].values[declared.subject] < points[1].values[declared.subject]:
            return False
        match declared.kind, results:
            case "bounded", (result,):
                low, high = declared.low, declared.high
                return (low is not None and result < low) or (high is not None and result > high)
            case "nondecreasing", (first, second):
                return first > second
            case "nonincreasing", (first, second):
                return first < second
            case "independent", (first, second):
                return first != second
        assert self._claim is not None
        (point,) = points
        return self._claim.at(Point({**point.values, RESULT: results[0]}, point.found)) == 0.0


def _asked(condition: Condition | None) -> Answered | None:
    return None if condition is None else Answered(condition.program, condition.plan, condition.signature)
