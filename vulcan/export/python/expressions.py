"""Expressions of a policy as Python syntax trees.

Anvil's total arithmetic becomes plain operators where the bounds of values show them safe, and small runtime functions
elsewhere.
"""

from __future__ import annotations

import ast
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from vulcan.anvil import ir
from vulcan.anvil.analysis.intervals import ANYTHING, OPERATION_BOUNDS, Interval
from vulcan.anvil.grammar import grammar
from vulcan.anvil.semantics import MAX, wrap
from vulcan.anvil.unparse import key_of
from vulcan.export.python.state import StateNames
from vulcan.task import Signature

_COMPARISONS = {spelled: kind for kind, spelled in grammar.COMPARISONS.items()}
_BINARY = {operation.name: kind for kind, operation in grammar.BINARY.items()}
_ROUNDING = {"floor": "math.floor", "ceil": "math.ceil", "round": "round", "trunc": "int"}


@dataclass
class Expressions:
    """A translator of expressions to Python syntax trees.

    `names` maps the program's own names to those in the module; `statistics` has the call of each statistic, `values`
    the bounds of each expression by its identity. `owner` is the argument that the system's statistics and the policy's
    `state` belong to, and `own` how the function at hand calls it. `runtime` collects the required functions of
    `vulcan.anvil.arithmetic`.
    """

    signature: Signature
    names: Mapping[str, str]
    statistics: Mapping[ir.Statistic, tuple[str, tuple[float, ...]]]
    values: Mapping[int, Interval]
    owner: str
    state: StateNames
    own: str = ""
    runtime: set[str] = field(default_factory=set)

    def bounds_of(self, e: ir.Expression) -> Interval:
        return self.values.get(id(e), ANYTHING)

    def value(self, e: ir.Expression) -> ast.expr:
        """Translate an expression for its value, which is always a float."""
        match e:
            case ir.Number(value):
                return _number(value)
            case ir.Parameter(name) | ir.Local(name):
                return ast.Name(self.names[name])
            case ir.Read(feature):
                return self.dotted(feature)
            case ir.Statistic():
                return self.statistic(e)
            case ir.Occurrences(statistic, looked_for):
                return self.statistic(statistic, self.value(looked_for))
            case ir.Query(history, query):
                return _call(f"{history}.{query}", self.dotted(key_of(self.signature) or ""))
            case ir.Choose(test, then, otherwise):
                return ast.IfExp(self.truth(test), self.value(then), self.value(otherwise))
            case ir.Call(function, arguments):
                state = [ast.Name(self.own)] if function in self.state.reading else []
                return _call(self.names[function], *map(self.value, arguments), *state)
            case ir.Cell(name):
                return self.variable(name)
            case ir.Element(name, index):
                return self.variable(name, index)
            case ir.Draw():
                return _call(f"{self.own}._random.next")
            case ir.Compare() | ir.Operate("not"):
                return _call("float", self.truth(e))
            case ir.Operate("truth", (operand,)):
                return _call("float", ast.Compare(self.value(operand), [ast.NotEq()], [_number(0.0)]))
            case ir.Operate(operation, operands):
                inner = [self.bounds_of(operand) for operand in operands]
                result = OPERATION_BOUNDS[operation](*inner)
                return _WRITERS[operation](self, [self.value(operand) for operand in operands], inner, result)

    def truth(self, e: ir.Expression) -> ast.expr:
        """Translate an expression for its truth (nonzero) only."""
        match e:
            case ir.Compare(operators, operands):
                first, *others = map(self.value, operands)
                return ast.Compare(first, [_COMPARISONS[op]() for op in operators], others)
            case ir.Operate("and" | "or" as operation, operands):
                return _boolean(operation, [self.truth(operand) for operand in operands])
            case ir.Operate("not", (operand,)):
                return ast.UnaryOp(ast.Not(), self.truth(operand))
            case ir.Operate("truth", (operand,)):
                return self.truth(operand)
            case _:
                return self.value(e)

    def statistic(self, statistic: ir.Statistic, *looked_for: ast.expr) -> ast.expr:
        method, arguments = self.statistics[statistic]
        kinds = grammar.STATISTICS[statistic.kind].arguments
        numbers = (int(x) if kind.whole else x for x, kind in zip(arguments, kinds, strict=False))
        return ast.Call(self.dotted(method), [*looked_for, *map(ast.Constant, numbers)], [])

    def dotted(self, name: str) -> ast.expr:
        """Return a name of Anvil, whose owner may be called otherwise in this function."""
        first, dot, rest = name.partition(".")
        return _dotted(f"{self.own if first == self.owner and dot else first}{dot}{rest}")

    def variable(self, name: str, index: ir.Expression | None = None) -> ast.expr:
        """Return a register, a field or an array's element, to be read or written."""
        entity = next((v.name.partition(".")[0] for v in self.state.variables if v.name == name and v.is_field), "")
        attribute = _dotted(f"{entity or self.own}.{self.state.attributes[name]}")
        return attribute if index is None else ast.Subscript(attribute, self.wrapped(name, index))

    def wrapped(self, array: str, index: ir.Expression) -> ast.expr:
        """Return an array's index: rounded down, and wrapped to its length where it may be outside."""
        length = next(v.length or 0 for v in self.state.variables if v.name == array)
        bounds = self.bounds_of(index)
        if isinstance(index, ir.Number):
            return ast.Constant(wrap(index.value, length))
        whole = _call("int" if bounds.whole else "math.floor", self.value(index))
        if bounds.low >= 0.0 and bounds.high < length:
            return whole
        return ast.BinOp(whole, ast.Mod(), ast.Constant(length))

    def guarded(self, function: str, *operands: ast.expr) -> ast.expr:
        """Return a call of a runtime function."""
        self.runtime.add(function)
        return _call(function, *operands)

    def saturated(self, e: ast.expr, result: Interval) -> ast.expr:
        return e if result.magnitude < MAX else self.guarded("_saturate", e)


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
    if real and result.magnitude < MAX:
        return ast.BinOp(e[0], ast.Pow(), e[1])
    return w.guarded("_power", *e)


def _fold(operation: str) -> _Writer:
    return lambda w, e, *_: _boolean(operation, e)


def _plain(function: str) -> _Writer:
    return lambda w, e, *_: _call(function, *e)


def _above(function: str, bound: float) -> _Writer:
    """Return the writer of a `math` function whose total version is 0 at and below `bound`."""
    return lambda w, e, inner, _: (
        _call(f"math.{function}", *e) if inner[0].low > bound else w.guarded(f"_{function}", *e)
    )


def _exponential(function: str) -> _Writer:
    return lambda w, e, _, result: (
        _call(f"math.{function}", *e) if result.magnitude < MAX else w.guarded(f"_{function}", *e)
    )


def _rounding(operation: str) -> _Writer:
    def write(w: Expressions, e: list[ast.expr], inner: list[Interval], result: Interval) -> ast.expr:
        if inner[0].whole:
            return e[0]
        if inner[0].low > 0.0:  # Python's integers have no -0.0
            return _call("float", _call(_ROUNDING[operation], *e))
        return w.guarded({"trunc": "_truncate"}.get(operation, f"_{operation}"), *e)

    return write


def _hash(w: Expressions, e: list[ast.expr], *_: object) -> ast.expr:
    w.runtime.add("_mix")
    return w.guarded("_hash", *e)


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
    "hash": _hash,
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
