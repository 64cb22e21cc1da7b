"""Interval analysis: bounds on every value of a program, from the declared ranges of the features.

The compiler omits the guards of operations that are shown to be safe, so a policy pays for totality only where it may
be needed. Rounding is monotone, so for + - * / and sqrt the bounds computed in float64 hold as they are; results of
the mathematical library are widened a little.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

from vulcan.anvil import ir
from vulcan.anvil import semantics as total
from vulcan.anvil.semantics import MAX
from vulcan.task import MAX_EXACT_INTEGER, History, Signature

_WINDOW_ERROR = 1e-11  # relative to the largest observation; of a running sum of 4,096
_LIBRARY_ERROR = 1e-12  # relative; the mathematical library's error is under 1e-15


class Interval(NamedTuple):
    """The numbers low <= x <= high; `whole` if x is certainly an integer. A walk makes thousands."""

    low: float
    high: float
    whole: bool = False

    def __or__(self, other: Interval) -> Interval:
        return Interval(min(self.low, other.low), max(self.high, other.high), self.whole and other.whole)

    def __and__(self, other: Interval) -> Interval:
        """Return the intersection, which may be empty: then `low` is above `high`."""
        low, high, whole = max(self.low, other.low), min(self.high, other.high), self.whole or other.whole
        if whole and low <= high:
            low, high = float(math.ceil(low)), float(math.floor(high))
        return Interval(low, high, whole)

    @property
    def has_zero(self) -> bool:
        return self.low <= 0.0 <= self.high

    @property
    def magnitude(self) -> float:
        return max(abs(self.low), abs(self.high))

    @property
    def least_magnitude(self) -> float:
        """A lower bound on the magnitudes of its nonzero values."""
        if not self.has_zero:
            return min(abs(self.low), abs(self.high))
        return 1.0 if self.whole else 0.0


_REPEATED = ("latest", "min", "max", "recent", "window_percentile")
"""Statistics that are always one of the observations, or unknown."""

ANYTHING = Interval(-MAX, MAX)
TRUTH = Interval(0.0, 1.0, True)
SHARE = Interval(0.0, 1.0 - 2.0**-53)
"""The bounds of a random number."""

Environment = dict[str, Interval]
Bound = Callable[..., Interval]


def point(value: float) -> Interval:
    return Interval(value, value, value.is_integer())


@dataclass
class Bounds:
    """Bounds of the expressions of one program, as last seen by the walk over it."""

    features: Mapping[str, Interval]
    unknown: Mapping[str, Interval]
    """Value of a feature's statistics before the first observation."""
    parameters: Mapping[str, Interval]
    helpers: Mapping[str, Interval]
    state: Mapping[str, Interval]
    """Bounds of each register, field and element of an array that hold at any time."""

    def of(self, expression: ir.Expression, environment: Environment) -> Interval:
        match expression:
            case ir.Number(value):
                return point(value)
            case ir.Parameter(name):
                return self.parameters[name]
            case ir.Local(name):
                return environment.get(name, ANYTHING)
            case ir.Read(feature):
                return self.features[feature]
            case ir.Statistic():
                return self.statistic(expression)
            case ir.Occurrences(statistic, _):
                return Interval(0.0, statistic.arguments[-1], True) if statistic.kind == "count" else TRUTH
            case ir.Query(history, query):
                return self.features[f"{history}.{query}"]
            case ir.Compare():
                return TRUTH
            case ir.Choose(_, then, otherwise):
                return self.of(then, environment) | self.of(otherwise, environment)
            case ir.Call(function, _):
                return self.helpers[function]
            case ir.Cell(name) | ir.Element(name):
                return self.state[name]
            case ir.Draw():
                return SHARE
            case ir.Operate(operation, operands):
                return OPERATION_BOUNDS[operation](*(self.of(o, environment) for o in operands))

    def statistic(self, statistic: ir.Statistic) -> Interval:
        known = self.features[statistic.feature] | self.unknown[statistic.feature]
        if statistic.kind in _REPEATED:
            return known
        if statistic.kind == "percentile":
            return known | point(0.0)  # it rounds towards 0
        slack = 0.0
        if statistic.kind == "window_avg" and not (
            known.whole and known.magnitude * statistic.arguments[-1] <= MAX_EXACT_INTEGER
        ):  # where sums of whole numbers are exact, the mean lies among them
            slack = known.magnitude * _WINDOW_ERROR
        return clamped(known.low - slack, known.high + slack)

    def after_loop(self, loop: ir.Loop, environment: Environment) -> Environment:
        """Widen the names that a loop's body assigns to all values, but its counter only to its range."""
        widened = {**environment, **dict.fromkeys(ir.assigned_names(loop.body), ANYTHING)}
        if loop.name not in ir.assigned_names(loop.body) and loop.trips:
            values = range(loop.start, loop.stop, loop.step)
            widened[loop.name] = Interval(float(min(values[0], values[-1])), float(max(values[0], values[-1])), True)
        return widened


