"""The interface of strategies, and the drafts that they return: proposals before they have a number."""

from __future__ import annotations

import random
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Literal

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


@dataclass
class Strategy(ABC):
    """A search strategy, which decides from its arguments alone; `total` proposals without a budget.

    So a resumed search decides as the uninterrupted one would have. A round has `samples` proposals, and `in_flight` of
    them may be under way as another is drafted.
    """

    total: int
    samples: int
    in_flight: int

    def barrier(self, number: int) -> int:
        """Return the number of proposals that must have a verdict before proposal `number` (from 0) is drafted."""
        return max(0, number - self.in_flight)

    def round(self, number: int) -> int:
        return 1 + number // self.samples

    @abstractmethod
    def draft(self, number: int, population: Population, rng: random.Random) -> Draft:
        """Draft the proposal of that number.

        `population` holds the task's seed policies and the outcome of exactly the proposals of `barrier`;
        `rng` is seeded for this proposal alone.
        """
