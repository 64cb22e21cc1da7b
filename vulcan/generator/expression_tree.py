"""Expressions as trees: what of them the generator may change (see `vulcan.anvil.rewrite.traversal` for how)."""

from __future__ import annotations

from collections.abc import Iterator

from vulcan.anvil import ir as p
from vulcan.anvil.rewrite.traversal import Path


def places(e: p.Expression, path: Path = ()) -> Iterator[tuple[Path, p.Expression]]:
    """Every part with its path, outer ones before their own parts.

    What a statistic looks for is not a part on its own: nothing else fits in its place.
    """
    yield path, e
    if isinstance(e, p.Occurrences):
        return
    for index, part in enumerate(p.children(e)):
        yield from places(part, (*path, index))


def is_larger(e: p.Expression, most: int) -> bool:
    """Whether it has more than `most` nodes, at no more work than counting to that."""
    return any(index >= most for index, _ in enumerate(places(e)))


def at(e: p.Expression, path: Path) -> p.Expression:
    for index in path:
        e = p.children(e)[index]
    return e


def is_constant(e: p.Expression) -> bool:
    varying = p.Read | p.Statistic | p.Occurrences | p.Query | p.Local | p.Call
    return not any(isinstance(part, varying) for _, part in places(e))


def operate(operation: str, *operands: p.Expression) -> p.Operate:
    return p.Operate(operation, operands)
