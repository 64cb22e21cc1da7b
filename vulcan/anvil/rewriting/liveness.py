"""Assignments whose values nothing reads."""

from __future__ import annotations

from dataclasses import replace

from vulcan.anvil import program as p

Names = frozenset[str]


def without_dead(body: tuple[p.Statement, ...], after: Names = frozenset()) -> tuple[p.Statement, ...]:
    """The statements without those that assign what nothing reads before it is assigned again.

    `after` are the names that are read behind the statements.
    """
    return _walked(body, after, after)[0]


def _walked(body: tuple[p.Statement, ...], live: Names, leaving: Names) -> tuple[tuple[p.Statement, ...], Names]:
    """What is kept, and the names live before it; `leaving` are those live where `break` and `continue` lead."""
    kept: list[p.Statement] = []
    for statement in reversed(body):
        match statement:
            case p.Assign(name, value):
                if name not in live:
                    continue
                live = (live - {name}) | _reads(value)
            case p.Return(value):
                live = _reads(value)
            case p.Break() | p.Continue():
                live = leaving
            case p.If(test, then, otherwise):
                then, after_test = _walked(then, live, leaving)
                otherwise, instead = _walked(otherwise, live, leaving)
                if not then and not otherwise:
                    continue
                live = after_test | instead | _reads(test)
                kept.append(replace(statement, then=then, otherwise=otherwise))
                continue
            case p.Loop(name, body=inner):
                inner, before = _looped(inner, live)
                if name not in live and _leads_nowhere(inner):
                    continue
                live = before
                kept.append(replace(statement, body=inner))
                continue
        kept.append(statement)
    return tuple(reversed(kept)), live


def _looped(body: tuple[p.Statement, ...], live: Names) -> tuple[tuple[p.Statement, ...], Names]:
    """What is kept of a loop's body, and what is live before the loop: what is live behind it, or in a further pass."""
    while True:
        kept, before = _walked(body, live, live)
        if before <= live:
            return kept, live
        live |= before


def _leads_nowhere(body: tuple[p.Statement, ...]) -> bool:
    """Whether the body of a loop can do nothing but end the loop."""
    return all(
        isinstance(s, p.Break | p.Continue)
        or (isinstance(s, p.If) and _leads_nowhere(s.then) and _leads_nowhere(s.otherwise))
        for s in body
    )


def _reads(e: p.Expression) -> Names:
    return frozenset(part.name for part in p.expressions((p.Return(e),)) if isinstance(part, p.Local))
