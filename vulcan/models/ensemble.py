"""Several models in one search: a bandit on gain per cost chooses among them, with failover."""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from dataclasses import dataclass, replace

from vulcan.errors import UserError
from vulcan.models.base import ModelUnavailable, Proposer, Reply, Request, RequestRefused

FIRST_TRIES = 3
"""Outcomes of each arm before gains count."""

WINDOW = 200
"""Size of the sliding window of outcomes: gains shrink over a search, and what helps early need not help late."""

_FULL_GAIN_SHARE = 0.9  # of the gains above 0: larger ones count as that, so that one lucky find does not rule


@dataclass(frozen=True, slots=True)
class ArmOutcome:
    """The outcome of one proposal: its model, its program's gain over its parents, and its cost.

    `gain` is 0 or more (`gain_of`). `dollars` is None where the price is not known. `seconds` is the reply's latency,
    plus its scoring time where that counts.
    """

    arm: str
    gain: float
    dollars: float | None
    seconds: float = 0.0


def gain_of(score: float | None, before: Sequence[float]) -> float:
    """Return by how much a score exceeds the best of `before` (a proposal's parents); 0 without either."""
    if score is None or not before:
        return 0.0
    return max(0.0, score - max(before))


def choose_arm(arms: Sequence[str], trials: Sequence[ArmOutcome], costs: Sequence[float], rng: random.Random) -> str:
    """Choose the arm with the highest draw of gain per cost; `costs` are those of `trials`, above 0.

    Thompson sampling for bandits with costs, which draws each arm's gain and cost and compares the ratios (Xia, Li,
    Qin, Yu, Liu: "Thompson Sampling for Budgeted Multi-armed Bandits", IJCAI 2015), with the non-parametric draws of
    Riou and Honda ("Bandit Algorithms Based on Thompson Sampling for Bounded Reward Distributions", ALT 2020): the
    arm's trials and one more of the largest gain, weighted at random (uniformly on the simplex). Gains are scaled to
    [0, 1] by their 90th percentile; the last 200 trials count (Trovo, Paladino, Restelli, Gatti: "Sliding-Window
    Thompson Sampling for Non-Stationary Environments", JAIR 2020). Draws rather than bounds, so that the proposals
    of a round, which all see one history, are spread over the arms.

    Arms with fewer than 3 trials come first, at random. The same arguments and state of `rng` give the same choice.
    """
    tried = [sum(trial.arm == arm for trial in trials) for arm in arms]
    if untried := [arm for arm, count in zip(arms, tried, strict=True) if count < FIRST_TRIES]:
        return rng.choice(untried)
    recent = list(zip(trials, costs, strict=True))[-WINDOW:]
    full = _full_gain([trial.gain for trial, _ in recent])
    draws = []
    for arm in arms:
        usual = mean_cost(arm, trials, costs)
        outcomes = [(min(1.0, trial.gain / full), cost) for trial, cost in recent if trial.arm == arm]
        weights = [rng.expovariate(1.0) for _ in range(len(outcomes) + 1)]
        gained = sum(w * gain for w, (gain, _) in zip(weights[1:], outcomes, strict=True)) + weights[0]
        paid = sum(w * cost for w, (_, cost) in zip(weights[1:], outcomes, strict=True)) + weights[0] * usual
        draws.append(gained / paid)
    return arms[draws.index(max(draws))]


def mean_cost(arm: str, trials: Sequence[ArmOutcome], costs: Sequence[float]) -> float:
    """Return the mean cost of an arm's outcomes, 0 where there are none."""
    paid = [cost for trial, cost in zip(trials, costs, strict=True) if trial.arm == arm]
    return sum(paid) / len(paid) if paid else 0.0


def dollars_of(arms: Sequence[str], trials: Sequence[ArmOutcome]) -> list[float] | None:
    """Return the dollars of each outcome, an unknown one at its arm's mean; None where an arm's price is not known.

    Outcomes of other arms count 0.
    """
    means: dict[str, float] = {}
    for arm in arms:
        mine = [trial.dollars for trial in trials if trial.arm == arm]
        known = [dollars for dollars in mine if dollars is not None]
        if mine and not known:
            return None
        means[arm] = sum(known) / len(known) if known else 0.0
    return [means.get(t.arm, 0.0) if t.dollars is None else t.dollars for t in trials]


def _full_gain(gains: Sequence[float]) -> float:
    """Return the gain that counts as 1."""
    positive = sorted(gain for gain in gains if gain > 0)
    return positive[math.floor(_FULL_GAIN_SHARE * len(positive))] if positive else 1.0


def choose_model(
    models: Sequence[str], history: Sequence[ArmOutcome], rng: random.Random, dollars_per_hour: float = 0.0
) -> str:
    """Choose the model to ask next, by gain per cost (`choose_arm`).

    A proposal costs its dollars, and its seconds at `dollars_per_hour`; where the price of a model is not known only
    the seconds count. Where a model costs nothing at all, models are compared by gain per proposal.

    The choice follows from `history`, the outcomes in order, and from `rng`, so that a resumed or replayed search makes
    the same one. Where seconds count, a fresh run need not: its calls take other times.
    """
    dollars = dollars_of(models, history)
    hourly = dollars_per_hour / 3600
    costs = [t.seconds * hourly + (0.0 if dollars is None else dollars[i]) for i, t in enumerate(history)]
    if any(mean_cost(model, history, costs) <= 0 for model in models):
        costs = [1.0] * len(history)
    return choose_arm(models, history, costs, rng)


DOLLARS_PER_HOUR = 1.0
"""Price of an hour of waiting and scoring: about that of a rented 16-core machine."""


class Ensemble:
    """A `Proposer` over several models; each request names one, and `Reply.by` is the one that answered.

    Where the named one is unavailable the others are tried in order, starting after it; where it is none of them, as of
    a search that was resumed without it, the first is asked first. Raises UserError for two models of one name.
    """

    def __init__(self, models: Sequence[Proposer]) -> None:
        self._models = {model.name: model for model in models}
        if not models or len(self._models) < len(models):
            raise UserError("an ensemble takes one model or more, each once")

    @property
    def name(self) -> str:
        return ",".join(self._models)

    def propose(self, request: Request) -> Reply:
        """Return one reply. Raises ModelUnavailable where no model answers, and at once what else a model raises."""
        names = tuple(self._models)
        start = names.index(request.model) if request.model in names else 0
        faults = []
        for name in (*names[start:], *names[:start]):
            try:
                return replace(self._models[name].propose(request), by=name)
            except ModelUnavailable as error:
                faults.append(error)
        refused = all(isinstance(fault, RequestRefused) for fault in faults)
        raise (RequestRefused if refused else ModelUnavailable)("; ".join(map(str, faults)))

    def close(self) -> None:
        for model in self._models.values():
            model.close()
