"""C code for the statements of a policy's functions; each arithmetic translates the expressions."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from vulcan.anvil import ir
from vulcan.anvil.rewrite.dead_code import without_dead
from vulcan.anvil.rewrite.traversal import in_statements
from vulcan.export.c.naming import CONTROLS, local_names

_INDENT = "    "


def _busy(statement: ir.Statement) -> tuple[ir.Statement, ...]:
    """Return the statement, but for `x = x`, which compilers warn about."""
    idle = isinstance(statement, ir.Assign) and statement.value == ir.Local(statement.name)
    return () if idle else (statement,)


class Statements(ABC):
    """A writer of one function. `names` maps its locals and arguments to C names.

    A handler of an event returns `nothing`, a C statement; None for a function that returns a number.
    """

    def __init__(self, function: ir.Function, nothing: str | None = None) -> None:
        self.function = replace(function, body=without_dead(in_statements(function.body, _busy)))
        self.names: Mapping[str, str] = local_names(function, (CONTROLS,) if nothing else ())
        self.nothing = nothing
        self.read = ir.local_names(self.function.body)
        self.turns = 0

    @abstractmethod
    def declaration(self, name: str) -> str:
        """Return the declaration of a local, which is set before it is read."""

    @abstractmethod
    def assigned(self, name: str, value: ir.Expression) -> str:
        """Return the expression in the format of the local."""

    @abstractmethod
    def turn(self, name: str, counter: str) -> str:
        """Return a C integer in the format of the local."""

    @abstractmethod
    def returned(self, value: ir.Expression) -> str:
        """Return the expression in the format of the function's result."""

    @abstractmethod
    def written(self, write: ir.Write) -> tuple[str, str]:
        """Return the C lvalue that is written, or the call to which the value is missing, and the value."""

    @abstractmethod
    def compared(self, comparison: ir.Compare) -> Iterator[str]:
        """Yield the C comparisons that all hold if the comparison does."""

    @abstractmethod
    def nonzero(self, value: ir.Expression) -> str:
        """Return the C condition that an expression with a numeric value is not 0."""

    def truth(self, test: ir.Expression) -> str:
        """Return a C condition that holds if the expression is not 0."""
        match test:
            case ir.Compare():
                return " && ".join(self.compared(test))
            case ir.Operate("and" | "or" as operation, operands):
                return (" && " if operation == "and" else " || ").join(f"({self.truth(o)})" for o in operands)
            case ir.Operate("not", (operand,)):
                return f"!({self.truth(operand)})"
            case ir.Operate("truth", (operand,)):
                return self.truth(operand)
            case _:
                return self.nonzero(test)

    def lines(self, opening: str, arguments: Sequence[str], first: Sequence[str] = ()) -> Iterator[str]:
        """Yield the lines of the whole function.

        `arguments` are its parameters, marked as unused if it does not read them; `first` are lines to begin its body
        with.
        """
        yield opening
        yield "{"
        body = list(self.block(self.function.body, _INDENT))
        if body and body[-1] == f"{_INDENT}return;":
            del body[-1]
        text = "\n".join(body)
        if unread := [name for name in arguments if not re.search(rf"(?<![>.\w]){name}\b", text)]:
            yield _INDENT + " ".join(f"(void){name};" for name in unread)
        yield from (_INDENT + line for line in first)
        for name in self.own_locals():
            yield _INDENT + self.declaration(name)
        yield from body
        if not ir.ends(self.function.body):
            yield _INDENT + ("return 0; /* is not reached */" if self.nothing is None else self.nothing)
        yield "}"

    def own_locals(self) -> list[str]:
        """Return the locals that are read, besides the arguments."""
        return sorted((ir.assigned_names(self.function.body) & self.read) - set(self.function.arguments))

    def block(self, body: tuple[ir.Statement, ...], indent: str) -> Iterator[str]:
        for number, statement in enumerate(body, 1):
            yield from self.statement(statement, indent)
            if ir.ends(body[:number]):
                return

    def statement(self, statement: ir.Statement, indent: str) -> Iterator[str]:
        match statement:
            case ir.Assign(name, value) if name in self.read:
                yield f"{indent}{self.names[name]} = {self.assigned(name, value)};"
            case ir.Assign(name, value):  # a random number that is drawn for nothing
                yield indent + self.unused(name, value)
            case ir.Write():
                place, text = self.written(statement)
                if place.endswith(", "):
                    yield f"{indent}{place}{text});"
                elif place != text:  # which compilers warn about
                    yield indent + self.put(place, text)
            case ir.Return(value):
                yield indent + (self.nothing or f"return {self.returned(value)};")
            case ir.If():
                yield from self.branch(statement, indent, "if")
            case ir.Loop():
                yield from self.loop(statement, indent)
            case ir.Break() | ir.Continue():
                yield indent + ("break;" if isinstance(statement, ir.Break) else "continue;")

    def unused(self, name: str, value: ir.Expression) -> str:
        return f"(void){self.assigned(name, value)};"

    def put(self, place: str, value: str) -> str:
        return f"{place} = {value};"

    def counted(self, counter: str, trips: int) -> str:
        return f"for (int {counter} = 0; {counter} < {trips}; {counter}++) {{"

    def branch(self, statement: ir.If, indent: str, word: str) -> Iterator[str]:
        yield f"{indent}{word} ({self.truth(statement.test)}) {{"
        yield from self.block(statement.then, indent + _INDENT)
        match statement.otherwise:
            case ():
                yield indent + "}"
            case (ir.If() as following,):
                yield from self.branch(following, indent, "} else if")
            case otherwise:
                yield f"{indent}}} else {{"
                yield from self.block(otherwise, indent + _INDENT)
                yield indent + "}"

    def loop(self, loop: ir.Loop, indent: str) -> Iterator[str]:
        self.turns += 1
        counter = f"policy_turn_{self.turns}"
        yield indent + self.counted(counter, loop.trips)
        number = f"{loop.start} + {counter} * {loop.step}" if (loop.start, loop.step) != (0, 1) else counter
        if loop.name in self.read:
            yield f"{indent}{_INDENT}{self.names[loop.name]} = {self.turn(loop.name, number)};"
        yield from self.block(loop.body, indent + _INDENT)
        yield indent + "}"
