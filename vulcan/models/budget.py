"""Hard limits of dollars, tokens and minutes on a search, calls in flight included."""

from __future__ import annotations

import heapq
import itertools
import logging
import math
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import CancelledError
from contextlib import contextmanager
from dataclasses import dataclass, replace

from vulcan.errors import UserError
from vulcan.models.base import BudgetExhausted, Message, Reply, Request
from vulcan.models.call_settings import CallSettings
from vulcan.models.prices import Cost, Price, expected_tokens, format_price, max_call_cost

_log = logging.getLogger(__name__)

_UNITS_PER_DOLLAR = 10**12
"""Money is counted in whole units, so that sums do not depend on their order and no rounding passes a limit."""


@dataclass(frozen=True, slots=True)
class Spent:
    """Spending so far. `unanswered` counts calls without an answer that may have been billed.

    They are in `dollars` and `tokens` at their maximum cost, `unanswered_cost`; calls in flight are in `reserved`.
    """

    dollars: float
    tokens: int
    unanswered: int
    reserved: Cost
    unanswered_cost: Cost


class Reservation:
    """The share of a budget that a call in flight holds, to be settled or released exactly once."""

    def __init__(self, budget: Budget, units: int, tokens: int) -> None:
        self._budget = budget
        self._units = units
        self._tokens = tokens

    def charge(self, cost: Cost) -> None:
        """Charge an answered call. Unknown dollars (None) count as what was reserved."""
        units = self._units if cost.dollars is None else _units(cost.dollars)
        self._budget._end(self, units, cost.tokens)

    def charge_unanswered(self) -> None:
        """Charge a call without an answer on which the server may have worked: all that was reserved."""
        self._budget._end(self, self._units, self._tokens, unanswered=1)

    def release(self) -> None:
        """Release the reservation of a call that was not made, or was refused."""
        self._budget._end(self, 0, 0)


