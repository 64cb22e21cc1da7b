"""Fixed-point number formats: the bounds, typical magnitude and binary scale of each value in a program.

A value x of scale s is stored as the integer nearest to x * 2**s; the scale is the number of its 63 bits after the
binary point. It follows from the value's bounds and typical magnitude. If the bounds leave room for enough bits after
the leading one of a typical value, the scale is the finest at which nothing saturates. Otherwise, as for the cube of a
time whose declared range is years, it is the one that gives a typical value that many bits, and values many times the
typical saturate. Values that are certainly whole stay whole.

The typical magnitude of a feature is the geometric mean of its declared range; operations propagate it. A number that
is assigned beside other values, such as the 1e12 of a minimum that nothing has lowered yet, says nothing about them;
the scale only leaves room for it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace

from vulcan.anvil import ir
from vulcan.anvil.analysis.abstract_interpreter import follow
from vulcan.anvil.analysis.intervals import ANYTHING, SHARE, Interval, declared_bounds, point
from vulcan.errors import UserError
from vulcan.task import Feature, Signature

BITS = 62
"""Usable bits of 64: one is the sign, and one is reserved for the rounding of bounds."""
TYPICAL_BITS = 28
"""Minimum bits after the leading one of a typical value; it saturates at 2**34 times the typical."""
MIN_TYPICAL_BITS = 12
"""The same where more would saturate a number that is assigned beside other values."""
MAX_SATURATING = 40
"""Finest scale of a value that may saturate; however small its typical magnitude, there is room up to 2**22."""
MIN, MAX = -60, 90
"""Range of scales; coarser or finer ones are beyond 64-bit integers."""
_MIN_TYPICAL, _MAX_TYPICAL = -90.0, 90.0


@dataclass(frozen=True, slots=True)
class NumberFormat:
    """The bounds of a value, and the binary logarithm of its typical magnitude.

    Where only numbers are known to be assigned, `typical` is that of the largest of them; `largest_number` has room
    beside other values.
    """

    bounds: Interval
    typical: float
    only_numbers: bool = False
    largest_number: float = 0.0

    def __or__(self, other: NumberFormat) -> NumberFormat:
        if self.only_numbers == other.only_numbers:
            typical = max(self.typical, other.typical)
        else:
            typical = other.typical if self.only_numbers else self.typical
        largest = max(self.largest_number, other.largest_number)
        return NumberFormat(self.bounds | other.bounds, typical, self.only_numbers and other.only_numbers, largest)

    @property
    def scale(self) -> int:
        room = BITS - integer_bits(self.bounds.magnitude)
        wanted = min(math.ceil(TYPICAL_BITS - self.typical), MAX_SATURATING)
        if not self.only_numbers and self.largest_number:
            holds_number = BITS - integer_bits(self.largest_number)
            wanted = min(wanted, max(holds_number, math.ceil(MIN_TYPICAL_BITS - self.typical)))
        if self.bounds.whole:
            return 0 if room >= 0 else max(min(0, max(room, wanted)), MIN)
        return min(max(room, wanted, MIN), MAX)


def integer_bits(magnitude: float) -> int:
    """Return the bits before the binary point of the largest value, with rounding; negative for small fractions."""
    return math.frexp(magnitude)[1] if magnitude > 0.0 else MIN


def limited(typical: float) -> float:
    return min(max(typical, _MIN_TYPICAL), _MAX_TYPICAL)


def typical_of_feature(feature: Feature) -> float:
    """Return the logarithmic midpoint of the lowest (at least 1, if any is) and highest magnitudes of a feature."""
    highest = max(abs(feature.low), abs(feature.high))
    if highest == 0.0:
        return 0.0
    lowest = 0.0 if feature.low <= 0.0 <= feature.high else min(abs(feature.low), abs(feature.high))
    lowest = max(lowest, min(1.0, highest / 16.0))
    return limited((math.log2(lowest) + math.log2(highest)) / 2.0)


def typical_of_number(value: float) -> float:
    return limited(math.log2(abs(value))) if value != 0.0 else 0.0  # 0 does not predict the values that follow


def typical_of_operation(operation: str, operands: list[NumberFormat], bounds: Interval) -> float:
    """Return the typical magnitude (log2) of a result; `bounds` are those of the result."""
    first, last = operands[0].typical, operands[-1].typical
    match operation:
        case "multiply":
            found = first + last
        case "divide" | "floor_divide":
            found = first - last
        case "modulo" | "and":
            found = last
        case "min":
            found = min(operand.typical for operand in operands)
        case "add" | "subtract" | "max" | "or":
            found = max(operand.typical for operand in operands)
        case "sqrt":
            found = first / 2.0
        case "power":
            exponent = operands[-1].bounds
            found = first * exponent.low if exponent.low == exponent.high else first
        case "exp" | "expm1":
            found = _middle(bounds)
        case "hash":
            found = 52.0
        case "log" | "log2" | "log10" | "log1p":
            found = 2.0
        case "not" | "truth" | "tanh":
            found = 0.0
        case _:
            found = first
    if bounds.magnitude > 0.0:
        found = min(found, math.log2(bounds.magnitude))
    return limited(found)


def _middle(bounds: Interval) -> float:
    """Return the typical magnitude (log2) of a result within its bounds and 2**-20 to 2**20, if no more is known."""
    low, high = (math.log2(b) if b > 0.0 else -20.0 for b in (bounds.low, bounds.high))
    return (max(low, -20.0) + min(high, 20.0)) / 2.0


def quantised(value: float, scale: int) -> int:
    """Return the scaled integer of a number; never 0 for a nonzero number, which may guard a division."""
    scaled = round(math.ldexp(value, scale))
    limit = 2**63 - 1
    return min(max(scaled, -limit), limit) or (0 if value == 0.0 else int(math.copysign(1, value)))


def scale_of_number(value: float) -> int:
    """Return the least scale from 0 that represents a number exactly, or the finest it fits if that is less."""
    if value == 0.0:
        return 0
    numerator, denominator = abs(value).as_integer_ratio()
    exact = denominator.bit_length() - 1 if denominator > 1 else 0
    if denominator == 1:
        exact = min(0, BITS - numerator.bit_length())
    return max(min(exact, BITS - integer_bits(value if value > 0 else -value)), -1000)


def beyond(bounds: Interval) -> bool:
    """Check whether the bounds exceed what 63 bits can hold at any scale."""
    return bounds.magnitude > 2.0 ** (BITS - MIN) or bounds == ANYTHING


_ROUNDS = 6
_MAX_HELD = 2.0 ** (BITS - MIN)
_NOTHING = NumberFormat(point(0.0), 0.0)


def refusal(why: str, at: ir.Position = (0, 0)) -> UserError:
    where = f"line {at[0]}, column {at[1]}: " if at != (0, 0) else ""
    return UserError(f"the policy cannot be written in bounded integers: {where}{why}")


class NumberFormats:
    """The number formats of a program: `of(e, function)` for an expression, `locals` and `results` for names.

    A local has one format throughout its function, the union over its assignments; so has an argument of a helper, over
    all calls.
    """

    def __init__(self, program: ir.Module, signature: Signature) -> None:
        self.program = program
        known = follow(program, signature, keep_values=True)
        self.values: Mapping[int, Interval] = known.values or {}
        self.parameters = dict(program.parameters)
        self.declared = dict(signature.features())
        self.ranges = declared_bounds(program, signature)
        self.state = known.state
        self.written = {v.name: self.number(v.value(self.parameters)) for v in program.variables}
        """Of registers, fields and elements of arrays, by what is written; their bounds are those of `state`."""
        self.locals: dict[tuple[str, str], NumberFormat] = {}
        self.results: dict[str, NumberFormat] = {}
        self.functions = {f.name: f for f in program.functions}
        for _ in range(_ROUNDS):  # typical magnitudes propagate round loops and from callers to helpers
            for function in program.functions:
                self._block(function.body, function.name)

    def feature(self, name: str) -> NumberFormat:
        """Return the format of a feature, or of a history query."""
        bounds = self.ranges.features[name]
        if name not in self.declared:
            return NumberFormat(bounds, 0.0 if bounds.high <= 1.0 else 13.0)
        if bounds.magnitude > _MAX_HELD:
            raise refusal(f"the feature {name} may be as large as {bounds.magnitude:g}")
        return NumberFormat(bounds | self.ranges.unknown[name], typical_of_feature(self.declared[name]))

    def statistic(self, statistic: ir.Statistic) -> NumberFormat:
        """Return the format of a statistic, whose scale is the feature's where it repeats an observation."""
        return NumberFormat(self.ranges.statistic(statistic), self.feature(statistic.feature).typical)

    def variable(self, name: str) -> NumberFormat:
        """Return the format of a register, of a field or of the elements of an array."""
        return replace(self.written[name], bounds=self.state[name])

    def local(self, name: str, function: str) -> NumberFormat:
        return self.locals.get((function, name), _NOTHING)

    def bounds(self, e: ir.Expression) -> Interval:
        return self.values.get(id(e), ANYTHING)

    def of(self, e: ir.Expression, function: str) -> NumberFormat:
        match e:
            case ir.Number(value):
                return self.number(value)
            case ir.Parameter(name):
                return self.number(self.parameters[name])
            case ir.Local(name):
                return self.local(name, function)
            case ir.Read(feature):
                return self.feature(feature)
            case ir.Query(history, query):
                return self.feature(f"{history}.{query}")
            case ir.Statistic():
                return self.statistic(e)
            case ir.Cell(name) | ir.Element(name):
                return self.variable(name)
            case ir.Draw():
                return NumberFormat(SHARE, -1.0)
            case ir.Occurrences() | ir.Compare():
                return NumberFormat(self.ranges.of(e, {}), 0.0)
            case ir.Choose(_, then, otherwise):
                return replace(self.of(then, function) | self.of(otherwise, function), bounds=self.bounds(e))
            case ir.Call(name, _):
                return self.results.get(name, _NOTHING)
            case ir.Operate(operation, operands):
                kinds = [self.of(operand, function) for operand in operands]
                bounds = self.bounds(e)
                return NumberFormat(bounds, typical_of_operation(operation, kinds, bounds))

    def number(self, value: float) -> NumberFormat:
        return NumberFormat(point(value), typical_of_number(value), only_numbers=True, largest_number=abs(value))

    # Assignments

    def _block(self, body: tuple[ir.Statement, ...], function: str) -> None:
        for e in ir.expressions(body):
            if isinstance(e, ir.Call):
                for argument, value in zip(self.functions[e.function].arguments, e.arguments, strict=True):
                    self._assign(argument, value, e.function, function)
        for statement in ir.statements(body):
            match statement:
                case ir.Assign(name, value):
                    self._assign(name, value, function, function)
                case ir.Loop(name=name) if statement.trips:
                    turns = range(statement.start, statement.stop, statement.step)
                    bounds = Interval(float(min(turns)), float(max(turns)), True)
                    self._join((function, name), NumberFormat(bounds, typical_of_number(bounds.magnitude)))
                case ir.Write(name, value) if name in self.written and id(value) in self.values:
                    self.written[name] |= self._evaluated(value, function)
                case ir.Return(value) if id(value) in self.values:
                    kind = self._evaluated(value, function)
                    self.results[function] = self.results.get(function, kind) | kind
                case _:
                    pass

    def _assign(self, name: str, value: ir.Expression, owner: str, function: str) -> None:
        if id(value) in self.values:  # otherwise it is unreachable
            self._join((owner, name), self._evaluated(value, function))

    def _evaluated(self, value: ir.Expression, function: str) -> NumberFormat:
        return replace(self.of(value, function), bounds=self.bounds(value))

    def _join(self, key: tuple[str, str], kind: NumberFormat) -> None:
        self.locals[key] = self.locals.get(key, kind) | kind
