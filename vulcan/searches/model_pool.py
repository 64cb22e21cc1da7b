"""Who answers the proposals of a search, and within what budget.

What a search is about to cost, from its first prompt and the price table. No call is made.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace

from vulcan.errors import UserError
from vulcan.models import BudgetExhausted, Message, ModelUnavailable, Proposer, Reply, Request
from vulcan.models.base import Recorded
from vulcan.models.budget import Budget
from vulcan.models.call_settings import CallSettings, parse_temperature
from vulcan.models.ensemble import ArmOutcome, Ensemble, choose_model, choose_source
from vulcan.models.prices import expected_cost, expected_tokens, find_price
from vulcan.models.replay import Replay
from vulcan.searches.config import SearchConfig
from vulcan.searches.proposal import Proposal
from vulcan.store.events import CallRecord
from vulcan.task import Program, Task

OFFLINE = "offline/evolve"
ASK = "ask"
"""The model of a search whose prompts somebody else answers, through `ask` and `tell`."""


class ModelPool:
    """The models of a search and their budget. `propose` may be called from many threads at once."""

    def __init__(self, models: Proposer, budget: Budget) -> None:
        self._models = models
        self._budget = budget
        self._exhausted: str | None = None

    def propose(self, proposal: Proposal) -> Reply:
        """One reply. Raises ModelRefused, ModelUnavailable or BudgetExhausted."""
        try:
            return self._models.propose(proposal.request())
        except BudgetExhausted as error:
            self._exhausted = str(error)
            raise

    def over(self) -> str | None:
        """Why nothing more is to be asked; None while something may."""
        return self._exhausted or self._budget.exhausted()

    @contextmanager
    def deadline(self) -> Iterator[None]:
        """Inside, calls are cut off where the budget's minutes are over."""
        with self._budget.deadline(self.close):
            yield

    def close(self) -> None:
        """Cut off the calls under way, and free what is held."""
        self._models.close()


def choose(models: Sequence[str], history: Sequence[ArmOutcome], rng: random.Random) -> str:
    """Which of a search's models is to answer next, by what each gained for what it cost."""
    if len(models) == 1:
        return models[0]
    offline = any(name.startswith("offline/") for name in models)
    return choose_source(models, history, rng) if offline else choose_model(models, history, rng)


def open_model_pool(task: Task, config: SearchConfig, calls: Iterable[CallRecord] = ()) -> ModelPool:
    """The models that the configuration names, with what `calls` cost already spent. Makes no call.

    Raises UserError for a model or a budget that cannot be right.
    """
    budget = Budget(config.budget_dollars, config.budget_tokens, config.budget_minutes)
    budget.restore(map(recorded, calls))
    temperature = parse_temperature(config.temperature) if config.temperature is not None else None
    settings = CallSettings(temperature=temperature, max_tokens=config.max_tokens)
    opened: list[Proposer] = []
    try:
        for name in config.model:
            opened.append(_open(name, task, config, settings, budget))
        return ModelPool(Ensemble(opened), budget)
    except UserError:
        for model in opened:
            model.close()
        raise


def _open(name: str, task: Task, config: SearchConfig, settings: CallSettings, budget: Budget) -> Proposer:
    if name == OFFLINE and isinstance(task.signature, Program):
        raise UserError(
            f"{OFFLINE} writes policies in Anvil, and those of task {task.name!r} are free Python: name a language "
            f"model with --model, or answer the prompts yourself with --model {ASK}"
        )
    if name == OFFLINE:
        from vulcan.generator import OfflineEvolve

        return OfflineEvolve(task)
    if name.startswith("offline/"):
        raise UserError(f"no offline generator {name!r}: there is {OFFLINE}")
    if name == ASK:
        raise UserError(f"the model {ASK!r} answers alone: leave out the other models")
    from vulcan.models.ensemble import Breaker
    from vulcan.models.open import open_proposer

    return Breaker(open_proposer(name, api_base=config.api_base, settings=settings, budget=budget))


def replay_model_pool(calls: Iterable[CallRecord], unanswered: Mapping[tuple[int, int], str]) -> ModelPool:
    """Answers as the models of another run did, and has no answer where they had none."""
    return ModelPool(_Repetition(Replay(map(recorded, calls)), unanswered), Budget())


class _Repetition:
    """A `Proposer`: the replies of another run, and its gaps."""

    def __init__(self, replies: Replay, unanswered: Mapping[tuple[int, int], str]) -> None:
        self._replies = replies
        self._unanswered = unanswered

    @property
    def name(self) -> str:
        return self._replies.name

    def propose(self, request: Request) -> Reply:
        if (why := self._unanswered.get((request.proposal, request.turn))) is not None:
            raise ModelUnavailable(why)
        return self._replies.propose(request)

    def close(self) -> None:
        self._replies.close()


def recorded(call: CallRecord) -> Recorded:
    """A call of the store as the models' own code reads it."""
    messages = tuple(Message(role, content) for role, content in call.messages)  # type: ignore[arg-type]
    return Recorded(call.proposal, call.turn, messages, reply_of(call))


def reply_of(call: CallRecord) -> Reply:
    return Reply(
        call.reply, call.model, call.finish, call.tokens_in, call.tokens_out, call.dollars, call.seconds, call.by
    )


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
class BudgetForecast:
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
        open_model_pool(task, replace(config, model=(name,))).close()
    except UserError as error:
        return str(error)
    return None


def forecast_limits(config: SearchConfig, planned: int, models: Sequence[ModelForecast]) -> list[BudgetForecast]:
    """The plan and each budget that is set, the one that ends the search first before the others."""
    dollars = [m.dollars for m in models]
    dearest = max((d for d in dollars if d is not None), default=0.0) if None not in dollars else 0.0
    longest = max((m.tokens for m in models), default=0)
    limits = [BudgetForecast("candidates" if config.budget_candidates is not None else "plan", planned, planned)]
    if config.budget_dollars is not None:
        limits.append(BudgetForecast("dollars", config.budget_dollars, _count(config.budget_dollars, dearest)))
    if config.budget_tokens is not None:
        limits.append(BudgetForecast("tokens", config.budget_tokens, _count(config.budget_tokens, longest)))
    if config.budget_minutes is not None:
        limits.append(BudgetForecast("minutes", config.budget_minutes, None))
    return sorted(limits, key=lambda limit: float("inf") if limit.proposals is None else limit.proposals)


def _count(limit: float, each: float) -> int | None:
    return int(limit / each) if each else None
