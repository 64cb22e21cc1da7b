"""Archives that evolve apart and now and then exchange their best."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import fmean

from vulcan.searches.population import Member
from vulcan.searches.strategies.archive import Archive, rank
from vulcan.searches.strategies.behaviour import Cell, Reference, cell_of


class Islands:
    """A ring of archives, filled from a population in its order.

    A candidate belongs to the island it was made on, a seed policy to all. After every `migrate_every` candidates the
    best of each island is copied to the next one on the ring.
    """

    def __init__(self, count: int, migrate_every: int, members: Sequence[Member]) -> None:
        """`members` holds the task's seed policies, as far as they have a score, and perhaps more."""
        self.archives = tuple(Archive() for _ in range(count))
        self._migrate_every = migrate_every
        self._reference = _usual([m for m in members if m.origin == "seed"] or members[:1])
        self._added = self._settlers = 0
        self._last: Member | None = None
        self._cells: dict[int, Cell] = {}
        self.extend(members)

    def follows(self, members: Sequence[Member]) -> bool:
        """Whether the members begin with those that have been added."""
        return 0 < self._added <= len(members) and members[self._added - 1] == self._last

    def extend(self, members: Sequence[Member]) -> None:
        """Add what is new among the members."""
        for member in members[self._added :]:
            self._add(member)

    def cell(self, member: Member) -> Cell:
        """The cell of a member that has been added."""
        return self._cells[member.candidate]

    def best(self, count: int) -> tuple[Member, ...]:
        """The best elites of all islands, each once, the best first."""
        found = {m.candidate: m for archive in self.archives for m in archive.ranked()[:count]}
        return tuple(sorted(found.values(), key=rank)[:count])

    def _add(self, member: Member) -> None:
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


def _usual(members: Sequence[Member]) -> Reference:
    """The mean score on each instance."""
    return tuple(fmean(column) for column in zip(*(m.scores for m in members), strict=True))
