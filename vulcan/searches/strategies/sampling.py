"""Sampling strategies: `best-of-n`, the control that every other strategy has to beat, and `policysmith`.

`policysmith` samples in rounds that are shown the best so far.
"""

from __future__ import annotations

import random

from vulcan.searches.population import Population
from vulcan.searches.strategies.base import Draft


class BestOfN:
    """Independent samples without feedback: a model is shown the task's seed policies and never a candidate.

    The offline generator is shown nothing and writes only new programs.
    """

    def __init__(self, total: int, samples: int, *, offline: bool) -> None:
        self._total = total
        self._samples = samples
        self._offline = offline

    def total(self) -> int:
        return self._total

    def settled_before(self, number: int) -> int:
        return 0

    def draft(self, number: int, population: Population, rng: random.Random) -> Draft:
        round_ = 1 + number // self._samples
        if self._offline:
            return Draft(round_, "fresh", ())
        seeds = [m for m in population.members if m.origin == "seed"]
        return Draft(round_, "initial", tuple(sorted(seeds, key=lambda m: (-m.score, m.candidate))))


class PolicySmith:
    """Rounds of independent samples, each shown the best of all earlier rounds (PolicySmith, HotNets 2025)."""

    def __init__(self, rounds: int, samples: int, parents: int) -> None:
        self.rounds = rounds
        self.samples = samples
        self.parents = parents

    def total(self) -> int:
        return self.rounds * self.samples

    def settled_before(self, number: int) -> int:
        return number - number % self.samples

    def draft(self, number: int, population: Population, rng: random.Random) -> Draft:
        round_ = 1 + number // self.samples
        parents = population.best(self.parents, before_round=round_)
        return Draft(round_, "initial" if round_ == 1 else "mutate", parents)
