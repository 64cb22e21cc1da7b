"""The models of a search and their budget, and forecasts of its cost.

Forecasts use the first prompt and the price table, and make no call.
"""

from __future__ import annotations

import math
import random
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace

from vulcan.documents.run import BudgetEstimate, ModelEstimate
from vulcan.errors import UserError
from vulcan.models.accommodation import Change, Changes
from vulcan.models.base import BudgetExhausted, Message, Proposer, Reply, Request
from vulcan.models.budget import REPLY_TOKENS as DEFAULT_REPLY_TOKENS
from vulcan.models.budget import Budget
from vulcan.models.call_settings import DEFAULT_TIMEOUT, CallSettings
from vulcan.models.ensemble import DOLLARS_PER_HOUR, ArmOutcome, Ensemble, choose_model
from vulcan.models.open import open_proposer
from vulcan.models.prices import UNKNOWN, Price, expected_tokens, find_price, format_price, price_per_million
from vulcan.searches.config import SearchConfig
from vulcan.searches.costs import Costs
from vulcan.searches.options import ASK
from vulcan.searches.proposal import Proposal
from vulcan.searches.recorded_replies import Replay, reply_of
from vulcan.searches.target import starts_of
from vulcan.store import RunRecord
from vulcan.store.events import CallRecord, CallsChanged, CandidateJudged, Event
from vulcan.task import Program, Task
from vulcan.terminal_text import count
from vulcan.trust import AGENT, is_trusted

OFFLINE = "offline/evolve"


class ModelPool:
    """The models of a search and their budget. `propose` is thread-safe."""

    def __init__(self, models: Proposer, budget: Budget, changes: Changes | None = None) -> None:
        self._models = models
        self._budget = budget
        self._changes = changes or Changes()
        self._exhausted: str | None = None

    def propose(self, proposal: Proposal) -> Reply:
        """Return one reply, or raise as `Proposer.propose` says."""
        try:
            return self._models.propose(proposal.request())
        except BudgetExhausted as error:
            self._exhausted = str(error)
            raise

    def exhausted(self) -> str | None:
        """Return why nothing more may be asked; None while something may."""
        return self._exhausted or self._budget.exhausted()

    def exhaust(self, why: str) -> None:
        """Ask nothing more, for this reason."""
        self._exhausted = why

    def why_exhausted(self) -> str:
        """Say why nothing more may be asked, and what of a budget was charged for calls without an answer."""
        spent, why = self._budget.spent(), self.exhausted() or ""
        if not why or not spent.unanswered:
            return why
        cost = spent.unanswered_cost
        money = f"{format_price(cost.dollars)} and " if self._budget.dollars is not None else ""
        calls = count(spent.unanswered, "call")
        return f"{why}; {money}{cost.tokens} tokens of it are charged for {calls} without an answer, at their most"

    def take_changes(self) -> list[tuple[str, Change]]:
        """Return what models refused since the last call of this method, and how they are called instead."""
        return self._changes.take_news()

    @contextmanager
    def deadline(self) -> Iterator[None]:
        """Cut off calls if the budget's minutes run out inside this block."""
        with self._budget.deadline(self.close):
            yield

    def close(self) -> None:
        """Cut off the calls in flight, and release all resources."""
        self._models.close()


def choose(models: Sequence[str], history: Sequence[ArmOutcome], rng: random.Random) -> str:
    """Choose the model that answers next, by each model's gain per cost."""
    if len(models) == 1:
        return models[0]
    offline = any(name.startswith("offline/") for name in models)
    return choose_model(models, history, rng, DOLLARS_PER_HOUR if offline else 0.0)


