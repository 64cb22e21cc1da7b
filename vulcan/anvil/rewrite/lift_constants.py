"""Lifting of a program's numbers into parameters that a tuner can change."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from vulcan.anvil import ir
from vulcan.anvil.analysis.intervals import ANYTHING, Bounds, declared_bounds
from vulcan.anvil.grammar import grammar
from vulcan.anvil.rewrite.traversal import from_below, in_program, names_of, numbered, with_children
from vulcan.task import Signature, Value

_GUARD = 1e-6
_SENTINEL = 1e12

_STEMS: Mapping[str, str] = {
    "add": "OFFSET",
    "subtract": "OFFSET",
    "multiply": "WEIGHT",
    "divide": "SCALE",
    "floor_divide": "STEP",
    "power": "EXPONENT",
    "min": "LIMIT",
    "max": "LIMIT",
}


def lift(program: ir.Module, signature: Signature) -> ir.Module:
    """Turn the numbers of a program's body into parameters; it computes the same, bit for bit.

    Parameters are named after the number's role; what state starts with is one too. Left in place are loop bounds, the
    values that a statistic looks for, and numbers that are structure rather than magnitude: 0; 1 outside of comparisons
    (`1 + x`, `1 / x`); operands of `%`, `==`, `!=`, `and`, `or`, `not`, `hash`; indices of arrays, and their strides
    and limits; limits at the bounds of the result; pi and e; the exponent of a base that may be negative, since a
    fraction would make it 0; guards (up to 1e-6 where it is added, or a limit) and sentinels (1e12 and more).
    """
    return _Lifter(program, signature).lifted()


class _Lifter:
    def __init__(self, program: ir.Module, signature: Signature) -> None:
        self.program = program
        self.bounds = _bounds_of_body(program, signature)
        self.limits = (signature.low, signature.high) if isinstance(signature, Value) else ()
        self.layout = {id(number) for function in program.functions for number in _layout_of_arrays(function.body)}
        arguments = {argument.name for argument in signature.arguments}
        self.taken = {*names_of(program), *grammar.BUILT_IN_NAMES, *arguments}
        self.made: list[tuple[str, float]] = []

    def lifted(self) -> ir.Module:
        variables = tuple(replace(v, initial=self.initial(v.initial)) for v in self.program.variables)
        indices = {id(w.index) for f in self.program.handlers for w in ir.writes(f.body) if w.index is not None}
        program = in_program(self.program, lambda e: self.inside(e) if id(e) in indices else self.root(e))
        return replace(program, parameters=(*self.program.parameters, *self.made), variables=variables)

    def initial(self, e: ir.Number | ir.Parameter) -> ir.Number | ir.Parameter:
        return self.parameter("START", e.value) if isinstance(e, ir.Number) and _is_magnitude(e) else e

    def root(self, e: ir.Expression) -> ir.Expression:
        return self.parameter("CONSTANT", e.value) if isinstance(e, ir.Number) and _is_magnitude(e) else self.inside(e)

    def inside(self, e: ir.Expression) -> ir.Expression:
        parts = ir.children(e)
        if isinstance(e, ir.Occurrences):
            return e
        kept = [self.inside(part) for part in parts]
        for index, part in enumerate(parts):
            stem = self.stem(e, index, part)
            if stem is not None and isinstance(part, ir.Number):
                kept[index] = self.parameter(stem, part.value)
        return with_children(e, tuple(kept))

    def stem(self, e: ir.Expression, index: int, part: ir.Expression) -> str | None:
        """Return the name for a number's role at this place of the expression; None where it is to stay."""
        match e:
            case ir.Compare(operators, operands):
                beside = operators[max(index - 1, 0) : index + 1]
                others = [o for o in operands if not isinstance(o, ir.Number)]
                if set(beside) & {"==", "!="} or all(self.is_truth(o) for o in others):
                    return None
                return "THRESHOLD" if _is_magnitude(part) or part == ir.Number(1.0) else None
            case _ if not _is_magnitude(part) or id(part) in self.layout:
                return None
            case ir.Operate("min" | "max") if _value(part) in self.limits:
                return None
            case ir.Operate("modulo" | "and" | "or" | "not" | "truth" | "hash") | ir.Element():
                return None
            case ir.Operate("add" | "subtract" | "min" | "max") if abs(_value(part)) <= _GUARD:
                return None
            case ir.Operate("power", (base, _)) if index == 1 and self.bounds.of(base, {}).low < 0.0:
                return None
            case ir.Operate("power") if index == 0:
                return "BASE"
            case ir.Operate(operation):
                return _STEMS.get(operation, "CONSTANT")
            case _:
                return "CONSTANT"

    def is_truth(self, e: ir.Expression) -> bool:
        found = self.bounds.of(e, {})
        return found.whole and found.low >= 0.0 and found.high <= 1.0

    def parameter(self, stem: str, value: float) -> ir.Parameter:
        name = numbered(stem, self.taken)
        self.taken.add(name)
        self.made.append((name, value))
        return ir.Parameter(name)


def _bounds_of_body(program: ir.Module, signature: Signature) -> Bounds:
    """Return bounds that allow any value for locals and helpers."""
    bounds = declared_bounds(program, signature)
    return replace(bounds, helpers={f.name: ANYTHING for f in program.functions})


