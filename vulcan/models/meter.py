"""Keeps the calls of one model within a budget."""

from __future__ import annotations

import logging
from dataclasses import dataclass, replace

from vulcan.errors import UserError
from vulcan.models.base import Request
from vulcan.models.budget import Budget, Reservation
from vulcan.models.completion import Completion
from vulcan.models.prices import Cost, Price, most_cost
from vulcan.models.settings import CallSettings

_log = logging.getLogger(__name__)

REPLY_TOKENS = 8192
"""The most tokens of a reply where a budget needs a limit and none is set: a program takes a tenth of it."""


@dataclass(frozen=True, slots=True)
class Meter:
    """Charges every attempt of a model's calls to `budget`; with no budget it charges nothing."""

    budget: Budget | None
    price: Price
    max_tokens: int | None

    def begin(self, request: Request) -> Bill:
        """Reserve the most that one attempt can cost, waiting for calls in flight where that may help.

        Raises BudgetExhausted, and concurrent.futures.CancelledError once the budget is closed.
        """
        if self.budget is None:
            return Bill(self, None, None)
        most = most_cost(self.price, request.messages, self.max_tokens or 0)
        return Bill(self, self.budget.acquire(most, (request.proposal, request.turn)), most)

    def late(self) -> str | None:
        """That the minutes of the budget are over; None before."""
        return None if self.budget is None else self.budget.late()

    def close(self) -> None:
        if self.budget is not None:
            self.budget.close()


@dataclass(frozen=True, slots=True)
class Bill:
    """What one attempt will be charged: exactly one of the methods is called."""

    meter: Meter
    reservation: Reservation | None
    most: Cost | None

    def answered(self, completion: Completion) -> Completion:
        """Charge the answer; it comes back with the dollars charged, where the price is known."""
        if self.reservation is None or self.most is None:
            return completion
        counted = completion.tokens_in is not None and completion.tokens_out is not None
        tokens_in, tokens_out = completion.tokens_in or 0, completion.tokens_out or 0
        dollars = completion.dollars
        if dollars is None:
            dollars = self.meter.price.most_dollars(tokens_in, tokens_out) if counted else self.most.dollars
        self.reservation.settle(Cost(dollars, tokens_in + tokens_out if counted else self.most.tokens))
        return replace(completion, dollars=dollars)

    def failed(self, *, may_be_paid: bool) -> None:
        """Charge an attempt with no answer: all that was reserved where the server may have worked on it."""
        if self.reservation is None:
            return
        if may_be_paid:
            self.reservation.settle_unanswered()
        else:
            self.reservation.release()


def metered(name: str, settings: CallSettings, budget: Budget | None, price: Price) -> tuple[CallSettings, Meter]:
    """The settings that the budget needs, and the meter of the model of that name.

    A budget of dollars or tokens needs a longest reply: where none is set, one is chosen and a notice says so.
    Raises UserError for a budget in dollars where the price is not known.
    """
    if budget is None or not budget.limits_calls:
        return settings, Meter(budget, price, settings.max_tokens)
    if budget.dollars is not None and not price.known:
        raise UserError(
            f"model {name!r}: its price is not known, so that a budget in dollars cannot be kept; use "
            "--budget-tokens, or a model that litellm's price table has"
        )
    if settings.max_tokens is None:
        tokens = min(REPLY_TOKENS, price.longest_reply or REPLY_TOKENS)
        _log.warning("model %r: under the budget a reply has at most %d tokens", name, tokens)
        settings = replace(settings, max_tokens=tokens)
    return settings, Meter(budget, price, settings.max_tokens)
