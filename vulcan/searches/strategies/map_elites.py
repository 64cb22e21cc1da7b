"""The best candidate of each kind.

What kind of candidate one is: the cell of a MAP-Elites archive (Mouret and Clune, 2015) that it competes for.

Archives that evolve apart and now and then exchange their best.
"""

from __future__ import annotations

import ast
import math
from collections.abc import Iterator, Sequence
from statistics import fmean

from vulcan.searches.population import ScoredCandidate

Cell = tuple[tuple[str, ...], int]
"""Its behaviour, and its complexity on a logarithmic scale."""

Reference = tuple[float, ...]


def cell_of(member: ScoredCandidate, reference: Reference) -> Cell:
    """The cell of a candidate.

    With several instances its behaviour is which of them it is good at: the one on which it gains most over
    `reference`, the scores of an ordinary candidate. With one instance it is what the program reads.
    """
    return (strength(member, reference) if len(member.scores) > 1 else reads(member.source)), complexity(member)


def strength(member: ScoredCandidate, reference: Reference) -> tuple[str, ...]:
    """The number of the instance with the largest gain over the reference; of equals the first."""
    gains = [score - usual for score, usual in zip(member.scores, reference, strict=True)]
    return (str(max(range(len(gains)), key=lambda i: (gains[i], -i))),)


def complexity(member: ScoredCandidate) -> int:
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


def rank(member: ScoredCandidate) -> tuple[float, int]:
    """Sorts the best first; of equals the earlier."""
    return -member.score, member.candidate


class Archive:
    """A MAP-Elites archive: a cell keeps the best candidate that ever came to it."""

    def __init__(self) -> None:
        self._elites: dict[Cell, ScoredCandidate] = {}
        self._ranked: tuple[ScoredCandidate, ...] | None = None

    def add(self, cell: Cell, member: ScoredCandidate) -> bool:
        """Whether the candidate is the cell's elite now."""
        held = self._elites.get(cell)
        if held is not None and rank(held) <= rank(member):
            return False
        self._elites[cell] = member
        self._ranked = None
        return True

    def ranked(self) -> tuple[ScoredCandidate, ...]:
        """The elites of all cells, the best first."""
        if self._ranked is None:
            self._ranked = tuple(sorted(self._elites.values(), key=rank))
        return self._ranked

    def items(self) -> Iterator[tuple[Cell, ScoredCandidate]]:
        """Cells with their elites, the best first."""
        return iter(sorted(self._elites.items(), key=lambda item: rank(item[1])))

    def __len__(self) -> int:
        return len(self._elites)


class Islands:
    """A ring of archives, filled from a population in its order.

    A candidate belongs to the island it was made on, a seed policy to all. After every `migrate_every` candidates the
    best of each island is copied to the next one on the ring.
    """

    def __init__(self, count: int, migrate_every: int, members: Sequence[ScoredCandidate]) -> None:
        """`members` holds the task's seed policies, as far as they have a score, and perhaps more."""
        self.archives = tuple(Archive() for _ in range(count))
        self._migrate_every = migrate_every
        self._reference = _usual([m for m in members if m.origin == "seed"] or members[:1])
        self._added = self._settlers = 0
        self._last: ScoredCandidate | None = None
        self._cells: dict[int, Cell] = {}
        self.extend(members)

    def follows(self, members: Sequence[ScoredCandidate]) -> bool:
        """Whether the members begin with those that have been added."""
        return 0 < self._added <= len(members) and members[self._added - 1] == self._last

    def extend(self, members: Sequence[ScoredCandidate]) -> None:
        """Add what is new among the members."""
        for member in members[self._added :]:
            self._add(member)

    def cell(self, member: ScoredCandidate) -> Cell:
        """The cell of a member that has been added."""
        return self._cells[member.candidate]

    def best(self, count: int) -> tuple[ScoredCandidate, ...]:
        """The best elites of all islands, each once, the best first."""
        found = {m.candidate: m for archive in self.archives for m in archive.ranked()[:count]}
        return tuple(sorted(found.values(), key=rank)[:count])

    def _add(self, member: ScoredCandidate) -> None:
        self._added += 1
        self._last = member
        cell = self._cells[member.candidate] = cell_of(member, self._reference)
        if member.origin == "seed":
            for archive in self.archives:
                archive.add(cell, member)
            return
        self.archives[member.island % len(self.archives)].add(cell, member)
        self._settlers += 1
        if self._settlers % self._migrate_every == 0:
            self._migrate()

    def _migrate(self) -> None:
        leaving = [archive.ranked()[:1] for archive in self.archives]
        for index, travellers in enumerate(leaving):
            for traveller in travellers:
                self.archives[(index + 1) % len(self.archives)].add(self.cell(traveller), traveller)


def _usual(members: Sequence[ScoredCandidate]) -> Reference:
    """The mean score on each instance."""
    return tuple(fmean(column) for column in zip(*(m.scores for m in members), strict=True))
