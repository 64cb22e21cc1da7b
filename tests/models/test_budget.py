"""A budget holds at every moment, in any order of things."""

from __future__ import annotations

import threading
from concurrent.futures import CancelledError, ThreadPoolExecutor

import pytest
from effort import examples
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, consumes, invariant, rule

from vulcan.errors import UserError
from vulcan.models.base import BudgetExhausted, Message, Reply, Request
from vulcan.models.budget import Budget, Reservation
from vulcan.models.prices import Cost

DOLLARS, TOKENS = 1.0, 10_000


class BudgetLaws(RuleBasedStateMachine):
    """Calls begin and end in any order; each is answered within what it reserved, is lost, or was never made."""

    held = Bundle("held")

    def __init__(self) -> None:
        super().__init__()
        self.budget = Budget(DOLLARS, TOKENS)
        self.paid_dollars = 0.0
        self.paid_tokens = 0
        self.most: dict[Reservation, Cost] = {}

    @rule(target=held, dollars=st.floats(0, 0.4), tokens=st.integers(0, 4_000))
    def reserve(self, dollars: float, tokens: int) -> Reservation | None:
        reservation = self.budget.reserve(Cost(dollars, tokens))
        before = self.budget.spent()
        if reservation is None:
            fits = before.dollars + before.reserved.dollars + dollars <= DOLLARS - 1e-9  # type: ignore[operator]
            assert not fits or before.tokens + before.reserved.tokens + tokens > TOKENS
        else:
            self.most[reservation] = Cost(dollars, tokens)
        return reservation

    @rule(reservation=consumes(held), share=st.floats(0, 1))
    def answer(self, reservation: Reservation | None, share: float) -> None:
        if reservation is not None:
            most = self.most.pop(reservation)
            cost = Cost((most.dollars or 0.0) * share, int(most.tokens * share))
            reservation.charge(cost)
            self.paid_dollars += cost.dollars or 0.0
            self.paid_tokens += cost.tokens

    @rule(reservation=consumes(held))
    def lose(self, reservation: Reservation | None) -> None:
        if reservation is not None:
            most = self.most.pop(reservation)
            reservation.charge_unanswered()
            self.paid_dollars += most.dollars or 0.0
            self.paid_tokens += most.tokens

    @rule(reservation=consumes(held))
    def refuse(self, reservation: Reservation | None) -> None:
        if reservation is not None:
            del self.most[reservation]
            reservation.release()

    @invariant()
    def spent_and_reserved_are_never_above_the_limit(self) -> None:
        spent = self.budget.spent()
        assert spent.reserved.dollars is not None
        assert round((spent.dollars + spent.reserved.dollars) * 1e12) <= DOLLARS * 1e12
        assert spent.tokens + spent.reserved.tokens <= TOKENS

    @invariant()
    def nothing_is_lost_or_counted_twice(self) -> None:
        spent = self.budget.spent()
        assert spent.dollars == pytest.approx(self.paid_dollars, abs=1e-9)
        assert spent.tokens == self.paid_tokens
        assert spent.reserved.dollars == pytest.approx(sum(m.dollars or 0.0 for m in self.most.values()), abs=1e-9)
        assert spent.reserved.tokens == sum(m.tokens for m in self.most.values())


TestBudgetLaws = BudgetLaws.TestCase
TestBudgetLaws.settings = settings(max_examples=examples(60), stateful_step_count=40)


def test_of_those_who_wait_the_earliest_proposal_is_first() -> None:
    budget = Budget(tokens=100)
    first = budget.reserve(Cost(None, 100))
    assert first is not None
    order: list[int] = []

    def call(number: int) -> None:
        reservation = budget.acquire(Cost(None, 100), (number, 0))
        order.append(number)
        reservation.charge(Cost(None, 0))

    with ThreadPoolExecutor(4) as threads:
        calls = [threads.submit(call, number) for number in (7, 5, 9, 6)]
        while len(budget._waiting) < 4:
            threading.Event().wait(0.001)
        first.charge(Cost(None, 0))
        for each in calls:
            each.result(10)
    assert order == [5, 6, 7, 9]


def test_once_a_call_finds_no_room_none_does() -> None:
    budget = Budget(dollars=1.0)
    first = budget.reserve(Cost(0.9, 0))
    assert first is not None
    first.charge(Cost(0.9, 0))
    with pytest.raises(
        BudgetExhausted, match=r"of \$1\.00 is used up: \$0\.9 is spent, and the next call may cost \$0\.2"
    ):
        budget.acquire(Cost(0.2, 0))
    with pytest.raises(BudgetExhausted):
        budget.acquire(Cost(0.01, 0))
    assert budget.reserve(Cost(0.01, 0)) is None
    assert "used up" in (budget.exhausted() or "")


def test_the_deadline_cuts_off_and_says_why() -> None:
    called = threading.Event()
    reasons: list[str | None] = []
    budget = Budget(minutes=0.001)

    def cut_off() -> None:
        reasons.append(budget.exhausted())
        called.set()

    with budget.deadline(cut_off):
        assert called.wait(10)
    assert reasons == ["the budget of 0.001 minutes is over"]


def test_whoever_waits_is_let_go_when_the_budget_is_closed() -> None:
    budget = Budget(tokens=10)
    assert budget.reserve(Cost(None, 10)) is not None
    with ThreadPoolExecutor(1) as threads:
        waiting = threads.submit(budget.acquire, Cost(None, 10))
        budget.close()
        with pytest.raises(CancelledError):
            waiting.result(10)


def test_a_server_that_writes_more_than_it_may_is_told_of(caplog: pytest.LogCaptureFixture) -> None:
    budget = Budget(tokens=10)
    reservation = budget.reserve(Cost(None, 10))
    assert reservation is not None
    reservation.charge(Cost(None, 25))
    assert budget.spent().tokens == 25
    assert budget.exhausted() == "the budget of 10 tokens is spent"
    assert "does not keep to max_tokens" in caplog.text


def recorded(dollars: float | None, tokens: int | None) -> tuple[Request, Reply]:
    request = Request(7, 0, (Message("user", "x" * 100),), (), 1)
    return request, Reply("", "m", "stop", tokens, tokens, dollars, 1.0)


def test_what_earlier_sessions_spent_counts() -> None:
    budget = Budget(dollars=1.0, tokens=1_000)
    budget.restore([recorded(0.25, 200), recorded(0.25, 100), recorded(0.0, None)])
    assert (budget.spent().dollars, budget.spent().tokens) == (0.5, 600)
    assert budget.reserve(Cost(0.51, 0)) is None
    assert budget.reserve(Cost(0.5, 400)) is not None


def test_a_call_of_unknown_price_makes_a_budget_in_dollars_impossible() -> None:
    budget = Budget(dollars=1.0)
    with pytest.raises(UserError, match="proposal 7 was answered by 'm' at an unknown price"):
        budget.restore([recorded(None, 5)])
    with pytest.raises(UserError, match="needs a known price"):
        budget.reserve(Cost(None, 5))
    assert budget.spent().dollars == 0
