"""Python source of a policy's functions, which compute on floats exactly what `vulcan.anvil.semantics` defines.

The functions take the task's arguments. Plain features are read as attributes (`obj.size`), and so are statistics
that are one number (`obj.count_ewma_0_3`); others are methods of a window, a tally or a population
(`obj.size_last_8.mean()`, `cache.id_tally_512.contains(obj.id)`, `cache.size_percentile(0.9)`), and a history is
queried as in Anvil (`ghost.contains(obj.id)`). All of these must be floats.

Anvil's total arithmetic becomes plain operators where the bounds of values show them safe, and small runtime functions
elsewhere. The policy's own names are changed where they collide with those that the module needs.
"""

from __future__ import annotations

import ast
import builtins
import math
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field

from vulcan.anvil import ir
from vulcan.anvil.analysis import intervals
from vulcan.anvil.analysis.intervals import Bounds, Environment, Interval
from vulcan.anvil.grammar import grammar
from vulcan.anvil.semantics import MAX
from vulcan.export.dead_code import without_unused
from vulcan.export.python.line_breaking import fitted
from vulcan.export.python.statistic_names import Spelling, StatisticNames
from vulcan.export.quoting import docstring
from vulcan.task import History, Scalar, Signature

_COMPARISONS = {spelled: kind for kind, spelled in grammar.COMPARISONS.items()}
_BINARY = {operation.name: kind for kind, operation in grammar.BINARY.items()}
_ROUNDING = {"floor": "math.floor", "ceil": "math.ceil", "round": "round", "trunc": "int"}


@dataclass
class Expressions:
    """A translator of expressions to Python syntax trees.

    `names` maps the program's own names to those in the module; `statistics` gives the spelling of each statistic.
    `runtime` collects the required functions of `vulcan.export.python.runtime`.
    """

    signature: Signature
    names: Mapping[str, str]
    statistics: Mapping[ir.Statistic, Spelling]
    bounds: Bounds
    environment: Environment = field(default_factory=dict)
    runtime: set[str] = field(default_factory=set)

    def bounds_of(self, e: ir.Expression) -> Interval:
        return self.bounds.of(e, self.environment)

    def value(self, e: ir.Expression) -> ast.expr:
        """Translate an expression for its value, which is always a float."""
        match e:
            case ir.Number(value):
                return _number(value)
            case ir.Parameter(name) | ir.Local(name):
                return ast.Name(self.names[name])
            case ir.Read(feature):
                return _dotted(feature)
            case ir.Statistic():
                return self.statistic(e)
            case ir.Occurrences(statistic, looked_for):
                return self.statistic(statistic, self.value(looked_for))
            case ir.Query(history, query):
                return _call(f"{history}.{query}", _dotted(self.key(history)))
            case ir.Choose(test, then, otherwise):
                return ast.IfExp(self.truth(test), self.value(then), self.value(otherwise))
            case ir.Call(function, arguments):
                return _call(self.names[function], *map(self.value, arguments))
            case ir.Cell() | ir.Element() | ir.Draw():
                raise AssertionError(f"{e}: policies with state are refused before")
            case ir.Compare() | ir.Operate("not"):
                return _call("float", self.truth(e))
            case ir.Operate("truth", (operand,)):
                return _call("float", ast.Compare(self.value(operand), [ast.NotEq()], [_number(0.0)]))
            case ir.Operate(operation, operands):
                result = self.bounds_of(e)
                inner = [self.bounds_of(operand) for operand in operands]
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


_EASILY_MISREAD = frozenset({"l", "O", "I"})  # E741 of pycodestyle


def renamed(program: ir.Module, used_names: Collection[str]) -> Mapping[str, str]:
    """Map each name that the program chose (parameters, helpers, their arguments, locals) to its exported name.

    A name that is a Python builtin, easily misread, or in `used_names` gets underscores appended; all others stay.
    """
    reserved = {*dir(builtins), *_EASILY_MISREAD, *used_names}
    chosen = _chosen(program)
    result: dict[str, str] = {}
    for name in sorted(chosen):
        new = name
        if name.startswith("__") and name.endswith("__"):  # it could have a special meaning in Python
            new = name.strip("_") + "_"
        while new in reserved or (new != name and new in chosen):
            new += "_"
        result[name] = new
        reserved.add(new)
    return result


def _chosen(program: ir.Module) -> set[str]:
    names = {name for name, _ in program.parameters}
    for function in program.functions:
        names |= ir.assigned_names(function.body)
        if function not in program.entries:
            names |= {function.name, *function.arguments}
    return names


_INDENT = "    "


@dataclass(frozen=True, slots=True)
class PythonSource:
    """The text of a policy's parameters and functions, and the names of the runtime functions they call."""

    parameters: str
    functions: tuple[str, ...]
    runtime: frozenset[str]


