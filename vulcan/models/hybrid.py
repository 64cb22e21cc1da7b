"""The offline generator and language models in one search: which writes the next candidate."""

from __future__ import annotations

import random
from collections.abc import Sequence

from vulcan.models.bandit import Trial, choose_arm, dollars_of, mean_cost

DOLLARS_AN_HOUR = 1.0
"""What an hour of waiting and scoring counts for where nobody says otherwise: about a rented machine of 16 cores."""


def choose_source(
    arms: Sequence[str], history: Sequence[Trial], rng: random.Random, *, dollars_an_hour: float = DOLLARS_AN_HOUR
) -> str:
    """The arm to ask next, by gain per what it costs in dollars and in seconds (`choose_arm`).

    A proposal's cost is its dollars and its seconds at `dollars_an_hour`. Where the price of an arm is not known
    only the seconds count; where an arm took no time at all, the gain per proposal.

    The choice follows from `history`, the settled trials in order, and from `rng`. The history holds measured
    seconds: a replay, or a run that is resumed, has them from its store and chooses alike, but a fresh run, whose
    calls and scoring take other times, need not.
    """
    hourly = dollars_an_hour / 3600
    dollars = dollars_of(arms, history)
    costs = [t.seconds * hourly + (0.0 if dollars is None else dollars[i]) for i, t in enumerate(history)]
    if any(mean_cost(arm, history, costs) <= 0 for arm in arms):
        costs = [1.0] * len(history)
    return choose_arm(arms, history, costs, rng)
