"""Expressions as trees: their parts, addressed by the way down from the root."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from vulcan.anvil import program as p

Path = tuple[int, ...]


def places(e: p.Expression, path: Path = ()) -> Iterator[tuple[Path, p.Expression]]:
    """Every part with its path, outer ones before their own parts.

    What a statistic looks for is not a part on its own: nothing else fits in its place.
    """
    yield path, e
    if isinstance(e, p.Occurrences):
        return
    for index, part in enumerate(p.children(e)):
        yield from places(part, (*path, index))


def size(e: p.Expression) -> int:
    return 1 + sum(size(part) for part in p.children(e))


def is_larger(e: p.Expression, most: int) -> bool:
    """Whether it has more than `most` nodes, at no more work than counting to that."""
    return any(index >= most for index, _ in enumerate(places(e)))


def with_children(e: p.Expression, parts: tuple[p.Expression, ...]) -> p.Expression:
    match e:
        case p.Operate() | p.Compare():
            return replace(e, operands=parts)
        case p.Choose():
            test, then, otherwise = parts
            return p.Choose(test, then, otherwise)
        case p.Call():
            return replace(e, arguments=parts)
        case p.Occurrences():
            return replace(e, value=parts[0])
        case _:
            return e


def replaced(e: p.Expression, path: Path, new: p.Expression) -> p.Expression:
    """The tree with another part at the path."""
    if not path:
        return new
    parts = list(p.children(e))
    parts[path[0]] = replaced(parts[path[0]], path[1:], new)
    return with_children(e, tuple(parts))


def at(e: p.Expression, path: Path) -> p.Expression:
    for index in path:
        e = p.children(e)[index]
    return e


def is_constant(e: p.Expression) -> bool:
    varying = p.Read | p.Statistic | p.Occurrences | p.Query | p.Local | p.Call
    return not any(isinstance(part, varying) for _, part in places(e))


def operate(operation: str, *operands: p.Expression) -> p.Operate:
    return p.Operate(operation, operands)
