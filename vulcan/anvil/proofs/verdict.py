"""Verdicts on properties, and counterexamples: their judge, and their simplification.

The judge is the reference interpreter, with statistics' and histories' answers given as values.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from vulcan.anvil import ir
from vulcan.anvil.analysis.intervals import Interval
from vulcan.anvil.interpreter import Reference
from vulcan.anvil.plan import Plan
from vulcan.anvil.policy import Policy
from vulcan.anvil.proofs.claims import RESULT, Condition, conditions
from vulcan.anvil.unparse import key_of, number_source, statistic_source
from vulcan.documents.policy import CounterexampleDocument, PropertyDocument, PropertyVerdict
from vulcan.task import Property, Signature


@dataclass(frozen=True)
class Point:
    """One input: features, statistics, answers of histories and state by the names they are written with.

    `found` has the answers of statistics that look for a value, and elements of arrays; 0 for a missing one.
    """

    values: Mapping[str, float]
    found: Mapping[tuple[ir.Statistic | ir.Cell, float], float]


class SolverModel(Reference):
    """The reference interpreter, with statistics and state taken from a point."""

    def __init__(self, program: ir.Module, plan: Plan, signature: Signature) -> None:
        super().__init__(program, plan, signature)
        self._signature = signature
        self._point = Point({}, {})
        self.asked: dict[tuple[ir.Statistic | ir.Cell, float], float] = {}

    def at(self, point: Point) -> float:
        """Return the program's result for the input; `asked` then has the values looked for, and their answers."""
        self._point = point
        self.asked = {}
        return self(point.values)

    def _statistic(self, statistic: ir.Statistic, key: object, value: float = 0.0) -> float:
        values = self._point.values
        if statistic.kind not in _LOOKING:
            return values[statistic_source(statistic, self._signature)]
        own = key_of(self._signature)
        name = statistic_source(statistic, self._signature, own or "")
        if own is not None and name in values and values.get(own) == value:
            return values[name]
        answer = self._point.found.get((statistic, value), 0.0)
        self.asked[statistic, value] = answer
        return answer

    def _cell(self, name: str, key: object) -> float:
        return self._point.values[name]

    def _element(self, name: str, index: int) -> float:
        answer = self._point.found.get((ir.Cell(name), float(index)), 0.0)
        self.asked[ir.Cell(name), float(index)] = answer
        return answer


_LOOKING = ("count", "contains")


def _written(source: ir.Statistic | ir.Cell, signature: Signature, value: str) -> str:
    return f"{source.name}[{value}]" if isinstance(source, ir.Cell) else statistic_source(source, signature, value)


class Judge:
    """A check of whether points refute a property of a policy."""

    def __init__(self, policy: Policy, declared: Property) -> None:
        self._declared = declared
        self._signature = policy.task.function(declared.function)
        program = policy.program.of(self._signature.function)
        self._policy = SolverModel(program, policy.plan_of(declared.function), self._signature)
        when, claim = conditions(policy.task, declared)
        self._when = _asked(when)
        self._claim = _asked(claim)

    def results(self, points: tuple[Point, ...]) -> tuple[float, ...] | None:
        """Return the policy's results for the points if they refute the property; else None.

        The points are one input, or two that differ in the subject alone, the smaller first.
        """
        if self._when is not None and not all(self._when.at(point) != 0.0 for point in points):
            return None
        results = tuple(self._policy.at(point) for point in points)
        return results if self._refute(points, results) else None

    def shown(self, point: Point) -> dict[str, float]:
        """Return the point for display: with the values that the policy looks for there, and their answers."""
        self._policy.at(point)
        asked = {
            _written(source, self._signature, number_source(value)): answer
            for (source, value), answer in self._policy.asked.items()
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


def _asked(condition: Condition | None) -> SolverModel | None:
    return None if condition is None else SolverModel(condition.program, condition.plan, condition.signature)


@dataclass(frozen=True)
class Counterexample:
    """The inputs, and the reference interpreter's results: one, or two that differ in `subject` alone."""

    inputs: tuple[Mapping[str, float], ...]
    results: tuple[float, ...]
    subject: str | None = None

    def document(self) -> CounterexampleDocument:
        return {"inputs": [dict(values) for values in self.inputs], "results": list(self.results)}

    def __str__(self) -> str:
        """Format in one line: `obj.count 3 gives 9, 4 gives 4, with now 0, obj.size 1`."""
        first = self.inputs[0]
        if self.subject is None:
            return f"{_listed(first)} gives {number_source(self.results[0])}"
        pairs = (
            f"{number_source(v[self.subject])} gives {number_source(r)}"
            for v, r in zip(self.inputs, self.results, strict=True)
        )
        shared = {n: x for n, x in first.items() if n != self.subject and self.inputs[-1].get(n) == x}
        others = [{n: x for n, x in v.items() if n not in shared and n != self.subject} for v in self.inputs]
        rest = _listed({**shared, **others[0], **others[-1]})
        return f"{self.subject} {', '.join(pairs)}" + (f", with {rest}" if rest else "")


def _listed(values: Mapping[str, float]) -> str:
    return ", ".join(f"{name} {number_source(value)}" for name, value in values.items())


def calm(within: Interval) -> float:
    """Return the value of a range that is nearest to 0."""
    return min(max(0.0, within.low), within.high)


Outcome = Literal["proved", "refuted", "unknown"]
Method = Literal["certificate", "search", "none"]

ARITHMETIC = "exact float64"
"""Every verdict is about the numbers that the policy really computes, including rounding and saturation."""


@dataclass(frozen=True)
class Verdict:
    """The outcome for one property; `method` decided it: a certificate by rules, or the search.

    A refuted property has a counterexample, confirmed by the reference interpreter. `reason` explains an unknown
    outcome. `seconds` is the time taken.
    """

    property: Property
    outcome: Outcome
    method: Method
    seconds: float
    counterexample: Counterexample | None = None
    reason: str = ""
    arithmetic: str = ARITHMETIC

    def document(self) -> PropertyDocument:
        return {**self.without_time(), "seconds": self.seconds}

    def without_time(self) -> PropertyVerdict:
        """Return the document without the time taken, which differs between runs."""
        return {
            "name": self.property.name,
            "kind": self.property.kind,
            "function": self.property.function,
            "required": self.property.required,
            "verdict": self.outcome,
            "arithmetic": self.arithmetic,
            "method": self.method,
            "counterexample": None if self.counterexample is None else self.counterexample.document(),
            "reason": self.reason,
        }


def claim_of(declared: Property) -> str:
    """Describe the property in words."""
    result = "the result" if declared.function is None else f"the result of {declared.function}"
    match declared.kind:
        case "bounded":
            ends = [f"at least {declared.low:g}"] if declared.low is not None else []
            ends += [f"at most {declared.high:g}"] if declared.high is not None else []
            said = f"{result} is {' and '.join(ends)}"
        case "nondecreasing" | "nonincreasing":
            verb = "fall" if declared.kind == "nondecreasing" else "rise"
            said = f"{result} does not {verb} when {declared.subject} grows, all else equal"
        case "independent":
            said = f"{result} is the same for every {declared.subject}, all else equal"
        case "holds":
            said = f"{declared.claim}" if declared.function is None else f"{declared.claim}, of {result}"
    return said if declared.when is None else f"{said}, where {declared.when}"