def declared_bounds(program: ir.Module, signature: Signature) -> Bounds:
    """Return the task's declared ranges and the program's parameters, for a walk over the program; any state."""
    ranges, unknown = _ranges(signature)
    return Bounds(
        features=ranges,
        unknown=unknown,
        parameters={name: point(value) for name, value in program.parameters},
        helpers={},
        state={variable.name: ANYTHING for variable in program.variables},
    )


@lru_cache(maxsize=64)  # of every walk
def _ranges(signature: Signature) -> tuple[Mapping[str, Interval], Mapping[str, Interval]]:
    """Return the declared range of each feature and query, and each feature's value before the first observation."""
    declared = dict(signature.features())
    ranges = {name: Interval(f.low, f.high, f.type != "float") for name, f in declared.items()}
    for history in (a for a in signature.arguments if isinstance(a, History)):
        ranges[f"{history.name}.contains"] = TRUTH
        ranges[f"{history.name}.count"] = Interval(0.0, MAX_EXACT_INTEGER, True)
        ranges[f"{history.name}.age"] = Interval(0.0, MAX_EXACT_INTEGER)
    return ranges, {name: point(f.unknown) for name, f in declared.items()}


def join(a: Environment, b: Environment) -> Environment:
    return {name: a[name] | b[name] for name in a.keys() & b.keys()}


def clamped(low: float, high: float, whole: bool = False) -> Interval:
    return Interval(total.saturate(low), total.saturate(high), whole and max(abs(low), abs(high)) <= 2**53)


def _corners(function: Callable[[float, float], float], a: Interval, b: Interval, whole: bool) -> Interval:
    values = [function(x, y) for x in (a.low, a.high) for y in (b.low, b.high)]
    return clamped(min(values), max(values), whole)


def _add(a: Interval, b: Interval) -> Interval:
    return clamped(a.low + b.low, a.high + b.high, a.whole and b.whole)


def _subtract(a: Interval, b: Interval) -> Interval:
    return clamped(a.low - b.high, a.high - b.low, a.whole and b.whole)


def _multiply(a: Interval, b: Interval) -> Interval:
    return _corners(lambda x, y: x * y, a, b, a.whole and b.whole)


def _divide(a: Interval, b: Interval) -> Interval:
    least = b.least_magnitude
    if least == 0.0:
        return ANYTHING
    most = total.saturate(a.magnitude / least)
    low = 0.0 if a.low >= 0.0 and b.low >= 0.0 else -most
    high = 0.0 if a.low >= 0.0 and b.high <= 0.0 else most
    if b.has_zero or low < 0.0:
        return Interval(low, high)
    return clamped(a.low / b.high, high)


def _floor_divide(a: Interval, b: Interval) -> Interval:
    quotient = _divide(a, b)
    return clamped(quotient.low - 1.0, quotient.high, True)


