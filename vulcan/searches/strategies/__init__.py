"""Search strategies, which decide what to ask for next: one file per strategy.

Sampling strategies: `best-of-n`, the control that every other strategy has to beat, and `policysmith`.

`policysmith` samples in rounds that are shown the best so far.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping

from vulcan.searches.config import SearchConfig
from vulcan.searches.options import StrategyName
from vulcan.searches.population import Population
from vulcan.searches.strategies.base import Draft, Form, Strategy
from vulcan.searches.strategies.engineer import ENGINEER, Engineer
from vulcan.searches.strategies.evolve import Evolve


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

    def barrier(self, number: int) -> int:
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

    def barrier(self, number: int) -> int:
        return number - number % self.samples

    def draft(self, number: int, population: Population, rng: random.Random) -> Draft:
        round_ = 1 + number // self.samples
        parents = population.best(self.parents, before_round=round_)
        return Draft(round_, "initial" if round_ == 1 else "mutate", parents)


class BestParents:
    """The strategy `evolve` for the offline generator: each proposal builds on the two best candidates so far.

    The first round builds on the two best policies that the search began with, which keeps it from climbing the first
    improvement that it meets. The generator chooses what to do with the two: change one, or cross them. Archives,
    which a language model's prompts take different examples from, were measured to be worse parents here.
    """

    def __init__(self, total: int, samples: int, in_flight: int) -> None:
        self._total = total
        self._samples = samples
        self._in_flight = in_flight

    def total(self) -> int:
        return self._total

    def barrier(self, number: int) -> int:
        return max(0, number - self._in_flight)

    def draft(self, number: int, population: Population, rng: random.Random) -> Draft:
        began = 1 if number < self._samples else None
        parents = population.best(_PARENTS, before_round=began)
        # Of a single parent the generator would only make changes if it were asked to
        return Draft(1 + number // self._samples, "mutate" if len(parents) == _PARENTS else "initial", parents)


_PARENTS = 2

__all__ = [
    "ENGINEER",
    "STRATEGIES",
    "BestOfN",
    "BestParents",
    "Draft",
    "Engineer",
    "Evolve",
    "Form",
    "PolicySmith",
    "Strategy",
    "make_strategy",
]


def _policysmith(config: SearchConfig, offline: bool) -> Strategy:
    return PolicySmith(config.rounds, config.samples, config.parents)


def _best_of_n(config: SearchConfig, offline: bool) -> Strategy:
    return BestOfN(config.candidates, config.samples, offline=offline)


def _evolve(config: SearchConfig, offline: bool) -> Strategy:
    if offline:
        return BestParents(config.candidates, config.samples, config.in_flight)
    return Evolve(
        total=config.candidates,
        samples=config.samples,
        parents=config.parents,
        islands=config.islands,
        in_flight=config.in_flight,
        migrate_every=config.migrate_every,
        advice_every=config.advice_every,
        diff=config.diff,
    )


def _engineer(config: SearchConfig, offline: bool) -> Strategy:
    return Engineer(-(-config.candidates // config.drafts), config.samples, config.in_flight)


STRATEGIES: Mapping[StrategyName, Callable[[SearchConfig, bool], Strategy]] = {
    "policysmith": _policysmith,
    "evolve": _evolve,
    "best-of-n": _best_of_n,
    "engineer": _engineer,
}


def make_strategy(config: SearchConfig, offline: bool) -> Strategy:
    """Return the strategy that a configuration names.

    `offline` means that no language model takes part: the generator follows a proposal's operator and parents, and
    reads no prompt.
    """
    return STRATEGIES[config.strategy](config, offline)