def _layout_of_arrays(body: tuple[ir.Statement, ...]) -> Iterator[ir.Number]:
    """Yield the strides and limits of indices: whole numbers in what they, and the locals that they read, are."""
    pending = [e.index for e in ir.expressions(body) if isinstance(e, ir.Element)]
    pending += [write.index for write in ir.writes(body) if write.index is not None]
    names: set[str] = set()
    while pending:
        for part in ir.parts(pending.pop()):
            match part:
                case ir.Operate("add" | "subtract" | "multiply" | "min" | "max", operands):
                    yield from (o for o in operands if isinstance(o, ir.Number) and o.value.is_integer())
                case ir.Local(name) if name not in names:
                    names.add(name)
                    pending += [s.value for s in ir.statements(body) if isinstance(s, ir.Assign) and s.name == name]
                case _:
                    pass


def _value(e: ir.Expression) -> float:
    return e.value if isinstance(e, ir.Number) else math.nan


def _is_magnitude(e: ir.Expression) -> bool:
    return (
        isinstance(e, ir.Number) and e.value not in (0.0, 1.0, *grammar.CONSTANTS.values()) and abs(e.value) < _SENTINEL
    )


def lowered(program: ir.Module, names: frozenset[str]) -> ir.Module:
    """Substitute these parameters by their numbers: the inverse of `lift`."""
    values = {name: value for name, value in program.parameters if name in names}

    def put_back(e: ir.Expression) -> ir.Expression:
        return ir.Number(values[e.name]) if isinstance(e, ir.Parameter) and e.name in values else e

    def started(variable: ir.Variable) -> ir.Variable:
        match variable.initial:
            case ir.Parameter(name) if name in values:
                return replace(variable, initial=ir.Number(values[name]))
            case _:
                return variable

    kept = tuple((name, value) for name, value in program.parameters if name not in names)
    variables = tuple(started(v) for v in program.variables)
    return replace(in_program(program, lambda e: from_below(e, put_back)), parameters=kept, variables=variables)


@dataclass(frozen=True, slots=True)
class Knob:
    """A tunable number. `low` and `high` are inclusive bounds; a parameter of the program has none.

    `name` is a parameter's name, or the statistic as it was written with the name of its argument:
    `obj.count.ewma(0.3) alpha`.
    """

    name: str
    value: float
    low: float = -math.inf
    high: float = math.inf

    @property
    def is_bounded(self) -> bool:
        return math.isfinite(self.low)


@dataclass(frozen=True, slots=True)
class Adjustable:
    """A program, and its tunable numbers: its parameters, then its statistics' arguments.

    A statistic's alpha and p are knobs; the number of observations that it stores (n, k) is not.
    """

    program: ir.Module
    parameters: tuple[Knob, ...]
    arguments: tuple[tuple[ir.Statistic, int, Knob], ...]

    @property
    def knobs(self) -> tuple[Knob, ...]:
        return (*self.parameters, *(knob for _, _, knob in self.arguments))

    def with_values(self, values: Sequence[float]) -> ir.Module:
        """Return the program with these values of the knobs, in order. Raises ValueError if their number differs."""
        if len(values) != len(self.knobs):
            raise ValueError(f"{len(values)} values for {len(self.knobs)} knobs")
        named = {knob.name: value for knob, value in zip(self.parameters, values, strict=False)}
        parameters = tuple((name, named.get(name, old)) for name, old in self.program.parameters)
        program = replace(self.program, parameters=parameters)
        changed: dict[ir.Statistic, ir.Statistic] = {}
        for (statistic, index, _), value in zip(self.arguments, values[len(self.parameters) :], strict=True):
            made = list(changed.get(statistic, statistic).arguments)
            made[index] = value
            changed[statistic] = replace(statistic, arguments=tuple(made))
        return _with_statistics(program, changed) if changed else program


def adjustable(program: ir.Module) -> Adjustable:
    """Return the program with its tunable numbers; unused parameters are excluded."""
    held = [e for function in program.functions for e in ir.expressions(function.body)]
    parameters = tuple(Knob(name, value) for name, value in program.without_unused_parameters().parameters)
    asked = [e.statistic if isinstance(e, ir.Occurrences) else e for e in held]
    statistics = dict.fromkeys(s for s in asked if isinstance(s, ir.Statistic))
    return Adjustable(program, parameters, tuple(knob for s in statistics for knob in _arguments(s)))


def _arguments(statistic: ir.Statistic) -> Iterator[tuple[ir.Statistic, int, Knob]]:
    written = ", ".join(f"{a:g}" for a in statistic.arguments)
    owner = f"{statistic.scope} " if statistic.scope != "entity" else ""
    for index, argument in enumerate(grammar.STATISTICS[statistic.kind].arguments):
        if not argument.whole:
            name = f"{owner}{statistic.feature}.{statistic.kind}({written}) {argument.name}"
            yield statistic, index, Knob(name, statistic.arguments[index], argument.low, argument.high)


def _with_statistics(program: ir.Module, changed: Mapping[ir.Statistic, ir.Statistic]) -> ir.Module:
    def change(e: ir.Expression) -> ir.Expression:
        match e:
            case ir.Statistic():
                return changed.get(e, e)
            case ir.Occurrences(statistic, _):
                return replace(e, statistic=changed.get(statistic, statistic))
            case _:
                return e

    return in_program(program, lambda e: from_below(e, change))
