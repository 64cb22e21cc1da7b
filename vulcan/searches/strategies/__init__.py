"""Search strategies, which decide what to ask for next: those that draft in a few lines here, and `evolve`."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass

from vulcan.searches.config import SearchConfig
from vulcan.searches.population import Population
from vulcan.searches.strategies.base import Draft, Form, Strategy
from vulcan.searches.strategies.evolve import Evolve

__all__ = ["ENGINEER", "Draft", "Evolve", "Form", "Strategy", "make_strategy", "page_of"]


ENGINEER = "engineer"
"""Operator of a proposal that is a conversation."""

NOTEBOOK = 4_000
"""Most of the notebook that is shown, in characters: a page."""

_OTHERS = 8
"""Candidates behind the best, at most half of all, of which a conversation is shown one: so those in flight differ."""


class Engineer(Strategy):
    """Conversations that begin with the best candidate, another good one, and the notes of earlier conversations."""

    def draft(self, number: int, population: Population, rng: random.Random) -> Draft:
        best, *others = population.best(1 + min(_OTHERS, len(population.members) // 2)) or (None,)
        parents = tuple(m for m in (best, rng.choice(others) if others else None) if m is not None)
        return Draft(self.round(number), ENGINEER, parents, advice=page_of(population.advice))


def page_of(notes: Sequence[tuple[int, str]]) -> str:
    """Return the latest notes of a search that fit on a page, each with its proposal, the oldest first."""
    lines: list[str] = []
    left = NOTEBOOK
    for proposal, text in reversed(notes):
        for line in reversed(text.splitlines()):
            lines.append(f"- (proposal {proposal}) {line}")
            left -= len(lines[-1]) + 1
            if left < 0:
                return "\n".join(lines[-2::-1])
    return "\n".join(lines[::-1])


@dataclass
class BestOfN(Strategy):
    """Independent samples without feedback: what every other strategy has to beat.

    A model is shown the task's seed policies and never a candidate; the `offline` generator is shown nothing and writes
    only new programs.
    """

    offline: bool

    def barrier(self, number: int) -> int:
        return 0

    def draft(self, number: int, population: Population, rng: random.Random) -> Draft:
        if self.offline:
            return Draft(self.round(number), "fresh", ())
        seeds = [m for m in population.members if m.origin == "seed"]
        return Draft(self.round(number), "initial", tuple(sorted(seeds, key=lambda m: (-m.score, m.candidate))))


@dataclass
class PolicySmith(Strategy):
    """Rounds of independent samples, each shown the best of all earlier rounds (PolicySmith, HotNets 2025)."""

    parents: int

    def barrier(self, number: int) -> int:
        return number - number % self.samples

    def draft(self, number: int, population: Population, rng: random.Random) -> Draft:
        now = self.round(number)
        return Draft(now, "initial" if now == 1 else "mutate", population.best(self.parents, before_round=now))


class BestParents(Strategy):
    """The strategy `evolve` for the offline generator: each proposal builds on the two best candidates so far.

    The first round builds on the two best policies that the search began with, which keeps it from climbing the first
    improvement that it meets. The generator chooses what to do with the two: change one, or cross them. Archives,
    which a language model's prompts take different examples from, were measured to be worse parents here.
    """

    def draft(self, number: int, population: Population, rng: random.Random) -> Draft:
        began = 1 if number < self.samples else None
        parents = population.best(_PARENTS, before_round=began)
        # Of a single parent the generator would only make changes if it were asked to
        return Draft(self.round(number), "mutate" if len(parents) == _PARENTS else "initial", parents)


_PARENTS = 2


def make_strategy(config: SearchConfig, offline: bool) -> Strategy:
    """Return the strategy that a configuration names.

    `offline` means that no language model takes part: the generator follows a proposal's operator and parents, and
    reads no prompt.
    """
    common = config.samples, config.in_flight
    match config.strategy:
        case "policysmith":
            return PolicySmith(config.rounds * config.samples, *common, config.parents)
        case "best-of-n":
            return BestOfN(config.candidates, *common, offline)
        case "engineer":
            return Engineer(-(-config.candidates // config.drafts), *common)
        case "evolve":
            return BestParents(config.candidates, *common) if offline else Evolve(config)
