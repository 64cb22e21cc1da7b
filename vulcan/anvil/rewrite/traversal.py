"""Traversal and rebuilding of programs: expressions with other parts, statements with other expressions, sizes."""

from __future__ import annotations

import itertools
import operator
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import replace

from vulcan.anvil import ir

Path = tuple[int, ...]
"""Path from an expression to one of its parts: the child's index at each level."""

Change = Callable[[ir.Expression], ir.Expression]


def with_children(e: ir.Expression, parts: tuple[ir.Expression, ...]) -> ir.Expression:
    """Return the expression with other parts, as many as `ir.children` returns for it."""
    match e:
        case ir.Operate() | ir.Compare():
            return replace(e, operands=parts)
        case ir.Choose():
            test, then, otherwise = parts
            return replace(e, test=test, then=then, otherwise=otherwise)
        case ir.Call():
            return replace(e, arguments=parts)
        case ir.Occurrences():
            (value,) = parts
            return replace(e, value=value)
        case ir.Element():
            (index,) = parts
            return replace(e, index=index)
        case _:
            return e


def from_below(e: ir.Expression, change: Change) -> ir.Expression:
    """Apply `change` to the expression bottom-up: first to its parts, then to itself."""
    parts = ir.children(e)
    if not parts:
        return change(e)
    changed = tuple([from_below(part, change) for part in parts])
    return change(e if _same(changed, parts) else with_children(e, changed))


def _same(new: Sequence[object], old: Sequence[object]) -> bool:
    """Return whether nothing was changed, so that nothing needs to be built."""
    return all(map(operator.is_, new, old))


def places(e: ir.Expression, path: Path = ()) -> Iterator[tuple[Path, ir.Expression]]:
    """Yield every part with its path, outer ones before their own parts."""
    yield path, e
    for index, part in enumerate(ir.children(e)):
        yield from places(part, (*path, index))


def replaced(e: ir.Expression, path: Path, new: ir.Expression) -> ir.Expression:
    """Return the expression with another part at the path."""
    if not path:
        return new
    parts = list(ir.children(e))
    parts[path[0]] = replaced(parts[path[0]], path[1:], new)
    return with_children(e, tuple(parts))


def with_inside(
    statement: ir.Statement, expressions: tuple[ir.Expression, ...], blocks: tuple[tuple[ir.Statement, ...], ...]
) -> ir.Statement:
    """Return the statement with other expressions and blocks, as many as `ir.inside` returns for it."""
    match statement:
        case ir.Assign() | ir.Return():
            return replace(statement, value=expressions[0])
        case ir.Write():
            return replace(statement, value=expressions[-1], index=expressions[0] if expressions[1:] else None)
        case ir.If():
            return replace(statement, test=expressions[0], then=blocks[0], otherwise=blocks[1])
        case ir.Loop():
            return replace(statement, body=blocks[0])
        case _:
            return statement


def in_block(body: tuple[ir.Statement, ...], change: Change) -> tuple[ir.Statement, ...]:
    """Apply `change` to each whole expression in the statements, in source order."""
    changed = tuple([_in_statement(statement, change) for statement in body])
    return body if _same(changed, body) else changed


def _in_statement(statement: ir.Statement, change: Change) -> ir.Statement:
    expressions, blocks = ir.inside(statement)
    changed = tuple([change(e) for e in expressions])
    inner = tuple([in_block(block, change) for block in blocks])
    return statement if _same((*changed, *inner), (*expressions, *blocks)) else with_inside(statement, changed, inner)


def in_statements(
    body: tuple[ir.Statement, ...], change: Callable[[ir.Statement], Iterable[ir.Statement]]
) -> tuple[ir.Statement, ...]:
    """Replace each statement by those that `change` returns, and then the statements within these."""
    made: list[ir.Statement] = []
    for statement in body:
        for new in change(statement):
            expressions, blocks = ir.inside(new)
            made.append(with_inside(new, expressions, tuple([in_statements(block, change) for block in blocks])))
    return tuple(made)


def in_program(program: ir.Module, change: Change) -> ir.Module:
    """Apply `change` to each whole expression in the program's statements."""
    bodies = [in_block(f.body, change) for f in program.functions]
    if _same(bodies, [f.body for f in program.functions]):
        return program
    functions = tuple(replace(f, body=body) for f, body in zip(program.functions, bodies, strict=True))
    return replace(program, functions=functions)


def expression_size(e: ir.Expression) -> int:
    """Count the nodes of the expression."""
    return 1 + sum(expression_size(part) for part in ir.children(e))


def program_size(program: ir.Module) -> int:
    """Count a program's nodes: parameters, state, functions, helpers' arguments, statements, parts of expressions."""
    helpers = program.helpers
    written = sum(1 for f in program.functions for walk in (ir.expressions, ir.statements) for _ in walk(f.body))
    declared = len(program.parameters) + len(program.variables) + len(program.functions)
    return declared + sum(len(f.arguments) for f in helpers) + written


def numbered(name: str, taken: Collection[str]) -> str:
    """Return the name, with the first number from 2 on behind it that makes it free where it is taken."""
    free = name
    for number in itertools.count(2):
        if free not in taken:
            break
        free = f"{name}_{number}"
    return free


def names_of(program: ir.Module) -> frozenset[str]:
    """Return the names in use, which new ones must avoid: parameters, functions, arguments and locals."""
    names: set[str] = {name for name, _ in program.parameters}
    for function in program.functions:
        names |= {function.name, *function.arguments, *ir.assigned_names(function.body)}
    return frozenset(names)
