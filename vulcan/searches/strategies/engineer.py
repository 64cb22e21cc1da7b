"""The strategy `engineer`: each proposal is a conversation, in which the model uses tools before it gives a program."""

from __future__ import annotations

import random
from collections.abc import Sequence

from vulcan.searches.population import Population
from vulcan.searches.strategies.base import Draft, Strategy

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
