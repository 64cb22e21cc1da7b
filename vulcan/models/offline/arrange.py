"""Turns an expression into a readable function body: repeated parts get names, outer choices become branches."""

from __future__ import annotations

from collections import Counter

from vulcan.anvil import grammar
from vulcan.anvil import program as p
from vulcan.anvil.rewriting.rewrite import expression_size, with_children
from vulcan.models.offline.tree import is_constant, places
from vulcan.task import Signature

_SMALLEST_NAMED = 3


def arrange(e: p.Expression, parameters: dict[str, float], signature: Signature, documentation: str) -> p.Program:
    """The program that returns the expression; parameters it does not use are left out."""
    taken = {*parameters, *grammar.BUILT_IN_NAMES, signature.function, *(a.name for a in signature.arguments)}
    body: list[p.Statement] = []
    while (part := _most_repeated(e)) is not None:
        name = _free(_name(part), taken)
        taken.add(name)
        body.append(p.Assign(name, part))
        e = _put(e, part, p.Local(name))
    body.extend(_returned(e))
    statements = tuple(body)
    used = {leaf.name for leaf in p.expressions(statements) if isinstance(leaf, p.Parameter)}
    kept = tuple((name, value) for name, value in parameters.items() if name in used)
    entry = p.Function(signature.function, tuple(a.name for a in signature.arguments), statements)
    return p.Program(kept, (entry,), documentation)


def _returned(e: p.Expression) -> tuple[p.Statement, ...]:
    if isinstance(e, p.Choose):
        return (p.If(e.test, _returned(e.then), ()), *_returned(e.otherwise))
    return (p.Return(e),)


def _most_repeated(e: p.Expression) -> p.Expression | None:
    """The smallest part worth a name of its own, so that larger ones can use the name; the first of equals."""
    counts = Counter(part for _, part in places(e))
    found = [
        part
        for part, n in counts.items()
        if n > 1 and expression_size(part) >= _SMALLEST_NAMED and not is_constant(part)
    ]
    return min(found, key=expression_size, default=None)


def _put(e: p.Expression, old: p.Expression, new: p.Expression) -> p.Expression:
    if e == old:
        return new
    return with_children(e, tuple(_put(part, old, new) for part in p.children(e)))


def _free(name: str, taken: set[str]) -> str:
    number, free = 1, name
    while free in taken:
        number += 1
        free = f"{name}_{number}"
    return free


def _name(e: p.Expression) -> str:
    match e:
        case p.Operate("subtract", (p.Read(_), p.Read(feature) | p.Statistic(feature=feature))):
            return f"since_{_short(feature)}"
        case p.Operate("divide", (p.Read(over), p.Read(under))):
            return f"{_short(over)}_per_{_short(under)}"
        case p.Operate("add", (inner, p.Number(1.0))) if not isinstance(inner, p.Local):
            return _name(inner)
        case p.Operate("log" | "log1p", (p.Read(feature),)):
            return f"log_{_short(feature)}"
        case p.Compare() | p.Operate("and" | "or" | "not"):
            return "holds"
        case _:
            return "part"


def _short(feature: str) -> str:
    return feature.rpartition(".")[2]
