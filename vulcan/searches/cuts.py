"""Smaller programs made of one: each with one thing deleted, or replaced by a part of it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from vulcan.anvil import program as p
from vulcan.anvil.rewriting.fold import ONE, ZERO
from vulcan.anvil.rewriting.rewrite import places, replaced

Cut = tuple[p.Statement | p.Expression, p.Expression | str]
"""What is cut, and what stands in its place: the same cut of a changed program is equal to it."""

_Statements = tuple[p.Statement, ...]
_REDUCIBLE = ("min", "max", "and", "or")


def cuts(program: p.Program) -> Iterator[tuple[Cut, p.Program]]:
    """Every program that one cut makes; not each is valid, and not each is smaller before it is cleaned.

    A statement is dropped, or a branch put in place of its `if`; an expression becomes one of its operands, loses one
    of many (`min`, `max`, `and`, `or`), or becomes 0 or 1 where it is a condition, an alternative, an argument, one
    side of a comparison or all of a statement.
    """
    for index, function in enumerate(program.functions):
        for cut, body in _of_block(function.body):
            functions = list(program.functions)
            functions[index] = replace(function, body=body)
            yield cut, replace(program, functions=tuple(functions))


def _of_block(body: _Statements) -> Iterator[tuple[Cut, _Statements]]:
    for index, statement in enumerate(body):
        before, behind = body[:index], body[index + 1 :]
        if not isinstance(statement, p.Return):
            yield (statement, "dropped"), (*before, *behind)
        if isinstance(statement, p.If):
            yield (statement, "then"), (*before, *statement.then, *behind)
            yield (statement, "otherwise"), (*before, *statement.otherwise, *behind)
        for cut, made in _of_statement(statement):
            yield cut, (*before, made, *behind)


def _of_statement(statement: p.Statement) -> Iterator[tuple[Cut, p.Statement]]:
    match statement:
        case p.Assign() | p.Return():
            for cut, value in _of_expression(statement.value):
                yield cut, replace(statement, value=value)
        case p.If():
            for cut, test in _of_expression(statement.test, is_value=False):
                yield cut, replace(statement, test=test)
            for cut, then in _of_block(statement.then):
                yield cut, replace(statement, then=then)
            for cut, otherwise in _of_block(statement.otherwise):
                yield cut, replace(statement, otherwise=otherwise)
        case p.Loop():
            for cut, inner in _of_block(statement.body):
                yield cut, replace(statement, body=inner)


def _of_expression(e: p.Expression, is_value: bool = True) -> Iterator[tuple[Cut, p.Expression]]:
    """The cuts of an expression that a statement holds: as the value that it assigns or returns, or as its test."""
    if is_value:
        yield from (((e, new), new) for new in (ZERO, ONE))
    for path, part in places(e):
        for new in (*_parts(part), *_shorter(part)):
            yield (part, new), replaced(e, path, new)
        for index in _replaceable(part):
            old = p.children(part)[index]
            yield from (((old, new), replaced(e, (*path, index), new)) for new in (ZERO, ONE))


def _parts(e: p.Expression) -> tuple[p.Expression, ...]:
    match e:
        case p.Operate() | p.Call():
            return p.children(e)
        case p.Choose(_, then, otherwise):
            return (then, otherwise)
        case p.Compare():
            return (ZERO, ONE)
        case _:
            return ()


def _shorter(e: p.Expression) -> Iterator[p.Expression]:
    match e:
        case p.Operate(operation, operands) if operation in _REDUCIBLE and len(operands) > 2:
            for index in range(len(operands)):
                yield replace(e, operands=(*operands[:index], *operands[index + 1 :]))
        case p.Compare(operators, operands) if len(operators) > 1:
            yield replace(e, operators=operators[1:], operands=operands[1:])
            yield replace(e, operators=operators[:-1], operands=operands[:-1])
        case _:
            pass


def _replaceable(e: p.Expression) -> Iterator[int]:
    """The children that may become 0 or 1: those with parts of their own, where that is not another cut already."""
    for index, part in enumerate(p.children(e)):
        match e:
            case p.Choose() if index > 0 and p.children(part):
                yield index
            case p.Call() | p.Compare() | p.Operate("min" | "max") if p.children(part):
                yield index
