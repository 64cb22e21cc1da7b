"""Which operator comes next, and on which parents."""

from __future__ import annotations

import random
from dataclasses import dataclass

from vulcan.search.population import Member
from vulcan.search.strategies.archive import Archive


@dataclass(frozen=True, slots=True)
class Schedule:
    """How often which operator is used, and how parents are drawn.

    The first `initial` proposals, or that share of the search where it is less, are independent of one another
    (`first`). `crossover` and `fresh` are shares of all later ones; the rest mutate. `uniform` is the share of parents
    drawn from all elites alike; for the others the odds of an elite fall by half every `half_rank` ranks.
    """

    first: str
    initial: int
    initial_share: float
    crossover: float
    fresh: float
    uniform: float
    half_rank: float

    def operator(self, rng: random.Random, progress: float, number: int, elites: int) -> str:
        """The operator of proposal `number`, where `progress` of the search lies behind it and there are `elites`."""
        if elites == 0 or (number < self.initial and progress < self.initial_share):
            return self.first
        drawn = rng.random()
        if drawn < self.fresh:
            return "fresh"
        return "crossover" if drawn < self.fresh + self.crossover and elites > 1 else "mutate"

    def parents(self, rng: random.Random, operator: str, archive: Archive, most: int) -> tuple[Member, ...]:
        """Distinct elites, in the order drawn: one to mutate, up to `most` to cross, none for a program of its own."""
        if operator not in ("mutate", "crossover"):
            return ()
        left = list(archive.ranked())
        count = min(1 if operator == "mutate" else most, len(left))
        return tuple(left.pop(self._rank(rng, len(left))) for _ in range(count))

    def _rank(self, rng: random.Random, count: int) -> int:
        if rng.random() >= self.uniform:
            drawn = int(rng.expovariate(0.6931471805599453 / self.half_rank))
            if drawn < count:
                return drawn
        return rng.randrange(count)


LANGUAGE_MODEL = Schedule("initial", 12, 0.1, crossover=0.2, fresh=0.1, uniform=0.15, half_rank=2.0)
OFFLINE = Schedule("fresh", 40, 0.15, crossover=0.25, fresh=0.05, uniform=0.15, half_rank=2.0)
