"""Python source of a policy's functions, which compute on floats exactly what `vulcan.anvil.semantics` defines.

The functions take the task's arguments. Plain features are read as attributes (`obj.size`); statistics are methods of a
stream, a tally or a population (`obj.size_stream.window_avg(8)`, `cache.id_tally_512.contains(obj.id)`,
`cache.size_population.percentile(0.9)`), and a history is queried as in Anvil (`ghost.contains(obj.id)`). All of these
must be floats. The policy's own state is as `vulcan.export.python.state` says.

The policy's own names are changed where they collide with those that the module needs.
"""

from __future__ import annotations

import ast
import builtins
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, replace

from vulcan.anvil import ir
from vulcan.anvil.analysis.abstract_interpreter import follow
from vulcan.anvil.rewrite.dead_code import without_dead
from vulcan.anvil.unparse import printable
from vulcan.export.python.expressions import Expressions
from vulcan.export.python.state import StateNames
from vulcan.export.python.statistic_names import StatisticNames
from vulcan.export.quoting import MAX_LINE, docstring, fitted
from vulcan.task import Scalar, Signature

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
        # it could have a special meaning in Python, or another one in a class
        if name.startswith("__") and (name.endswith("__") or program.handlers):
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
        if function in program.helpers:
            names |= {function.name, *function.arguments}
    return names


_INDENT = "    "


@dataclass(frozen=True, slots=True)
class PythonSource:
    """The text of a policy's parameters and functions, and the names of the runtime functions they call.

    `handlers` are the bodies of the methods of events, `names` the exported names of what the program chose.
    """

    parameters: str
    functions: tuple[str, ...]
    handlers: Mapping[str, tuple[str, ...]]
    names: Mapping[str, str]
    runtime: frozenset[str]


def python_source(
    program: ir.Module,
    statistics: StatisticNames,
    signature: Signature,
    *,
    used_names: Collection[str],
    annotations: Mapping[str, str],
    with_state: Collection[str],
    state: StateNames,
) -> PythonSource:
    """Generate the source of a checked program.

    No name that the policy chose will be one of `used_names`. `annotations` are types of the task's arguments, by name;
    the signature has the arguments of all functions, and of events if the program handles any. A function that reads
    statistics of the system or state which belong to none of its arguments takes one more, as the last; so does every
    function in `with_state`.
    """
    types = {a.name: "float" for a in signature.arguments if isinstance(a, Scalar)} | dict(annotations)
    shown = [argument.name for argument in signature.arguments]
    if (statistics.of_system or with_state or state.variables) and statistics.state not in shown:
        shown.append(statistics.state)
        types[statistics.state] = '"_Statistics"'
    reserved = {*used_names, "_", *shown, *(entry.name for entry in program.entries)}
    values = follow(program, signature, keep_values=True).values or {}
    owner = statistics.state
    names = renamed(program, {*reserved, "self"} if program.handlers else reserved)
    expressions = Expressions(signature, names, statistics.calls, values, owner, state)
    functions = []
    for function in (*program.helpers, program.entry, *program.entries[:-1]):
        if function not in program.entries:
            arguments = [f"{expressions.names[name]}: float" for name in function.arguments]
            if function.name in state.reading:
                arguments.append(f'{owner}: "_Statistics"')
        else:
            taking = taken_by(function, owner, function.name in with_state or state.reads(function))
            arguments = [f"{name}: {types[name]}" if name in types else name for name in taking]
        expressions.own = owner
        functions.append("\n".join(_FunctionWriter(expressions, function).lines(arguments)))
    expressions.own = "self"
    handlers = {handler.name: tuple(_HandlerWriter(expressions, handler).body()) for handler in program.handlers}
    parameters = [f"{expressions.names[name]} = {value!r}" for name, value in program.parameters]
    runtime = frozenset(expressions.runtime)
    return PythonSource("\n".join(parameters), tuple(functions), handlers, expressions.names, runtime)


