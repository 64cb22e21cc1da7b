"""Unit inference for expressions, and detection of unit clashes."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from vulcan.anvil import ir
from vulcan.task import Entity, Feature, History, Signature

Unit = tuple[tuple[str, float], ...]
"""Unit names (singular) with exponents, sorted by name: bytes per request is (("byte", 1), ("request", -1))."""

UNITLESS: Unit = ()

_PLAIN = frozenset({"", "1", "none", "ratio", "share", "fraction", "probability", "bool", "flag", "percent"})
_PER = re.compile(r"\s*/\s*|\s+(?:a|an|per)\s+")
_KEEP = frozenset({"abs", "negate", "plus", "round", "trunc", "floor", "ceil"})
_ALIKE = frozenset({"add", "subtract", "min", "max", "modulo"})
_SCALED = frozenset({"multiply", "divide", "floor_divide", "power", "sqrt", "log", "log1p", "log2", "log10"})
_LOGARITHMS = frozenset({"log", "log1p", "log2", "log10"})
_TRUTHS = frozenset({"and", "or", "not", "truth"})


@dataclass(frozen=True, slots=True)
class Units:
    """The unit of everything a program can read, by name; None where any unit fits.

    Any unit fits a feature on the result's own scale, such as the priority of the last evicted object: the program
    itself decides the unit of the result.
    """

    read: Mapping[str, Unit | None]
    points: frozenset[str] = frozenset()
    """Features with an arbitrary zero, such as the time of an access.

    They may be compared, subtracted and weighted by constants, but not multiplied by anything else or put under a root.
    """


def declared_units(signature: Signature) -> Units:
    read: dict[str, Unit | None] = {name: _declared(f, signature) for name, f in signature.features()}
    for argument in signature.arguments:
        if isinstance(argument, History):
            owner = next(a for a in signature.arguments if isinstance(a, Entity) and a.name == argument.entity)
            read[f"{argument.name}.contains"] = UNITLESS
            read[f"{argument.name}.count"] = read[f"{owner.name}.{argument.count_of}"]
            read[f"{argument.name}.age"] = named_unit(argument.age_unit)
    return Units(read)


def on_result_scale(feature: Feature, signature: Signature) -> bool:
    """Check whether the feature is declared in the unit of the result, which has the function's name."""
    return feature.unit == signature.function


def _declared(feature: Feature, signature: Signature) -> Unit | None:
    return None if on_result_scale(feature, signature) else named_unit(feature.unit)


def named_unit(name: str) -> Unit:
    """Parse a declared unit: `bytes`, `packets a second`, `bytes/s`, `packets per round`."""
    over, *under = _PER.split(name.strip().lower())
    made = times(UNITLESS, _single(over))
    for part in under:
        made = times(made, _single(part), -1.0)
    return made


def _single(name: str) -> Unit:
    plain = name.strip()
    if plain in _PLAIN:
        return UNITLESS
    return ((plain.removesuffix("s") if len(plain) > 2 else plain, 1.0),)


def times(a: Unit, b: Unit, exponent: float = 1.0) -> Unit:
    """Return a * b ** exponent."""
    made = dict(a)
    for name, power in b:
        made[name] = round(made.get(name, 0.0) + exponent * power, 6)
    return tuple(sorted((name, power) for name, power in made.items() if power))


@dataclass
class _Inference:
    units: Units
    parameters: Mapping[str, float]
    clashes: list[ir.Expression] = field(default_factory=list)

    def of(self, e: ir.Expression) -> Unit | None:
        match e:
            case ir.Read(name) | ir.Statistic(feature=name):
                return self.units.read[name]
            case ir.Occurrences(statistic, value):
                self.alike(e, [self.of(statistic), self.of(value)])
                return UNITLESS
            case ir.Query(history, query):
                return self.units.read[f"{history}.{query}"]
            case ir.Compare(_, operands):
                self.alike(e, [self.of(o) for o in operands])
                return UNITLESS
            case ir.Choose(test, then, otherwise):
                self.of(test)
                return self.alike(e, [self.of(then), self.of(otherwise)])
            case ir.Operate():
                return self.operation(e)
            case ir.Element():
                return None  # any number is an index
            case _:
                for part in ir.children(e):
                    self.of(part)
                return None

    def operation(self, e: ir.Operate) -> Unit | None:
        found = [self.of(o) for o in e.operands]
        first = found[0]
        name = e.operation
        if name in _SCALED and any(self.is_point(o) for o in e.operands) and not self.is_weighted(e):
            self.clashes.append(e)
        if name in _ALIKE:
            return self.alike(e, found)
        if name in _KEEP:
            return first
        if name in ("multiply", "divide", "floor_divide"):
            return self.product(e, found)
        if name == "sqrt":
            return times(UNITLESS, first, 0.5) if first is not None else None
        if name == "power":
            return self.power(e, first, found[1])
        if name not in _LOGARITHMS and name not in _TRUTHS and first:
            self.clashes.append(e)  # such as the exponential of bytes
        return UNITLESS

    def is_point(self, e: ir.Expression) -> bool:
        return isinstance(e, ir.Read | ir.Statistic) and e.feature in self.units.points

    def is_weighted(self, e: ir.Operate) -> bool:
        factors = [constant(o, self.parameters) for o in e.operands]
        return (e.operation == "multiply" and any(f is not None for f in factors)) or (
            e.operation == "divide" and factors[1] is not None
        )

    def alike(self, e: ir.Expression, units: list[Unit | None]) -> Unit | None:
        known = [unit for unit in units if unit is not None]
        if any(unit != known[0] for unit in known):
            self.clashes.append(e)
            return None
        return known[0] if known else None

    def product(self, e: ir.Operate, units: list[Unit | None]) -> Unit | None:
        left, right = units
        sign = 1.0 if e.operation == "multiply" else -1.0
        if right is None:
            return left
        return times(left or UNITLESS, right, sign)

    def power(self, e: ir.Operate, base: Unit | None, exponent: Unit | None) -> Unit | None:
        if exponent:
            self.clashes.append(e)
            return None
        if not base:
            return base
        value = constant(e.operands[1], self.parameters)
        if value is None:
            self.clashes.append(e)
            return None
        return times(UNITLESS, base, value)


def constant(e: ir.Expression, parameters: Mapping[str, float]) -> float | None:
    """Return the value of a number or parameter, possibly negated; None for anything else."""
    match e:
        case ir.Number(value):
            return value
        case ir.Parameter(name):
            return parameters[name]
        case ir.Operate("negate", (operand,)):
            inner = constant(operand, parameters)
            return -inner if inner is not None else None
        case _:
            return None


def unit_of(e: ir.Expression, units: Units, parameters: Mapping[str, float]) -> Unit | None:
    """Return the unit of an expression; None if any fits, as for a constant, or it cannot be inferred."""
    return _Inference(units, parameters).of(e)


def clashes(e: ir.Expression, units: Units, parameters: Mapping[str, float]) -> list[ir.Expression]:
    """Return the sums, comparisons, choices, powers etc. whose operands have incompatible units."""
    inference = _Inference(units, parameters)
    inference.of(e)
    return inference.clashes
