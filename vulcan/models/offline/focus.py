"""The expression of a program that is worked on, and the way back to a whole program."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from vulcan.anvil import program as p
from vulcan.models.offline.arrange import arrange
from vulcan.task import Signature


@dataclass(frozen=True, slots=True)
class Focus:
    """One expression: of the whole program where `program` is None, else of its entry's statement number `index`."""

    expression: p.Expression
    program: p.Program | None = None
    index: int = 0

    def rebuilt(
        self, e: p.Expression, parameters: dict[str, float], signature: Signature, documentation: str
    ) -> p.Program:
        """The program with another expression in this place, and as it was written everywhere else."""
        if self.program is None:
            return arrange(e, parameters, signature, documentation)
        entry = self.program.entry
        body = _Replacer(self.index, e).block(entry.body)
        functions = (*self.program.functions[:-1], replace(entry, body=body))
        return replace(
            self.program, parameters=tuple(parameters.items()), functions=functions, documentation=documentation
        )


def parts_of(program: p.Program) -> list[Focus]:
    """Each expression that a statement of the entry holds."""
    held = enumerate(_held(program.entry.body))
    return [Focus(e, program, index) for index, e in held]


def names_of(program: p.Program) -> frozenset[str]:
    """Locals, arguments and functions: what a new parameter may not be called."""
    names: set[str] = set()
    for function in program.functions:
        names |= {function.name, *function.arguments, *p.assigned_names(function.body)}
    return frozenset(names)


def _held(body: tuple[p.Statement, ...]) -> Iterator[p.Expression]:
    for statement in body:
        match statement:
            case p.Assign(_, value) | p.Return(value):
                yield value
            case p.If(test, then, otherwise):
                yield test
                yield from _held(then)
                yield from _held(otherwise)
            case p.Loop(body=inner):
                yield from _held(inner)
            case _:
                pass


class _Replacer:
    def __init__(self, index: int, new: p.Expression) -> None:
        self.left = index
        self.new = new

    def block(self, body: tuple[p.Statement, ...]) -> tuple[p.Statement, ...]:
        return tuple(self.statement(statement) for statement in body)

    def statement(self, statement: p.Statement) -> p.Statement:
        match statement:
            case p.Assign() | p.Return():
                return replace(statement, value=self.next(statement.value))
            case p.If(test, then, otherwise):
                return p.If(self.next(test), self.block(then), self.block(otherwise))
            case p.Loop():
                return replace(statement, body=self.block(statement.body))
            case _:
                return statement

    def next(self, old: p.Expression) -> p.Expression:
        self.left -= 1
        return self.new if self.left == -1 else old
