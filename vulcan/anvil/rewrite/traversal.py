"""Changing programs: expressions with other parts, statements with other expressions, and how large a program is."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

from vulcan.anvil import ir as p

Path = tuple[int, ...]
"""The way from an expression down to one of its parts: the number of the child, at each level."""

Change = Callable[[p.Expression], p.Expression]


def with_children(e: p.Expression, parts: tuple[p.Expression, ...]) -> p.Expression:
    """The expression with other parts, as many as `program.children` gives of it."""
    match e:
        case p.Operate() | p.Compare():
            return replace(e, operands=parts)
        case p.Choose():
            test, then, otherwise = parts
            return replace(e, test=test, then=then, otherwise=otherwise)
        case p.Call():
            return replace(e, arguments=parts)
        case p.Occurrences():
            (value,) = parts
            return replace(e, value=value)
        case _:
            return e


def from_below(e: p.Expression, change: Change) -> p.Expression:
    """The expression after `change` of each of its parts, the smallest first, and then of itself."""
    return change(with_children(e, tuple(from_below(part, change) for part in p.children(e))))


def places(e: p.Expression, path: Path = ()) -> Iterator[tuple[Path, p.Expression]]:
    """Every part with its path, outer ones before their own parts."""
    yield path, e
    for index, part in enumerate(p.children(e)):
        yield from places(part, (*path, index))


def replaced(e: p.Expression, path: Path, new: p.Expression) -> p.Expression:
    """The expression with another part at the path."""
    if not path:
        return new
    parts = list(p.children(e))
    parts[path[0]] = replaced(parts[path[0]], path[1:], new)
    return with_children(e, tuple(parts))


def in_block(body: tuple[p.Statement, ...], change: Change) -> tuple[p.Statement, ...]:
    """The statements with each whole expression that they hold changed, in the order of the source."""
    return tuple(_in_statement(statement, change) for statement in body)


def _in_statement(statement: p.Statement, change: Change) -> p.Statement:
    match statement:
        case p.Assign() | p.Return():
            return replace(statement, value=change(statement.value))
        case p.If():
            test = change(statement.test)
            then = in_block(statement.then, change)
            return replace(statement, test=test, then=then, otherwise=in_block(statement.otherwise, change))
        case p.Loop():
            return replace(statement, body=in_block(statement.body, change))
        case _:
            return statement


def in_program(program: p.Program, change: Change) -> p.Program:
    """The program with each whole expression that a statement holds changed."""
    functions = tuple(replace(f, body=in_block(f.body, change)) for f in program.functions)
    return replace(program, functions=functions)


def expression_size(e: p.Expression) -> int:
    """Nodes of the expression."""
    return 1 + sum(expression_size(part) for part in p.children(e))


def program_size(program: p.Program) -> int:
    """Nodes of the program: one each parameter, function, argument of a helper, statement and part of an expression."""
    helpers = program.helpers
    held = sum(1 for f in program.functions for _ in p.expressions(f.body))
    statements = sum(_statements(f.body) for f in program.functions)
    return len(program.parameters) + len(program.functions) + sum(len(f.arguments) for f in helpers) + statements + held


def _statements(body: tuple[p.Statement, ...]) -> int:
    count = 0
    for statement in body:
        match statement:
            case p.If(_, then, otherwise):
                count += 1 + _statements(then) + _statements(otherwise)
            case p.Loop(body=inner):
                count += 1 + _statements(inner)
            case _:
                count += 1
    return count


def names_of(program: p.Program) -> frozenset[str]:
    """Parameters, functions, arguments and locals: what something new may not be called."""
    names: set[str] = {name for name, _ in program.parameters}
    for function in program.functions:
        names |= {function.name, *function.arguments, *p.assigned_names(function.body)}
    return frozenset(names)
