"""Search strategies, which decide what to ask for next: one file per strategy."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from vulcan.searches.config import SearchConfig
from vulcan.searches.options import StrategyName
from vulcan.searches.strategies.base import Draft, Form, Strategy
from vulcan.searches.strategies.evolve import Evolve
from vulcan.searches.strategies.sampling import BestOfN, PolicySmith

__all__ = ["STRATEGIES", "BestOfN", "Draft", "Evolve", "Form", "PolicySmith", "Strategy", "make_strategy"]


def _policysmith(config: SearchConfig, offline: bool) -> Strategy:
    return PolicySmith(config.rounds, config.samples, config.parents)


def _best_of_n(config: SearchConfig, offline: bool) -> Strategy:
    return BestOfN(_proposals(config), config.samples, offline=offline)


def _evolve(config: SearchConfig, offline: bool) -> Strategy:
    return Evolve(
        total=_proposals(config),
        samples=config.samples,
        parents=config.parents,
        islands=config.islands,
        in_flight=config.in_flight,
        migrate_every=config.migrate_every,
        advice_every=0 if offline else config.advice_every,
        diff=config.diff,
        offline=offline,
    )


STRATEGIES: Mapping[StrategyName, Callable[[SearchConfig, bool], Strategy]] = {
    "policysmith": _policysmith,
    "evolve": _evolve,
    "best-of-n": _best_of_n,
}


def make_strategy(config: SearchConfig, offline: bool) -> Strategy:
    """Return the strategy that a configuration names.

    `offline` means that no language model takes part: the generator follows a proposal's operator and parents, and
    reads no prompt.
    """
    return STRATEGIES[config.strategy](config, offline)


def _proposals(config: SearchConfig) -> int:
    return config.rounds * config.samples if config.budget_candidates is None else config.budget_candidates