class Budget:
    """Limits that hold at every moment: spent plus reserved never exceeds one.

    A call's maximum cost is reserved before it is made, and replaced by its true cost once that is known.
    Only a server that writes more than the `max_tokens` it was sent can break the limit, and that is logged.
    Minutes run from the making of the budget, and are those of one session. None is no limit. Safe to use from
    many threads.
    """

    def __init__(
        self,
        dollars: float | None = None,
        tokens: int | None = None,
        minutes: float | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:

        self.dollars, self.tokens, self.minutes = dollars, tokens, minutes
        self._clock = clock
        self._started = clock()
        self._max_units = None if dollars is None else math.floor(dollars * _UNITS_PER_DOLLAR)
        self._changed = threading.Condition()
        self._units = self._tokens = self._reserved_units = self._reserved_tokens = self._unanswered = 0
        self._lost_units = self._lost_tokens = 0
        self._open: set[Reservation] = set()
        self._waiting: list[tuple[tuple[int, int], int]] = []
        self._arrivals = itertools.count()
        self._exhausted: str | None = None
        self._closed = self._overtime = False

    @property
    def limits_calls(self) -> bool:
        """True if calls are limited by tokens or dollars, and not by time alone."""
        return self.dollars is not None or self.tokens is not None

    def reserve(self, max_cost: Cost) -> Reservation | None:
        """Reserve a call's maximum cost; None where the budget has no room now, or its time is over.

        Raises UserError where the price is not known and dollars are limited.
        """
        units = self._max_call_units(max_cost)
        with self._changed:
            return None if self._reason() else self._room_for(units, max_cost.tokens)

    def acquire(self, max_cost: Cost, priority: tuple[int, int] = (0, 0)) -> Reservation:
        """Reserve as `reserve` does, waiting while calls in flight may leave room; the lowest `priority` goes first.

        Raises BudgetExhausted where there will be no room, from then on for all. Raises UserError as `reserve`,
        and concurrent.futures.CancelledError once the budget is closed.
        """
        units = self._max_call_units(max_cost)
        with self._changed:
            mine = (priority, next(self._arrivals))
            heapq.heappush(self._waiting, mine)
            try:
                while True:
                    if self._closed:
                        raise CancelledError
                    if reason := self._reason():
                        raise BudgetExhausted(reason)
                    if mine == self._waiting[0]:
                        if reservation := self._room_for(units, max_cost.tokens):
                            return reservation
                        if not self._open:
                            self._exhausted = self._shortage(max_cost)
                            raise BudgetExhausted(self._exhausted)
                    self._changed.wait(self.seconds_left())
            finally:
                self._waiting.remove(mine)
                heapq.heapify(self._waiting)
                self._changed.notify_all()

    def spent(self) -> Spent:
        with self._changed:
            reserved = Cost(self._reserved_units / _UNITS_PER_DOLLAR, self._reserved_tokens)
            lost = Cost(self._lost_units / _UNITS_PER_DOLLAR, self._lost_tokens)
            return Spent(self._units / _UNITS_PER_DOLLAR, self._tokens, self._unanswered, reserved, lost)

    def exhausted(self) -> str | None:
        """Say in one clause why no further call may start; None while one may."""
        with self._changed:
            return self._reason()

    def overtime(self) -> str | None:
        """Say in one clause that the minutes are over; None before."""
        over = self._overtime or self.seconds_left() == 0
        return f"the budget of {self.minutes:g} minutes is over" if over else None

    def restore(self, calls: Iterable[tuple[Request, Reply]]) -> None:
        """Charge the calls answered in an earlier session of the run; those it had in flight are unknown.

        Tokens that a server did not report are estimated. Raises UserError where dollars are limited and
        the price of a call is not known.
        """
        for request, reply in calls:
            if reply.dollars is None and self.dollars is not None:
                raise UserError(
                    f"proposal {request.proposal} was answered by {reply.model!r} at an unknown price: a budget in "
                    "dollars cannot be kept in this run; leave out --budget-dollars, or use --budget-tokens"
                )
            called = reply.tokens_in is not None or reply.tokens_out is not None or reply.dollars != 0
            with self._changed:
                self._units += _units(reply.dollars or 0.0)
                self._tokens += sum(_tokens(reply, request.messages)) if called else 0

    @contextmanager
    def deadline(self, cut_off: Callable[[], None]) -> Iterator[None]:
        """Call `cut_off` (such as a proposer's `close`) if the minutes run out inside this block."""
        seconds = self.seconds_left()
        if seconds is None:
            yield
            return

        def end() -> None:
            with self._changed:
                self._overtime = True  # whatever the clock says: the calls that are cut off ask for the reason
                self._changed.notify_all()
            cut_off()

        timer = threading.Timer(seconds, end)
        timer.daemon = True
        timer.start()
        try:
            yield
        finally:
            timer.cancel()

    def close(self) -> None:
        """Close the budget: callers that wait for room get CancelledError."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()

    def _max_call_units(self, max_cost: Cost) -> int:
        if max_cost.dollars is None and self.dollars is not None:
            raise UserError("a budget in dollars needs a known price: use --budget-tokens, or a model of known price")
        return _units(max_cost.dollars or 0.0)

    def _room_for(self, units: int, tokens: int) -> Reservation | None:
        if self._max_units is not None and self._units + self._reserved_units + units > self._max_units:
            return None
        if self.tokens is not None and self._tokens + self._reserved_tokens + tokens > self.tokens:
            return None
        self._reserved_units += units
        self._reserved_tokens += tokens
        reservation = Reservation(self, units, tokens)
        self._open.add(reservation)
        return reservation

    def _end(self, reservation: Reservation, units: int, tokens: int, unanswered: int = 0) -> None:
        with self._changed:
            if reservation not in self._open:
                raise ValueError("a reservation is settled once")
            self._open.remove(reservation)
            self._reserved_units -= reservation._units
            self._reserved_tokens -= reservation._tokens
            self._units += units
            self._tokens += tokens
            self._unanswered += unanswered
            self._lost_units += unanswered * units
            self._lost_tokens += unanswered * tokens
            self._changed.notify_all()
        over_money = self.dollars is not None and units > reservation._units
        if over_money or (self.tokens is not None and tokens > reservation._tokens):
            _log.warning(
                "a call cost more than it could: %s and %d tokens, at most %s and %d; the server does not keep to "
                "max_tokens, so that the budget may be passed",
                format_price(units / _UNITS_PER_DOLLAR),
                tokens,
                format_price(reservation._units / _UNITS_PER_DOLLAR),
                reservation._tokens,
            )

    def seconds_left(self) -> float | None:
        """Return the seconds until the deadline, 0 after it; None where minutes are not limited."""
        if self.minutes is None:
            return None
        return max(0.0, self.minutes * 60 - (self._clock() - self._started))

    def _reason(self) -> str | None:
        if self._exhausted is not None:
            return self._exhausted
        if late := self.overtime():
            return late
        if self._max_units is not None and self._units >= self._max_units:
            return f"the budget of {format_price(self.dollars)} is spent"
        if self.tokens is not None and self._tokens >= self.tokens:
            return f"the budget of {self.tokens} tokens is spent"
        return None

    def _shortage(self, max_cost: Cost) -> str:
        if self._max_units is not None and self._units + _units(max_cost.dollars or 0.0) > self._max_units:
            spent = format_price(self._units / _UNITS_PER_DOLLAR)
            return (
                f"the budget of {format_price(self.dollars)} is used up: {spent} is spent, and the next call may cost "
                f"{format_price(max_cost.dollars)}"
            )
        return (
            f"the budget of {self.tokens} tokens is used up: {self._tokens} are spent, and the next call may take "
            f"{max_cost.tokens}"
        )


def _units(dollars: float) -> int:
    return math.ceil(dollars * _UNITS_PER_DOLLAR)


REPLY_TOKENS = 8192
"""Default limit of tokens per reply where a budget needs one; a program takes a tenth of it."""


@dataclass(frozen=True, slots=True)
class Meter:
    """A meter that charges every attempt of one model's calls to `budget`."""

    budget: Budget
    price: Price
    max_tokens: int | None

    def _most(self, request: Request) -> Cost:
        return max_call_cost(self.price, request.sent(), self.max_tokens or 0)

    def begin(self, request: Request) -> Reservation:
        """Reserve the maximum cost of one attempt, waiting for calls in flight where that may help.

        Raises BudgetExhausted, and concurrent.futures.CancelledError once the budget is closed.
        """
        return self.budget.acquire(self._most(request), (request.proposal, request.turn))

    def charge(self, reservation: Reservation, request: Request, reply: Reply) -> Reply:
        """Charge the answer of an attempt, and return it with the dollars charged where the price is known.

        Tokens that the server does not report are estimated, but in dollars they count at their most.
        """
        tokens_in, tokens_out = _tokens(reply, request.sent())
        dollars = reply.dollars
        if dollars is None:
            dollars = self.price.max_dollars(tokens_in, tokens_out) if reply.counted else self._most(request).dollars
        reservation.charge(Cost(dollars, tokens_in + tokens_out))
        return replace(reply, dollars=dollars)


def _tokens(reply: Reply, messages: tuple[Message, ...]) -> tuple[int, int]:
    """Return the tokens of a call as the server reports them, or else an estimate."""
    if reply.tokens_in is not None and reply.tokens_out is not None:
        return reply.tokens_in, reply.tokens_out
    return expected_tokens(messages), expected_tokens([Message("assistant", reply.text)])


def metered(name: str, settings: CallSettings, budget: Budget, price: Price) -> tuple[CallSettings, Meter]:
    """Return call settings that the budget can bound, and the meter of the model of that name.

    A budget of dollars or tokens needs a limit on replies: where none is set, one is chosen and logged.
    Raises UserError for a budget in dollars where the price is not known.
    """
    if not budget.limits_calls:
        return settings, Meter(budget, price, settings.max_tokens)
    if budget.dollars is not None and not price.known:
        raise UserError(
            f"model {name!r}: its price is not known, so that a budget in dollars cannot be kept; use "
            "--budget-tokens, give the price with --price-in and --price-out, or take a model that litellm's price "
            "table has"
        )
    if settings.max_tokens is None:
        tokens = min(REPLY_TOKENS, price.max_reply_tokens or REPLY_TOKENS)
        _log.warning("model %r: under the budget a reply has at most %d tokens", name, tokens)
        settings = replace(settings, max_tokens=tokens)
    return settings, Meter(budget, price, settings.max_tokens)
