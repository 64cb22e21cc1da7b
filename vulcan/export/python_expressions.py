"""Expressions of a program as Python's: plain operators where bounds show them safe, small functions elsewhere.

What is written computes, on floats, exactly what `vulcan.anvil.semantics` defines.
"""

from __future__ import annotations

import ast
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from vulcan.anvil import grammar
from vulcan.anvil import program as p
from vulcan.anvil.flow.intervals import Bounds, Environment, Interval
from vulcan.anvil.semantics import LARGEST
from vulcan.export.statistic_names import Spelling
from vulcan.task import History, Signature

_COMPARISONS = {spelled: kind for kind, spelled in grammar.COMPARISONS.items()}
_BINARY = {operation.name: kind for kind, operation in grammar.BINARY.items()}
_ROUNDING = {"floor": "math.floor", "ceil": "math.ceil", "round": "round", "trunc": "int"}


@dataclass
class Expressions:
    """Turns expressions into Python's syntax trees.

    `names` are the program's own, as they are called in the module; `statistics` says how each statistic is
    read. `runtime` collects the functions of `vulcan.export.runtime` that were needed.
    """

    signature: Signature
    names: Mapping[str, str]
    statistics: Mapping[p.Statistic, Spelling]
    bounds: Bounds
    environment: Environment = field(default_factory=dict)
    runtime: set[str] = field(default_factory=set)

    def bounds_of(self, e: p.Expression) -> Interval:
        return self.bounds.of(e, self.environment)

    def value(self, e: p.Expression) -> ast.expr:
        """The expression where its value counts: always a float."""
        match e:
            case p.Number(value):
                return _number(value)
            case p.Parameter(name) | p.Local(name):
                return ast.Name(self.names[name])
            case p.Read(feature):
                return _dotted(feature)
            case p.Statistic():
                return self.statistic(e)
            case p.Occurrences(statistic, looked_for):
                return self.statistic(statistic, self.value(looked_for))
            case p.Query(history, query):
                return _call(f"{history}.{query}", _dotted(self.key(history)))
            case p.Choose(test, then, otherwise):
                return ast.IfExp(self.truth(test), self.value(then), self.value(otherwise))
            case p.Call(function, arguments):
                return _call(self.names[function], *map(self.value, arguments))
            case p.Compare() | p.Operate("not"):
                return _call("float", self.truth(e))
            case p.Operate("truth", (operand,)):
                return _call("float", ast.Compare(self.value(operand), [ast.NotEq()], [_number(0.0)]))
            case p.Operate(operation, operands):
                result = self.bounds_of(e)
                inner = [self.bounds_of(operand) for operand in operands]
                return _WRITERS[operation](self, [self.value(operand) for operand in operands], inner, result)

    def truth(self, e: p.Expression) -> ast.expr:
        """The expression where only counts whether it is 0."""
        match e:
            case p.Compare(operators, operands):
                first, *others = map(self.value, operands)
                return ast.Compare(first, [_COMPARISONS[op]() for op in operators], others)
            case p.Operate("and" | "or" as operation, operands):
                return _boolean(operation, [self.truth(operand) for operand in operands])
            case p.Operate("not", (operand,)):
                return ast.UnaryOp(ast.Not(), self.truth(operand))
            case p.Operate("truth", (operand,)):
                return self.truth(operand)
            case _:
                return self.value(e)

    def statistic(self, statistic: p.Statistic, *looked_for: ast.expr) -> ast.expr:
        spelled = self.statistics[statistic]
        if not spelled.is_call:
            return _dotted(spelled.attribute)
        kinds = grammar.STATISTICS[statistic.kind].arguments
        numbers = (int(x) if kind.whole else x for x, kind in zip(spelled.arguments, kinds, strict=False))
        return _call(spelled.attribute, *looked_for, *map(ast.Constant, numbers))

    def key(self, history: str) -> str:
        asked = next(a for a in self.signature.arguments if isinstance(a, History) and a.name == history)
        entity = self.signature.entity
        return f"{asked.entity}.{entity.key if entity else ''}"

    def guarded(self, function: str, *operands: ast.expr) -> ast.expr:
        """A call of a function of the runtime."""
        self.runtime.add(function)
        return _call(function, *operands)

    def saturated(self, e: ast.expr, result: Interval) -> ast.expr:
        return e if result.magnitude < LARGEST else self.guarded("_saturate", e)


