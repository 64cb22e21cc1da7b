"""Several models in one search: which is asked, and who answers where it does not."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import replace

from vulcan.errors import UserError, nearest
from vulcan.models.bandit import Trial, choose_arm, dollars_of, mean_cost
from vulcan.models.base import ModelUnavailable, Proposer, Reply, Request


def choose_model(models: Sequence[str], history: Sequence[Trial], rng: random.Random) -> str:
    """The model to ask next, by gain per dollar (`choose_arm`).

    `history` is the settled trials in their order: the choice follows from it and from `rng` alone, so that a
    resumed or replayed search chooses alike. Where the price of a model is not known, or is 0, all are compared by
    gain per proposal, for a ratio of dollars would say nothing.
    """
    dollars = dollars_of(models, history)
    if dollars is None or any(mean_cost(model, history, dollars) <= 0 for model in models):
        dollars = [1.0] * len(history)
    return choose_arm(models, history, dollars, rng)


class Ensemble:
    """A `Proposer` of several; each request names the one that is to answer, `Reply.by` is the one that did.

    Where that one is unavailable the others are asked in their order, beginning after it. Raises UserError for two
    models of one name.
    """

    def __init__(self, models: Sequence[Proposer]) -> None:
        self._models = {model.name: model for model in models}
        if not models or len(self._models) < len(models):
            raise UserError("an ensemble takes one model or more, each once")

    @property
    def name(self) -> str:
        return ",".join(self._models)

    @property
    def models(self) -> tuple[str, ...]:
        """The names, in order: the arms of `choose_model`."""
        return tuple(self._models)

    def propose(self, request: Request) -> Reply:
        """One reply. Raises ModelUnavailable where no model answers, and at once what else a model raises."""
        names = self.models
        first = request.model or names[0]
        if first not in self._models:
            raise UserError(f"the ensemble has no model {first!r}{nearest(first, names)} (it has {self.name})")
        start = names.index(first)
        faults = []
        for name in (*names[start:], *names[:start]):
            try:
                return replace(self._models[name].propose(request), by=name)
            except ModelUnavailable as error:
                faults.append(str(error))
        raise ModelUnavailable("; ".join(faults))

    def close(self) -> None:
        for model in self._models.values():
            model.close()
