"""Expressions as trees of changeable parts (`vulcan.anvil.rewrite.traversal` replaces them)."""

from __future__ import annotations

from collections.abc import Iterator

from vulcan.anvil import ir
from vulcan.anvil.rewrite.traversal import Path


def subexpressions(e: ir.Expression, path: Path = ()) -> Iterator[tuple[Path, ir.Expression]]:
    """Yield every part with its path, in pre-order.

    The value that a statistic looks for and the index of an array are not parts: nothing else fits there.
    """
    yield path, e
    if isinstance(e, ir.Occurrences | ir.Element):
        return
    for index, part in enumerate(ir.children(e)):
        yield from subexpressions(part, (*path, index))


def is_larger(e: ir.Expression, limit: int) -> bool:
    """Check whether the expression has more than `limit` nodes, without counting further than that."""
    return any(index >= limit for index, _ in enumerate(subexpressions(e)))


def at(e: ir.Expression, path: Path) -> ir.Expression:
    for index in path:
        e = ir.children(e)[index]
    return e


def is_constant(e: ir.Expression) -> bool:
    varying = ir.Read | ir.Statistic | ir.Occurrences | ir.Query | ir.Local | ir.Call | ir.Cell | ir.Element
    return not any(isinstance(part, varying) for _, part in subexpressions(e))


def operate(operation: str, *operands: ir.Expression) -> ir.Operate:
    return ir.Operate(operation, operands)
