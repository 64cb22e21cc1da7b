"""What a search is about to cost, from its first prompt and the price table. No call is made."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from vulcan.errors import UserError
from vulcan.models import Message
from vulcan.models.prices import expected_cost, expected_tokens, find_price
from vulcan.searches.config import SearchConfig
from vulcan.searches.lineup import ASK, open_lineup
from vulcan.task import Task

REPLY_TOKENS = 800
"""What a reply is taken to have: a program of two dozen lines and what is said beside it."""


@dataclass(frozen=True, slots=True)
class ModelForecast:
    """What one model costs. `problem` is why it cannot be called; dollars are None where the price is not known."""

    model: str
    problem: str | None
    tokens_in: int
    tokens_out: int
    dollars: float | None

    @property
    def tokens(self) -> int:
        return self.tokens_in + self.tokens_out


@dataclass(frozen=True, slots=True)
class Limit:
    """A budget, and about how many proposals it lets be made; None where that cannot be told."""

    name: str
    limit: float
    proposals: int | None


def forecast_models(task: Task, config: SearchConfig, messages: Sequence[Message]) -> list[ModelForecast]:
    """About what a proposal costs by each model of the search, whose first prompt is `messages`, without repairs."""
    return [_of_model(task, config, name, messages) for name in config.model]


def _of_model(task: Task, config: SearchConfig, name: str, messages: Sequence[Message]) -> ModelForecast:
    problem = _problem(task, config, name)
    if name == ASK or name.startswith("offline/"):
        return ModelForecast(name, problem, 0, 0, 0.0)
    tokens_in, tokens_out = expected_tokens(messages), min(REPLY_TOKENS, config.max_tokens or REPLY_TOKENS)
    dollars = expected_cost(find_price(name, config.api_base), messages, tokens_out).dollars
    return ModelForecast(name, problem, tokens_in, tokens_out, dollars)


def _problem(task: Task, config: SearchConfig, name: str) -> str | None:
    """Why the model cannot be called: its key is not set, its name is not known, or a budget cannot be kept."""
    if config.model == (ASK,):
        return None
    try:
        open_lineup(task, replace(config, model=(name,))).close()
    except UserError as error:
        return str(error)
    return None


def forecast_limits(config: SearchConfig, planned: int, models: Sequence[ModelForecast]) -> list[Limit]:
    """The plan and each budget that is set, the one that ends the search first before the others."""
    dollars = [m.dollars for m in models]
    dearest = max((d for d in dollars if d is not None), default=0.0) if None not in dollars else 0.0
    longest = max((m.tokens for m in models), default=0)
    limits = [Limit("candidates" if config.budget_candidates is not None else "plan", planned, planned)]
    if config.budget_dollars is not None:
        limits.append(Limit("dollars", config.budget_dollars, _count(config.budget_dollars, dearest)))
    if config.budget_tokens is not None:
        limits.append(Limit("tokens", config.budget_tokens, _count(config.budget_tokens, longest)))
    if config.budget_minutes is not None:
        limits.append(Limit("minutes", config.budget_minutes, None))
    return sorted(limits, key=lambda limit: float("inf") if limit.proposals is None else limit.proposals)


def _count(limit: float, each: float) -> int | None:
    return int(limit / each) if each else None
