"""The best candidate of each kind."""

from __future__ import annotations

from collections.abc import Iterator

from vulcan.searches.population import Member
from vulcan.searches.strategies.behaviour import Cell


def rank(member: Member) -> tuple[float, int]:
    """Sorts the best first; of equals the earlier."""
    return -member.score, member.candidate


class Archive:
    """A MAP-Elites archive: a cell keeps the best candidate that ever came to it."""

    def __init__(self) -> None:
        self._elites: dict[Cell, Member] = {}
        self._ranked: tuple[Member, ...] | None = None

    def add(self, cell: Cell, member: Member) -> bool:
        """Whether the candidate is the cell's elite now."""
        held = self._elites.get(cell)
        if held is not None and rank(held) <= rank(member):
            return False
        self._elites[cell] = member
        self._ranked = None
        return True

    def ranked(self) -> tuple[Member, ...]:
        """The elites of all cells, the best first."""
        if self._ranked is None:
            self._ranked = tuple(sorted(self._elites.values(), key=rank))
        return self._ranked

    def items(self) -> Iterator[tuple[Cell, Member]]:
        """Cells with their elites, the best first."""
        return iter(sorted(self._elites.items(), key=lambda item: rank(item[1])))

    def __len__(self) -> int:
        return len(self._elites)