def _modulo(a: Interval, b: Interval) -> Interval:
    whole = a.whole and b.whole
    if a.low >= 0.0 and a.high < b.low:
        return a
    low, high = min(b.low, 0.0), max(b.high, 0.0)
    if a.low >= 0.0 and b.low >= 0.0:
        high = min(high, a.high)
    if whole and b.low >= 1.0 and b.high <= MAX_EXACT_INTEGER:
        high = min(high, b.high - 1.0)
    return Interval(low, high, whole)


def _power(a: Interval, b: Interval) -> Interval:
    if b.low == b.high >= 0.0 and b.low % 2.0 == 0.0:
        a = _absolute(a)
    if a.low < 0.0 or (a.has_zero and b.low < 0.0):
        return ANYTHING
    image = _widened(_corners(total.power, a, b, False))
    return image | point(0.0) if a.has_zero else image


def _widened(interval: Interval) -> Interval:
    slack = interval.magnitude * _LIBRARY_ERROR
    low = interval.low - slack
    return clamped(0.0 if interval.low >= 0.0 > low else low, interval.high + slack)


def _increasing(function: Callable[[float], float]) -> Bound:
    return lambda a: _widened(Interval(function(a.low), function(a.high)))


def _logarithm(function: Callable[[float], float]) -> Bound:
    def bound(a: Interval) -> Interval:
        if a.high <= 0.0:
            return point(0.0)
        least = a.least_magnitude if a.low >= 0.0 else (1.0 if a.whole else 0.0)
        low = function(least) if least > 0.0 else function(5e-324)
        high = function(a.high)
        image = _widened(Interval(min(low, high), max(low, high)))
        return image if a.low > 0.0 else image | point(0.0)

    return bound


def _integer_part(function: Callable[[float], float]) -> Bound:
    return lambda a: Interval(function(a.low), function(a.high), True)


def _absolute(a: Interval) -> Interval:
    return Interval(0.0 if a.has_zero else a.least_magnitude, a.magnitude, a.whole)


def _any_of(*operands: Interval) -> Interval:
    joined = operands[0]
    for operand in operands[1:]:
        joined = joined | operand
    return joined


OPERATION_BOUNDS: dict[str, Bound] = {
    "add": _add,
    "subtract": _subtract,
    "multiply": _multiply,
    "divide": _divide,
    "floor_divide": _floor_divide,
    "modulo": _modulo,
    "power": _power,
    "negate": lambda a: Interval(-a.high, -a.low, a.whole),
    "plus": lambda a: a,
    "not": lambda _: TRUTH,
    "truth": lambda _: TRUTH,
    "and": _any_of,
    "or": _any_of,
    "min": lambda *a: Interval(min(x.low for x in a), min(x.high for x in a), all(x.whole for x in a)),
    "max": lambda *a: Interval(max(x.low for x in a), max(x.high for x in a), all(x.whole for x in a)),
    "abs": _absolute,
    "round": _integer_part(total.round_half_even),
    "trunc": _integer_part(total.truncate),
    "floor": _integer_part(total.floor),
    "ceil": _integer_part(total.ceil),
    "sqrt": lambda a: Interval(total.sqrt(a.low), total.sqrt(a.high)),
    "exp": _increasing(total.exp),
    "expm1": _increasing(total.expm1),
    "log": _logarithm(total.log),
    "log2": _logarithm(total.log2),
    "log10": _logarithm(total.log10),
    "log1p": lambda a: _increasing(total.log1p)(a) if a.low > -1.0 else Interval(-800.0, 800.0),
    "tanh": lambda _: Interval(-1.0, 1.0),
    "atan": lambda _: Interval(-math.pi, math.pi),
    "sin": lambda _: Interval(-1.0, 1.0),
    "cos": lambda _: Interval(-1.0, 1.0),
    "hash": lambda _, __: Interval(0.0, 2.0**53 - 1.0, True),
}
