"""A concrete input, or two, that a policy breaks a property on; and a simpler one that it breaks it on as well."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from vulcan.anvil.flow.intervals import Interval
from vulcan.anvil.prove.ranges import meet
from vulcan.anvil.prove.replay import Judge, Point
from vulcan.task import Json, Property

_PASSES = 2


@dataclass(frozen=True)
class Counterexample:
    """What the reference interpreter returns for the inputs, which are one, or two that differ in `subject` alone."""

    inputs: tuple[Mapping[str, float], ...]
    results: tuple[float, ...]
    subject: str | None = None

    def document(self) -> dict[str, Json]:
        return {"inputs": [dict(values) for values in self.inputs], "results": list(self.results)}

    def __str__(self) -> str:
        """In one line: `obj.count 3 gives 9, 4 gives 4, with now 0, obj.size 1`."""
        first = self.inputs[0]
        if self.subject is None:
            return f"{_listed(first)} gives {_number(self.results[0])}"
        pairs = (
            f"{_number(v[self.subject])} gives {_number(r)}" for v, r in zip(self.inputs, self.results, strict=True)
        )
        shared = {n: x for n, x in first.items() if n != self.subject and self.inputs[-1].get(n) == x}
        others = [{n: x for n, x in v.items() if n not in shared and n != self.subject} for v in self.inputs]
        rest = _listed({**shared, **others[0], **others[-1]})
        return f"{self.subject} {', '.join(pairs)}" + (f", with {rest}" if rest else "")


def _listed(values: Mapping[str, float]) -> str:
    return ", ".join(f"{name} {_number(value)}" for name, value in values.items())


def _number(value: float) -> str:
    return repr(value).removesuffix(".0")


def calm(within: Interval) -> float:
    """The value of a range that is nearest to 0."""
    return min(max(0.0, within.low), within.high)


def simplest(
    judge: Judge,
    declared: Property,
    points: tuple[Point, ...],
    results: tuple[float, ...],
    ranges: Mapping[str, Interval],
) -> Counterexample:
    """The counterexample with simpler numbers, as far as the judge still confirms it."""
    for _ in range(_PASSES):
        for name, within in ranges.items():
            for simpler in _simpler(points, name, within, declared.subject):
                found = judge.results(simpler)
                if found is not None:
                    points, results = simpler, found
                    break
    return Counterexample(tuple(judge.shown(point) for point in points), results, declared.subject)


def _simpler(
    points: tuple[Point, ...], name: str, within: Interval, subject: str | None
) -> Iterator[tuple[Point, ...]]:
    old = points[-1].values[name]
    for value in _candidates(old, within):
        if name != subject:
            yield tuple(_with(point, name, value) for point in points)
            continue
        low = points[0].values[name]
        for other in (*_candidates(low, within), low):
            if other < value and (other, value) != (low, old):
                yield _with(points[0], name, other), _with(points[1], name, value)
    if name == subject:
        for other in _candidates(points[0].values[name], within):
            if other < old:
                yield _with(points[0], name, other), points[1]


def _candidates(old: float, within: Interval) -> list[float]:
    """Values of the range that are simpler to read than the old one, the simplest first."""
    rounded = [float(f"{old:.{digits}g}") for digits in (1, 2, 3)]
    values = [0.0, 1.0, 2.0, 3.0, 10.0, 100.0, 1000.0, within.low, within.low + 1.0, *rounded]
    fitting = [v + 0.0 for v in values if meet(Interval(v, v), within) == Interval(v, v, within.whole)]
    effort = _effort(old)
    return [v for v in dict.fromkeys(fitting) if v != old and _effort(v) < effort]


def _effort(value: float) -> tuple[int, float]:
    return len(_number(value)), abs(value)


def _with(point: Point, name: str, value: float) -> Point:
    return Point({**point.values, name: value}, point.found)