def open_model_pool(
    task: Task,
    config: SearchConfig,
    calls: Iterable[CallRecord] = (),
    changed: Iterable[CallsChanged] = (),
    fitted: Sequence[str] = (),
) -> ModelPool:
    """Open the models of the configuration, with the cost of `calls` already spent. Makes no call.

    `changed` is what the models are known to refuse, `fitted` the programs that the offline generator proposes first.

    Raises UserError for an invalid model or budget.
    """
    budget = Budget(config.budget_dollars, config.budget_tokens, config.budget_minutes)
    budget.restore(map(recorded, calls))
    settings = CallSettings(config.model_timeout or DEFAULT_TIMEOUT, config.temperature, config.max_tokens)
    opened: list[Proposer] = []
    known: dict[str, list[str]] = {}
    for event in changed:
        known.setdefault(event.model, []).append(event.change)
    changes = Changes(known)
    try:
        for name in config.model:
            opened.append(_open(name, task, config, settings, budget, changes, fitted))
        return ModelPool(Ensemble(opened), budget, changes)
    except UserError:
        for model in opened:
            model.close()
        raise


def _open(
    name: str,
    task: Task,
    config: SearchConfig,
    settings: CallSettings,
    budget: Budget,
    changes: Changes,
    fitted: Sequence[str],
) -> Proposer:
    if name == OFFLINE and isinstance(task.signature, Program):
        raise UserError(
            f"{OFFLINE} writes policies in Anvil, and those of task {task.name!r} are free Python: name a language "
            f"model with --model, or answer the prompts yourself with --model {ASK}"
        )
    if name == OFFLINE:
        from vulcan.generator import OfflineEvolve

        return OfflineEvolve(config.offered(task), fitted, 1 + len(starts_of(task, config)) if fitted else 1)
    if name.startswith("offline/"):
        raise UserError(f"no offline generator {name!r}: there is {OFFLINE}")
    if name == ASK:
        raise UserError(f"the model {ASK!r} answers alone: leave out the other models")
    if name.startswith(AGENT):
        return _agent(name, config)
    price = _given_price(config)
    return open_proposer(name, api_base=config.api_base, settings=settings, budget=budget, price=price, changes=changes)


def _agent(name: str, config: SearchConfig) -> Proposer:
    """Open a command that the user has named. Raises UserError."""
    from vulcan.models.agent import CommandAgent

    if not is_trusted("commands", name):
        raise UserError(f"nobody has named the command {ascii(name)[:300]} on this machine: name it with --model")
    if config.budget_dollars is not None or config.budget_tokens is not None:
        raise UserError(f"{name} counts no tokens: use --budget-candidates or --budget-minutes")
    return CommandAgent(name, config.model_timeout or DEFAULT_TIMEOUT)


def _given_price(config: SearchConfig) -> Price:
    """Return the price that the options say, for models that the price table does not have. Raises UserError."""
    if (config.price_in is None) != (config.price_out is None):
        missing = "--price-out" if config.price_out is None else "--price-in"
        raise UserError(f"{missing} is missing: a price has dollars per million tokens in, and out")
    if config.price_in is None or config.price_out is None:
        return UNKNOWN
    return price_per_million(config.price_in, config.price_out)


def no_models(why: str) -> ModelPool:
    """Return a pool that answers nothing more, for this reason: a search with it scores what is there, and ends."""
    pool = replay_model_pool((), {})
    pool.exhaust(why)
    return pool


def replay_model_pool(calls: Iterable[CallRecord], unanswered: Mapping[tuple[int, int], str]) -> ModelPool:
    """Return a pool that replays the replies of another run, and fails where that run had none."""
    return ModelPool(Replay(calls, unanswered), Budget())


def recorded(call: CallRecord) -> tuple[Request, Reply]:
    """Convert a stored call to the form that `vulcan.models` reads."""
    messages = tuple(Message(role, content) for role, content in call.messages)  # type: ignore[arg-type]
    return Request(call.proposal, call.turn, messages, (), 0), reply_of(call)


REPLY_TOKENS = 800
"""Assumed length of a reply: a program of two dozen lines and the text around it."""


RESULT_TOKENS = 800
"""Assumed length of the results of the tools that a reply calls."""


def forecast_models(task: Task, config: SearchConfig, messages: Sequence[Message]) -> list[ModelEstimate]:
    """Estimate the cost per proposal of each model, whose first prompt is `messages`, without repairs."""
    return [_of_model(task, config, name, messages) for name in config.model]


