"""Which operator comes next, and on which parents."""

from __future__ import annotations

import random
from dataclasses import dataclass

from vulcan.searches.population import Member
from vulcan.searches.strategies.archive import Archive

_MEDIAN = 0.6931471805599453
"""Of the exponential distribution with mean 1."""


@dataclass(frozen=True, slots=True)
class Schedule:
    """How often which operator is used, and how parents are drawn.

    Programs that build on nothing (`first`) are a share `at_first` of the first proposals, and half of that is gone
    every `halves` proposals on. Of all others `crossover` and `fresh` are shares; the rest mutate. `uniform` is the
    share of parents that are drawn from all elites alike; for the others the odds of an elite fall by half every
    `half_rank` ranks.
    """

    first: str
    at_first: float
    halves: float
    crossover: float
    fresh: float
    uniform: float
    half_rank: float

    def operator(self, rng: random.Random, number: int, elites: int) -> str:
        """The operator of proposal `number`, from 0, where there are `elites` to build on."""
        if elites == 0 or rng.random() < self.at_first * 0.5 ** (number / self.halves):
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
            drawn = int(rng.expovariate(_MEDIAN / self.half_rank))
            if drawn < count:
                return drawn
        return rng.randrange(count)


LANGUAGE_MODEL = Schedule("initial", 1.0, 10.0, crossover=0.2, fresh=0.1, uniform=0.15, half_rank=2.0)
OFFLINE = Schedule("fresh", 0.6, 20.0, crossover=0.25, fresh=0.05, uniform=0.15, half_rank=2.0)
