"""What a strategy decides: a proposal before it has a number."""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import Literal, Protocol

from vulcan.searches.population import JudgedReply, Population, ScoredCandidate

Form = Literal["full", "diff"]


@dataclass(frozen=True, slots=True)
class Draft:
    """What to build on, and how.

    `operator` is "initial" (one more idea beside the seed policies), "mutate" (change the first parent),
    "crossover" (combine the parents), "fresh" (a different idea) or "advice" (lessons instead of a program).
    The first parent is the one to change; `inspirations` are other candidates worth seeing. `form` is how the reply
    is to give the program; `advice` is shown in the prompt; `failures` are recent ones, for prompts that ask for
    advice. `round` counts from 1.
    """

    round: int
    operator: str
    parents: tuple[ScoredCandidate, ...]
    inspirations: tuple[ScoredCandidate, ...] = ()
    island: int = 0
    form: Form = "full"
    advice: str = ""
    failures: tuple[JudgedReply, ...] = ()


class Strategy(Protocol):
    """Decides from its arguments alone, so that a resumed search decides as the uninterrupted one would have."""

    def total(self) -> int:
        """How many proposals it would make without a budget."""

    def settled_before(self, number: int) -> int:
        """How many proposals must have their verdict before proposal `number` (from 0) can be drafted."""

    def draft(self, number: int, population: Population, rng: random.Random) -> Draft:
        """The proposal of that number.

        `population` holds the task's seed policies and the outcome of exactly the proposals of `settled_before`;
        `rng` is seeded for this proposal alone.
        """
