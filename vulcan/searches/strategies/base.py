"""The interface of strategies, and the drafts that they return: proposals before they have a number."""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import Literal, Protocol

from vulcan.searches.population import JudgedReply, Population, ScoredCandidate

Form = Literal["full", "diff"]


@dataclass(frozen=True, slots=True)
class Draft:
    """The parents and operator of a proposal.

    `operator` is "initial" (one more idea besides the seed policies), "mutate" (change the first parent),
    "crossover" (combine the parents), "fresh" (a different idea), "engineer" (a conversation), "advice" (lessons
    instead of a program) or "added" (a program of the user's). The first parent is the one to change; `inspirations`
    are other candidates to show.
    `form` is the requested form of the program; `advice` and the user's `hints` are shown in the prompt; `failures` are
    recent ones, for prompts that ask for advice. `round` counts from 1.
    """

    round: int
    operator: str
    parents: tuple[ScoredCandidate, ...]
    inspirations: tuple[ScoredCandidate, ...] = ()
    island: int = 0
    form: Form = "full"
    advice: str = ""
    failures: tuple[JudgedReply, ...] = ()
    hints: tuple[str, ...] = ()


class Strategy(Protocol):
    """A search strategy, which decides from its arguments alone.

    So a resumed search decides as the uninterrupted one would have.
    """

    def total(self) -> int:
        """Return the number of proposals without a budget."""

    def barrier(self, number: int) -> int:
        """Return the number of proposals that must have a verdict before proposal `number` (from 0) is drafted."""

    def draft(self, number: int, population: Population, rng: random.Random) -> Draft:
        """Draft the proposal of that number.

        `population` holds the task's seed policies and the outcome of exactly the proposals of `barrier`;
        `rng` is seeded for this proposal alone.
        """
