"""Dead-code elimination; safe because no expression but a draw of a random number has side effects."""

from __future__ import annotations

from dataclasses import replace

from vulcan.anvil import ir


def without_unused(function: ir.Function) -> ir.Function:
    """Remove assignments to names that are never read, and the branches and loops that become empty."""
    while True:
        body = _block(function.body, _read_names(function.body))
        if body == function.body:
            return function
        function = replace(function, body=body)


def _read_names(body: tuple[ir.Statement, ...]) -> frozenset[str]:
    return frozenset(e.name for e in ir.expressions(body) if isinstance(e, ir.Local))


def _block(body: tuple[ir.Statement, ...], read: frozenset[str]) -> tuple[ir.Statement, ...]:
    return tuple(kept for statement in body if (kept := _statement(statement, read)) is not None)


def _statement(statement: ir.Statement, read: frozenset[str]) -> ir.Statement | None:
    match statement:
        case ir.Assign(name, value):
            return statement if name in read or isinstance(value, ir.Draw) else None
        case ir.If(test, then, otherwise):
            then, otherwise = _block(then, read), _block(otherwise, read)
            if not then and otherwise:
                return ir.If(ir.Operate("not", (test,)), otherwise, ())
            return ir.If(test, then, otherwise) if then else None
        case ir.Loop():
            body = _block(statement.body, read)
            # a loop whose counter is read later stays
            return replace(statement, body=body) if statement.trips and (body or statement.name in read) else None
        case _:
            return statement
