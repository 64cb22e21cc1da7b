"""How a search decides what to ask for next."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from vulcan.errors import UserError, nearest
from vulcan.search.config import SearchConfig
from vulcan.search.population import Member, Population


@dataclass(frozen=True, slots=True)
class Draft:
    """A proposal before it has a number: what to build on, and how."""

    round: int
    operator: str
    parents: tuple[Member, ...]


class Strategy(Protocol):
    """Decides from the population alone, so that a resumed search decides as the uninterrupted one would have."""

    def total(self) -> int:
        """How many proposals it would make without a budget."""

    def settled_before(self, number: int) -> int:
        """How many proposals must have their verdict before proposal `number` (from 0) can be drafted."""

    def draft(self, number: int, population: Population) -> Draft:
        """The proposal of that number; called once those of `settled_before` are in the population."""


class PolicySmith:
    """Rounds of independent samples, each round shown the best of all rounds before (PolicySmith, HotNets 2025)."""

    def __init__(self, rounds: int, samples: int, parents: int) -> None:
        self.rounds = rounds
        self.samples = samples
        self.parents = parents

    def total(self) -> int:
        return self.rounds * self.samples

    def settled_before(self, number: int) -> int:
        return number - number % self.samples

    def draft(self, number: int, population: Population) -> Draft:
        round_ = 1 + number // self.samples
        parents = population.best(self.parents, before_round=round_)
        return Draft(round_, "initial" if round_ == 1 else "mutate", parents)


STRATEGIES = {"policysmith": PolicySmith}


def make_strategy(config: SearchConfig) -> Strategy:
    """The strategy that a configuration names. Raises UserError."""
    if config.strategy not in STRATEGIES:
        known = ", ".join(STRATEGIES)
        raise UserError(f"no strategy {config.strategy!r}{nearest(config.strategy, STRATEGIES)} (known: {known})")
    return STRATEGIES[config.strategy](config.rounds, config.samples, config.parents)
