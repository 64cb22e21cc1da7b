"""The functions of a policy as Python source, with Anvil's total arithmetic.

The functions take the task's arguments. Plain features are read as attributes (`obj.size`), and so are statistics
that are one number (`obj.count_ewma_0_3`); others are asked of a window, a tally or a population
(`obj.size_last_8.mean()`, `cache.id_tally_512.contains(obj.id)`, `cache.size_percentile(0.9)`), and a history as it
was in Anvil (`ghost.contains(obj.id)`). All of these have to be floats.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass

from vulcan.anvil import program as p
from vulcan.anvil.flow import intervals
from vulcan.anvil.flow.intervals import Interval
from vulcan.export.fit import fitted
from vulcan.export.names import renamed
from vulcan.export.python_expressions import Expressions
from vulcan.export.quote import docstring
from vulcan.export.statistic_names import StatisticNames
from vulcan.export.unused import without_unused
from vulcan.task import Scalar, Signature

_INDENT = "    "


@dataclass(frozen=True, slots=True)
class PythonSource:
    """The text of a policy's functions, and the names of the runtime's functions that they call."""

    parameters: str
    functions: tuple[str, ...]
    runtime: frozenset[str]


def python_source(
    program: p.Program,
    statistics: StatisticNames,
    signature: Signature,
    *,
    taken: Collection[str] = (),
    annotations: Mapping[str, str] | None = None,
    with_state: Collection[str] = (),
) -> PythonSource:
    """The source of a checked program.

    No name that the policy chose will be one of `taken`. `annotations` are types of the task's arguments, by name; the
    signature has those of all functions. Where a function asks for statistics of the system, and these belong to none
    of its arguments, it takes one more, behind them; so do the functions in `with_state`, whether they ask or not.
    """
    types = {a.name: "float" for a in signature.arguments if isinstance(a, Scalar)} | dict(annotations or {})
    shown = [argument.name for argument in signature.arguments]
    if (statistics.has_state or with_state) and statistics.state not in shown:
        shown.append(statistics.state)
        types[statistics.state] = '"_Statistics"'
    reserved = {*taken, "_", *shown, *(entry.name for entry in program.entries)}
    expressions = Expressions(
        signature, renamed(program, reserved), statistics.spelled, intervals.declared_bounds(program, signature)
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


def taken_by(entry: p.Function, state: str, always: bool = False) -> list[str]:
    """The arguments of a function that the task names, as it is exported: `state` is among them where it asks for
    statistics of the system, which are read of that, or `always`."""
    asked = (e.statistic if isinstance(e, p.Occurrences) else e for e in p.expressions(entry.body))
    asks = always or any(isinstance(e, p.Statistic) and e.scope != "entity" for e in asked)
    return [*entry.arguments, *([state] if asks and state not in entry.arguments else [])]


class _FunctionWriter:
    """Writes one function; its walk keeps the bounds of the names, as the native compiler's does."""

    def __init__(self, expressions: Expressions, function: p.Function) -> None:
        self.expressions = expressions
        self.function = without_unused(function)
        self.names = expressions.names
        self.goes_on = True
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

    def block(self, body: tuple[p.Statement, ...], indent: str) -> Iterator[str]:
        for statement in body:
            if self.goes_on:
                yield from self.statement(statement, indent)

    def statement(self, statement: p.Statement, indent: str) -> Iterator[str]:
        match statement:
            case p.Assign(name, value):
                yield from fitted(f"{indent}{self.names[name]} = ", self.expressions.value(value))
                self.expressions.environment[name] = self.expressions.bounds_of(value)
            case p.Return(value):
                bounds = self.expressions.bounds_of(value)
                self.returned = bounds if self.returned is None else self.returned | bounds
                yield from fitted(f"{indent}return ", self.expressions.value(value))
                self.goes_on = False
            case p.If():
                yield from self.branch(statement, indent, "if")
            case p.Loop():
                yield from self.loop(statement, indent)
            case p.Break() | p.Continue():
                yield indent + ("break" if isinstance(statement, p.Break) else "continue")
                self.goes_on = False

    def branch(self, statement: p.If, indent: str, word: str) -> Iterator[str]:
        expressions = self.expressions
        yield from fitted(f"{indent}{word} ", expressions.truth(statement.test), ":")
        before = dict(expressions.environment)
        yield from self.block(statement.then, indent + _INDENT)
        then_goes_on, after_then = self.goes_on, expressions.environment
        expressions.environment, self.goes_on = before, True
        match statement.otherwise:
            case (p.If() as following,):
                yield from self.branch(following, indent, "elif")
            case ():
                pass
            case otherwise:
                yield indent + "else:"
                yield from self.block(otherwise, indent + _INDENT)
        if then_goes_on:
            after = expressions.environment
            expressions.environment = intervals.join(after_then, after) if self.goes_on else after_then
        self.goes_on = self.goes_on or then_goes_on

    def loop(self, loop: p.Loop, indent: str) -> Iterator[str]:
        expressions = self.expressions
        bounds = [loop.stop] if (loop.start, loop.step) == (0, 1) else [loop.start, loop.stop]
        turns = f"range({', '.join(map(str, bounds if loop.step == 1 else [loop.start, loop.stop, loop.step]))})"
        if any(isinstance(e, p.Local) and e.name == loop.name for e in p.expressions(self.function.body)):
            yield f"{indent}for {self.names[loop.name]} in map(float, {turns}):"
        else:
            yield f"{indent}for _ in {turns}:"
        expressions.environment = expressions.bounds.after_loop(loop, expressions.environment)
        widened = dict(expressions.environment)
        yield from self.block(loop.body, indent + _INDENT) if loop.body else [indent + _INDENT + "pass"]
        expressions.environment, self.goes_on = widened, True