def _of_model(task: Task, config: SearchConfig, name: str, messages: Sequence[Message]) -> ModelEstimate:
    problem = _problem(task, config, name)
    if name == ASK or name.startswith(("offline/", AGENT)):
        return ModelEstimate(name, problem, 0, 0, None if name.startswith(AGENT) else 0.0)
    tokens_in, tokens_out = expected_tokens(messages), min(REPLY_TOKENS, config.max_tokens or REPLY_TOKENS)
    turns = config.turns if config.converses else 1
    prompts = [tokens_in + turn * (tokens_out + RESULT_TOKENS) for turn in range(turns)]  # all before it is read again
    given = _given_price(config)
    price = UNKNOWN if given.known and config.api_base is not None else find_price(name, config.api_base)
    dollars = [(price if price.known else given).dollars(prompt, tokens_out) for prompt in prompts]
    known = [one for one in dollars if one is not None]
    return ModelEstimate(
        name, problem, sum(prompts), turns * tokens_out, math.fsum(known) if len(known) == turns else None
    )


def _problem(task: Task, config: SearchConfig, name: str) -> str | None:
    """Return why the model cannot be called: no key, an unknown name, or a budget that cannot be enforced."""
    if config.model == (ASK,):
        return None
    try:
        open_model_pool(task, replace(config, model=(name,))).close()
    except UserError as error:
        return str(error)
    return None


def forecast_limits(config: SearchConfig, planned: int, models: Sequence[ModelEstimate]) -> list[BudgetEstimate]:
    """Return the plan and each budget that is set, the one that ends the search first before the others."""
    dollars = [m.dollars for m in models]
    dearest = max((d for d in dollars if d is not None), default=0.0) if None not in dollars else 0.0
    longest = max((m.tokens_in + m.tokens_out for m in models), default=0)
    limits = [BudgetEstimate("candidates" if config.budget_candidates is not None else "plan", planned, planned)]
    if config.budget_dollars is not None:
        limits.append(BudgetEstimate("dollars", config.budget_dollars, _count(config.budget_dollars, dearest)))
    if config.budget_tokens is not None:
        limits.append(BudgetEstimate("tokens", config.budget_tokens, _count(config.budget_tokens, longest)))
    if config.budget_minutes is not None:
        limits.append(BudgetEstimate("minutes", config.budget_minutes, None))
    return sorted(limits, key=lambda limit: float("inf") if limit.proposals is None else limit.proposals)


def _count(limit: float, each: float) -> int | None:
    return int(limit / each) if each else None


def check_replies(
    record: RunRecord, config: SearchConfig, costs: Costs, unanswered: Sequence[Event], exhausted: str
) -> None:
    """Raise UserError where no model gave anything that could be scored: the winner would be a seed policy.

    `unanswered` are the events of the latest proposals, all without a reply; `exhausted` says that a budget is.
    """
    if not costs.calls and exhausted:
        tokens = config.max_tokens or DEFAULT_REPLY_TOKENS
        raise UserError(
            f"no proposal was made: {exhausted} (a reply may have {tokens} tokens: --max-tokens); continue with "
            "`vulcan resume` and a larger budget"
        )
    if not costs.calls and unanswered:
        judged = [event for event in unanswered if isinstance(event, CandidateJudged)]
        why = next((event.feedback for event in reversed(judged)), "no answer")
        raise UserError(
            f"the model gave no reply to any of {len(judged)} proposals: {why}; when it is back, continue with "
            "`vulcan resume`"
        )
    made = [c for c in record.candidates.values() if record.proposals[c.proposal].round > 0]
    truncated = sum("truncated-reply" in c.rules for c in made)
    if truncated and all(c.verdict == "no-reply" or "truncated-reply" in c.rules for c in made):
        shown = "the server's default" if config.max_tokens is None else str(config.max_tokens)
        raise UserError(
            f"all {truncated} replies were cut off at the limit of tokens per reply ({shown}), before a program was "
            "complete: search again with a larger --max-tokens"
        )
    if made and all(c.verdict == "no-reply" or "no-code-block" in c.rules for c in made):
        raise UserError(
            f"none of {len(made)} replies had a program in it: `vulcan show RUN {made[-1].candidate}` prints one; "
            "search again with another --model"
        )