_Writer = Callable[[Expressions, list[ast.expr], list[Interval], Interval], ast.expr]


def _arithmetic(operation: str) -> _Writer:
    return lambda w, e, _, result: w.saturated(ast.BinOp(e[0], _BINARY[operation](), e[1]), result)


def _by_divisor(operation: str) -> _Writer:
    def write(w: Expressions, e: list[ast.expr], inner: list[Interval], result: Interval) -> ast.expr:
        if inner[1].has_zero:
            return w.guarded(f"_{operation}", *e)
        plain = ast.BinOp(e[0], _BINARY[operation](), e[1])
        return plain if operation == "modulo" else w.saturated(plain, result)

    return write


def _power(w: Expressions, e: list[ast.expr], inner: list[Interval], result: Interval) -> ast.expr:
    base, exponent = inner
    real = base.low > 0.0 or (base.low >= 0.0 and exponent.low >= 0.0)
    if real and result.magnitude < LARGEST:
        return ast.BinOp(e[0], ast.Pow(), e[1])
    return w.guarded("_power", *e)


def _fold(operation: str) -> _Writer:
    return lambda w, e, *_: _boolean(operation, e)


def _plain(function: str) -> _Writer:
    return lambda w, e, *_: _call(function, *e)


def _above(function: str, least: float) -> _Writer:
    """A function of `math` that is 0 at and below `least`."""
    return lambda w, e, inner, _: (
        _call(f"math.{function}", *e) if inner[0].low > least else w.guarded(f"_{function}", *e)
    )


def _exponential(function: str) -> _Writer:
    return lambda w, e, _, result: (
        _call(f"math.{function}", *e) if result.magnitude < LARGEST else w.guarded(f"_{function}", *e)
    )


def _rounding(operation: str) -> _Writer:
    def write(w: Expressions, e: list[ast.expr], inner: list[Interval], result: Interval) -> ast.expr:
        if inner[0].whole:
            return e[0]
        if inner[0].low > 0.0:  # Python's integers have no -0
            return _call("float", _call(_ROUNDING[operation], *e))
        return w.guarded({"trunc": "_truncate"}.get(operation, f"_{operation}"), *e)

    return write


_WRITERS: dict[str, _Writer] = {
    **{name: _arithmetic(name) for name in ("add", "subtract", "multiply")},
    **{name: _by_divisor(name) for name in ("divide", "floor_divide", "modulo")},
    "power": _power,
    "negate": lambda w, e, *_: ast.UnaryOp(ast.USub(), e[0]),
    "plus": lambda w, e, *_: e[0],
    "and": _fold("and"),
    "or": _fold("or"),
    **{name: _plain(name) for name in ("min", "max", "abs")},
    **{name: _rounding(name) for name in _ROUNDING},
    **{name: _above(name, 0.0) for name in ("sqrt", "log", "log2", "log10")},
    "log1p": _above("log1p", -1.0),
    **{name: _exponential(name) for name in ("exp", "expm1")},
    **{name: _plain(f"math.{name}") for name in ("tanh", "atan", "sin", "cos")},
}


def _number(value: float) -> ast.expr:
    if value == math.pi:
        return _dotted("math.pi")
    if value == math.e:
        return _dotted("math.e")
    if math.copysign(1.0, value) < 0.0:
        return ast.UnaryOp(ast.USub(), ast.Constant(-value))
    return ast.Constant(float(value))


def _dotted(name: str) -> ast.expr:
    first, *rest = name.split(".")
    expression: ast.expr = ast.Name(first)
    for part in rest:
        expression = ast.Attribute(expression, part)
    return expression


def _call(function: str, *arguments: ast.expr) -> ast.expr:
    return ast.Call(_dotted(function), list(arguments), [])


def _boolean(operation: str, operands: list[ast.expr]) -> ast.expr:
    return ast.BoolOp(ast.And() if operation == "and" else ast.Or(), operands)
