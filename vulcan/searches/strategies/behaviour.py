"""What kind of candidate one is: the cell of a MAP-Elites archive (Mouret and Clune, 2015) that it competes for."""

from __future__ import annotations

import ast
import math

from vulcan.searches.population import Member

Cell = tuple[tuple[str, ...], int]
"""Its behaviour, and its complexity on a logarithmic scale."""

Reference = tuple[float, ...]


def cell_of(member: Member, reference: Reference) -> Cell:
    """The cell of a candidate.

    With several instances its behaviour is which of them it is good at: the one on which it gains most over
    `reference`, the scores of an ordinary candidate. With one instance it is what the program reads.
    """
    return (strength(member, reference) if len(member.scores) > 1 else reads(member.source)), complexity(member)


def strength(member: Member, reference: Reference) -> tuple[str, ...]:
    """The number of the instance with the largest gain over the reference; of equals the first."""
    gains = [score - usual for score, usual in zip(member.scores, reference, strict=True)]
    return (str(max(range(len(gains)), key=lambda i: (gains[i], -i))),)


def complexity(member: Member) -> int:
    """Doublings of the program's size."""
    return int(math.log2(max(member.size, 1)))


def reads(source: str) -> tuple[str, ...]:
    """The features and statistics that a program reads, as `now`, `obj.size` and `obj.count.ewma`, sorted."""
    tree = ast.parse(source)
    entry = [node for node in tree.body if isinstance(node, ast.FunctionDef)][-1:]
    arguments = {a.arg for function in entry for a in function.args.args}
    found: set[str] = set()
    pending: list[ast.AST] = [tree]
    while pending:
        node = pending.pop()
        name = _dotted(node)
        if name is None:
            pending.extend(ast.iter_child_nodes(node))
        elif not name.startswith("math.") and ("." in name or name in arguments):
            found.add(name)
    return tuple(sorted(found))


def _dotted(node: ast.AST) -> str | None:
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute):
        owner = _dotted(node.value)
        return owner and f"{owner}.{node.attr}"
    return None
