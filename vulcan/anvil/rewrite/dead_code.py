"""Removal of dead code: assignments whose value is not read, and state on which no decision depends."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import replace
from functools import lru_cache

from vulcan.anvil import ir
from vulcan.anvil.rewrite.traversal import in_statements

_Statements = tuple[ir.Statement, ...]
Names = frozenset[str]


def without_dead(body: tuple[ir.Statement, ...]) -> tuple[ir.Statement, ...]:
    """Remove dead assignments, whose value is not read before it is overwritten, and loops that never turn."""
    return _walked(body, frozenset(), frozenset())[0]


def _walked(body: tuple[ir.Statement, ...], live: Names, leaving: Names) -> tuple[tuple[ir.Statement, ...], Names]:
    """Return the remaining statements and the names live before them.

    `leaving` are the names live where `break` and `continue` lead.
    """
    kept: list[ir.Statement] = []
    for statement in reversed(body):
        match statement:
            case ir.Assign(name, value):
                if name not in live and not isinstance(value, ir.Draw):  # a draw less would change all later ones
                    continue
                live = (live - {name}) | _reads(value)
            case ir.Return(value):
                live = _reads(value)
            case ir.Write():
                live = live.union(*map(_reads, statement.expressions))
            case ir.Break() | ir.Continue():
                live = leaving
            case ir.If(test, then, otherwise):
                then, after_test = _walked(then, live, leaving)
                otherwise, instead = _walked(otherwise, live, leaving)
                if not then and not otherwise:
                    continue
                live = after_test | instead | _reads(test)
                kept.append(replace(statement, then=then, otherwise=otherwise))
                continue
            case ir.Loop(trips=0):
                continue
            case ir.Loop(name, body=inner):
                inner, before = _looped(inner, live)
                if name not in live and _leads_nowhere(inner):
                    continue
                live = before
                kept.append(replace(statement, body=inner))
                continue
        kept.append(statement)
    return tuple(reversed(kept)), live


def _looped(body: tuple[ir.Statement, ...], live: Names) -> tuple[tuple[ir.Statement, ...], Names]:
    """Return the rest of a loop's body, and the names live before the loop: after it or in a further pass."""
    while True:
        kept, before = _walked(body, live, live)
        if before <= live:
            return kept, live
        live |= before


def _leads_nowhere(body: tuple[ir.Statement, ...]) -> bool:
    """Check whether the body of a loop can do nothing but end the loop."""
    return all(
        isinstance(s, ir.Break | ir.Continue)
        or (isinstance(s, ir.If) and _leads_nowhere(s.then) and _leads_nowhere(s.otherwise))
        for s in body
    )


def _reads(e: ir.Expression) -> Names:
    return ir.local_names((ir.Return(e),))


# State


def cells_of(body: _Statements) -> frozenset[str]:
    """Return the registers, fields and arrays that the statements read."""
    return frozenset(e.name for e in ir.expressions(body) if isinstance(e, ir.Cell | ir.Element))


def cells_read(program: ir.Module, functions: Iterable[ir.Function]) -> frozenset[str]:
    """Return the state that the functions read, themselves or through helpers."""
    functions = tuple(functions)
    return frozenset[str]().union(*(cells_of(f.body) for f in (*functions, *program.reached(*functions))))


def without_writes(body: _Statements, names: Collection[str]) -> _Statements:
    """Return the statements without writes of this state, and without assignments that only these needed."""
    return without_dead(in_statements(body, lambda s: () if isinstance(s, ir.Write) and s.name in names else (s,)))


def state_slice(program: ir.Module, roots: Iterable[str]) -> ir.Module:
    """Return the program with only the state on which the roots, or a control of an event, depend.

    A variable that only its own updates read is not part of it. Handlers that do nothing any more are removed; a
    random number that is no longer used is still drawn, since one draw less would change all later ones.
    """
    return _slice(program, frozenset(roots))


@lru_cache(maxsize=1024)  # the generator asks for the same parts of the same parents again and again
def _slice(program: ir.Module, roots: Names) -> ir.Module:
    declared = {variable.name for variable in program.variables}
    needed = declared & roots
    while True:
        handlers = tuple(replace(f, body=without_writes(f.body, declared - needed)) for f in program.handlers)
        read = cells_read(program, handlers) & declared
        if read <= needed:
            break
        needed |= read
    handlers = tuple(f for f in handlers if not _does_nothing(f.body))
    variables = tuple(v for v in program.variables if v.name in needed)
    functions = (*program.helpers, *handlers, *program.entries)
    return replace(program, functions=functions, handled=len(handlers), variables=variables)


def _does_nothing(body: _Statements) -> bool:
    """Check whether a handler neither writes anything nor draws a random number."""
    return not ir.stored_names(body) and not any(isinstance(e, ir.Draw) for e in ir.expressions(body))