def python_source(
    program: ir.Module,
    statistics: StatisticNames,
    signature: Signature,
    *,
    used_names: Collection[str] = (),
    annotations: Mapping[str, str] | None = None,
    with_state: Collection[str] = (),
) -> PythonSource:
    """Generate the source of a checked program.

    No name that the policy chose will be one of `used_names`. `annotations` are types of the task's arguments, by name;
    the signature has the arguments of all functions. A function that reads statistics of the system which belong to
    none of its arguments takes one more, as the last; so does every function in `with_state`.
    """
    types = {a.name: "float" for a in signature.arguments if isinstance(a, Scalar)} | dict(annotations or {})
    shown = [argument.name for argument in signature.arguments]
    if (statistics.has_state or with_state) and statistics.state not in shown:
        shown.append(statistics.state)
        types[statistics.state] = '"_Statistics"'
    reserved = {*used_names, "_", *shown, *(entry.name for entry in program.entries)}
    expressions = Expressions(
        signature, renamed(program, reserved), statistics.spellings, intervals.declared_bounds(program, signature)
    )
    functions = []
    for function in (*program.helpers, program.entry, *program.entries[:-1]):
        if function not in program.entries:
            arguments = [f"{expressions.names[name]}: float" for name in function.arguments]
        else:
            taking = taken_by(function, statistics.state, function.name in with_state)
            arguments = [f"{name}: {types[name]}" if name in types else name for name in taking]
        functions.append("\n".join(_FunctionWriter(expressions, function).lines(arguments)))
    parameters = [f"{expressions.names[name]} = {value!r}" for name, value in program.parameters]
    return PythonSource("\n".join(parameters), tuple(functions), frozenset(expressions.runtime))


def taken_by(entry: ir.Function, state: str, always: bool = False) -> list[str]:
    """Return the exported arguments of an entry function.

    `state` is among them if the function reads statistics of the system, which belong to it, or if `always`.
    """
    asked = (e.statistic if isinstance(e, ir.Occurrences) else e for e in ir.expressions(entry.body))
    asks = always or any(isinstance(e, ir.Statistic) and e.scope != "entity" for e in asked)
    return [*entry.arguments, *([state] if asks and state not in entry.arguments else [])]


class _FunctionWriter:
    """A writer of one function, which tracks the bounds of names on its walk, as the native compiler does."""

    def __init__(self, expressions: Expressions, function: ir.Function) -> None:
        self.expressions = expressions
        self.function = without_unused(function)
        self.names = expressions.names
        self.continues = True
        self.returned: Interval | None = None
        expressions.environment = {}

    def lines(self, arguments: list[str]) -> Iterator[str]:
        name = self.names.get(self.function.name, self.function.name)
        yield f"def {name}({', '.join(arguments)}) -> float:"
        if self.function.documentation:
            yield from docstring(self.function.documentation, _INDENT).split("\n")
        yield from self.block(self.function.body, _INDENT)
        helpers = self.expressions.bounds.helpers
        self.expressions.bounds.helpers = {**helpers, self.function.name: self.returned or intervals.ANYTHING}

    def block(self, body: tuple[ir.Statement, ...], indent: str) -> Iterator[str]:
        for statement in body:
            if self.continues:
                yield from self.statement(statement, indent)

    def statement(self, statement: ir.Statement, indent: str) -> Iterator[str]:
        match statement:
            case ir.Assign(name, value):
                yield from fitted(f"{indent}{self.names[name]} = ", self.expressions.value(value))
                self.expressions.environment[name] = self.expressions.bounds_of(value)
            case ir.Return(value):
                bounds = self.expressions.bounds_of(value)
                self.returned = bounds if self.returned is None else self.returned | bounds
                yield from fitted(f"{indent}return ", self.expressions.value(value))
                self.continues = False
            case ir.If():
                yield from self.branch(statement, indent, "if")
            case ir.Loop():
                yield from self.loop(statement, indent)
            case ir.Break() | ir.Continue():
                yield indent + ("break" if isinstance(statement, ir.Break) else "continue")
                self.continues = False

    def branch(self, statement: ir.If, indent: str, word: str) -> Iterator[str]:
        expressions = self.expressions
        yield from fitted(f"{indent}{word} ", expressions.truth(statement.test), ":")
        before = dict(expressions.environment)
        yield from self.block(statement.then, indent + _INDENT)
        then_goes_on, after_then = self.continues, expressions.environment
        expressions.environment, self.continues = before, True
        match statement.otherwise:
            case (ir.If() as following,):
                yield from self.branch(following, indent, "elif")
            case ():
                pass
            case otherwise:
                yield indent + "else:"
                yield from self.block(otherwise, indent + _INDENT)
        if then_goes_on:
            after = expressions.environment
            expressions.environment = intervals.join(after_then, after) if self.continues else after_then
        self.continues = self.continues or then_goes_on

    def loop(self, loop: ir.Loop, indent: str) -> Iterator[str]:
        expressions = self.expressions
        bounds = [loop.stop] if (loop.start, loop.step) == (0, 1) else [loop.start, loop.stop]
        turns = f"range({', '.join(map(str, bounds if loop.step == 1 else [loop.start, loop.stop, loop.step]))})"
        if any(isinstance(e, ir.Local) and e.name == loop.name for e in ir.expressions(self.function.body)):
            yield f"{indent}for {self.names[loop.name]} in map(float, {turns}):"
        else:
            yield f"{indent}for _ in {turns}:"
        expressions.environment = expressions.bounds.after_loop(loop, expressions.environment)
        widened = dict(expressions.environment)
        yield from self.block(loop.body, indent + _INDENT) if loop.body else [indent + _INDENT + "pass"]
        expressions.environment, self.continues = widened, True
