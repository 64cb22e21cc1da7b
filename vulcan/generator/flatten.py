"""Turns a program into the one expression it computes: assignments put in, branches made choices, helpers inlined."""

from __future__ import annotations

from collections.abc import Mapping

from vulcan.anvil import ir as p
from vulcan.anvil.rewrite.traversal import with_children
from vulcan.generator.expression_tree import is_larger

LARGEST = 300
_LONGEST_LOOP = 8
_MOST_STEPS = 2_000


class _NotFlat(Exception):
    """The program has a long loop, or one that breaks off, or would become too large."""


def flatten(program: p.Program) -> p.Expression | None:
    """The expression; None where the program has none of a size worth working on."""
    try:
        return _Flattener(program).result(program.entry, {})
    except _NotFlat:
        return None


class _Flattener:
    def __init__(self, program: p.Program) -> None:
        self.helpers = {function.name: function for function in program.functions}
        self.steps = 0

    def result(self, function: p.Function, names: Mapping[str, p.Expression]) -> p.Expression:
        value, _ = self.block(function.body, names)
        if value is None:
            raise _NotFlat
        return value

    def block(
        self, body: tuple[p.Statement, ...], names: Mapping[str, p.Expression]
    ) -> tuple[p.Expression | None, dict[str, p.Expression]]:
        """What the statements return, if they do on every path, and else what the names stand for behind them."""
        known = dict(names)
        for index, statement in enumerate(body):
            self.steps += 1
            if self.steps > _MOST_STEPS:  # what follows a branch is walked once for each of its ways
                raise _NotFlat
            match statement:
                case p.Return(value):
                    return self.put(value, known), known
                case p.Assign(name, value):
                    known[name] = self.put(value, known)
                case p.If(test, then, otherwise):
                    condition = self.put(test, known)
                    if _returns(then) or _returns(otherwise):
                        rest = body[index + 1 :]
                        one, _ = self.block((*then, *rest), known)
                        other, _ = self.block((*otherwise, *rest), known)
                        if one is None or other is None:
                            raise _NotFlat
                        return self.small(p.Choose(condition, one, other)), known
                    _, after_then = self.block(then, known)
                    _, after_otherwise = self.block(otherwise, known)
                    known = self.merged(condition, after_then, after_otherwise)
                case p.Loop(name, start, stop, step, inner) if statement.trips <= _LONGEST_LOOP:
                    if _leaves(inner):
                        raise _NotFlat
                    for value_now in range(start, stop, step):
                        known[name] = _integer(value_now)
                        _, known = self.block(inner, known)
                case _:
                    raise _NotFlat
        return None, known

    def merged(
        self, condition: p.Expression, one: Mapping[str, p.Expression], other: Mapping[str, p.Expression]
    ) -> dict[str, p.Expression]:
        return {
            name: value if value == other[name] else self.small(p.Choose(condition, value, other[name]))
            for name, value in one.items()
            if name in other
        }

    def put(self, e: p.Expression, known: Mapping[str, p.Expression]) -> p.Expression:
        match e:
            case p.Local(name):
                return known[name]
            case p.Call(function, arguments):
                helper = self.helpers[function]
                given = (self.put(a, known) for a in arguments)
                return self.small(self.result(helper, dict(zip(helper.arguments, given, strict=True))))
            case _:
                return self.small(with_children(e, tuple(self.put(part, known) for part in p.children(e))))

    def small(self, e: p.Expression) -> p.Expression:
        if is_larger(e, LARGEST):
            raise _NotFlat
        return e


def _returns(body: tuple[p.Statement, ...]) -> bool:
    """Whether there is a `return` on any path."""
    return any(
        isinstance(s, p.Return)
        or (isinstance(s, p.If) and (_returns(s.then) or _returns(s.otherwise)))
        or (isinstance(s, p.Loop) and _returns(s.body))
        for s in body
    )


def _leaves(body: tuple[p.Statement, ...]) -> bool:
    """Whether the body of a loop may end it, or a pass of it, early."""
    return _returns(body) or any(
        isinstance(s, p.Break | p.Continue) or (isinstance(s, p.If) and (_leaves(s.then) or _leaves(s.otherwise)))
        for s in body
    )


def _integer(value: int) -> p.Expression:
    return p.Number(float(value)) if value >= 0 else p.Operate("negate", (p.Number(float(-value)),))