def taken_by(entry: ir.Function, owner: str, always: bool = False) -> list[str]:
    """Return the exported arguments of an entry function.

    `owner` is among them if the function reads statistics of the system, which belong to it, or if `always`.
    """
    asked = (e.statistic if isinstance(e, ir.Occurrences) else e for e in ir.expressions(entry.body))
    asks = always or any(isinstance(e, ir.Statistic) and e.scope != "entity" for e in asked)
    return [*entry.arguments, *([owner] if asks and owner not in entry.arguments else [])]


class _FunctionWriter:
    """A writer of one function."""

    def __init__(self, expressions: Expressions, function: ir.Function) -> None:
        self.expressions = expressions
        self.function = replace(function, body=without_dead(function.body))
        self.names = expressions.names

    def lines(self, arguments: list[str]) -> Iterator[str]:
        name = self.names.get(self.function.name, self.function.name)
        head = f"def {name}({', '.join(arguments)}) -> float:"
        if len(head) > MAX_LINE:
            yield f"def {name}("
            yield from (f"{_INDENT}{argument}," for argument in arguments)
            yield ") -> float:"
        else:
            yield head
        if self.function.documentation:
            yield from docstring(self.function.documentation, _INDENT).split("\n")
        yield from self.block(self.function.body, _INDENT)

    def block(self, body: tuple[ir.Statement, ...], indent: str) -> Iterator[str]:
        for number, statement in enumerate(body, 1):
            yield from self.statement(statement, indent)
            if ir.ends(body[:number]):
                return

    def statement(self, statement: ir.Statement, indent: str) -> Iterator[str]:
        match statement:
            case ir.Assign(name, value):
                yield from fitted(f"{indent}{self.names[name]} = ", self.expressions.value(value))
            case ir.Return(value):
                yield from fitted(f"{indent}return ", self.expressions.value(value))
            case ir.If():
                yield from self.branch(statement, indent, "if")
            case ir.Loop():
                yield from self.loop(statement, indent)
            case ir.Break() | ir.Continue():
                yield indent + ("break" if isinstance(statement, ir.Break) else "continue")
            case ir.Write():
                raise AssertionError("only handlers write state")

    def branch(self, statement: ir.If, indent: str, word: str) -> Iterator[str]:
        yield from fitted(f"{indent}{word} ", self.expressions.truth(statement.test), ":")
        yield from self.block(statement.then, indent + _INDENT) if statement.then else [indent + _INDENT + "pass"]
        match statement.otherwise:
            case (ir.If() as following,):
                yield from self.branch(following, indent, "elif")
            case ():
                pass
            case otherwise:
                yield indent + "else:"
                yield from self.block(otherwise, indent + _INDENT)

    def loop(self, loop: ir.Loop, indent: str) -> Iterator[str]:
        bounds = [loop.stop] if (loop.start, loop.step) == (0, 1) else [loop.start, loop.stop]
        turns = f"range({', '.join(map(str, bounds if loop.step == 1 else [loop.start, loop.stop, loop.step]))})"
        if loop.name in ir.local_names(self.function.body):
            yield f"{indent}for {self.names[loop.name]} in map(float, {turns}):"
        else:
            yield f"{indent}for _ in {turns}:"
        yield from self.block(loop.body, indent + _INDENT) if loop.body else [indent + _INDENT + "pass"]


class _HandlerWriter(_FunctionWriter):
    """A writer of an event's handler as the body of a method."""

    def body(self) -> Iterator[str]:
        indent = 2 * _INDENT
        if self.function.documentation:
            said = printable(self.function.documentation.strip())
            yield from (f"{indent}# {line}".rstrip() for line in said.split("\n"))
        lines = list(self.block(self.function.body, indent))
        yield from lines[:-1] if lines[-1] == f"{indent}return" else lines

    def statement(self, statement: ir.Statement, indent: str) -> Iterator[str]:
        match statement:
            case ir.Return():
                yield f"{indent}return"
            case ir.Assign(name, ir.Draw() as value) if name not in ir.local_names(self.function.body):
                yield indent + ast.unparse(self.expressions.value(value))
            case ir.Write(name, value, index):
                declared = name in self.expressions.state.attributes
                target = self.expressions.variable(name, index) if declared else self.expressions.dotted(name)
                yield from fitted(f"{indent}{ast.unparse(target)} = ", self.expressions.value(value))
            case _:
                yield from super().statement(statement, indent)
