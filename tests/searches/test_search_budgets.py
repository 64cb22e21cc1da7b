"""What a search may spend is never passed, and what there was no budget for leaves no trace."""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import closing
from typing import Any

import pytest
from chat_server import ChatServer, Exchange, Received, answer, fail
from rich_parts import rich
from search_parts import SEEDS, TASK, Scripted, as_reply, config, contents, judged, lineup, of_kind, opened, share

from vulcan.errors import UserError
from vulcan.models.base import Reply, Request
from vulcan.models.budget import Budget
from vulcan.models.ensemble import Ensemble
from vulcan.models.prices import Cost
from vulcan.scoring import Executor
from vulcan.searches.model_pool import ModelPool, open_model_pool, recorded
from vulcan.store import MemoryStore, Store
from vulcan.store.events import CandidateJudged, CandidateProposed, FinalistScored, WinnerChosen


def good(request: Request) -> str:
    return as_reply(share(request.proposal / 100))


class Paying(Scripted):
    """A model whose calls cost 25 cents and 15 tokens each, of a budget."""

    def __init__(self, answered: Callable[[Request], str | None], budget: Budget) -> None:
        super().__init__(answered)
        self.budget = budget

    def propose(self, request: Request) -> Reply:
        reservation = self.budget.acquire(Cost(0.25, 15), (request.proposal, request.turn))
        reply = super().propose(request)
        reservation.charge(Cost(0.25, 15))
        return reply


def within(
    store: Store, chosen: Any, executor: Executor, answered: Any = good, parallel: int = 3, **limits: Any
) -> Paying:
    """A search, or the rest of one, with a budget that knows what was spent."""
    budget = Budget(**limits)
    budget.restore(map(recorded, store.calls()))
    model = Paying(answered, budget)
    opened(store, chosen, executor).run(ModelPool(Ensemble([model]), budget), parallel=parallel)
    return model


@pytest.mark.parametrize("parallel", [1, 3, 8])
@pytest.mark.parametrize(("limits", "calls"), [({"dollars": 1.0}, 4), ({"dollars": 1.2}, 4), ({"tokens": 100}, 6)])
def test_the_search_ends_with_its_budget(children: Executor, limits: dict[str, Any], calls: int, parallel: int) -> None:
    store = MemoryStore()
    model = within(store, config(rounds=3, samples=8), children, parallel=parallel, **limits)
    assert [r.proposal - SEEDS for r in model.requests] == list(range(1, calls + 1)) or parallel > 1
    assert len(model.requests) == calls
    # those asked last, without budget, are not there: no proposal, no candidate, no number taken
    assert [p.proposal - SEEDS for p in of_kind(store, CandidateProposed) if p.round > 0] == list(range(1, calls + 1))
    assert [v.verdict for v in judged(store)] == ["scored"] * calls
    assert [c.split for c in of_kind(store, WinnerChosen)] == ["validation"]


@pytest.mark.parametrize("limits", [{"dollars": 1.0}, {"dollars": 1.2}, {"tokens": 100}])
def test_a_search_of_which_the_budget_is_spent_is_finished_and_nothing_more(
    children: Executor, limits: dict[str, Any]
) -> None:
    whole, broken_off = MemoryStore(), MemoryStore()
    within(whole, config(rounds=3, samples=8), children, **limits)
    events = list(whole.events())
    broken_off.append(*events[: next(i for i, e in enumerate(events) if isinstance(e, FinalistScored)) + 1])
    for call in whole.calls():
        broken_off.record(call)
    again = within(broken_off, config(rounds=3, samples=8), children, **limits)
    assert again.requests == []
    assert contents(broken_off) == contents(whole)


def test_an_unpaid_proposal_before_an_answered_one_keeps_its_number(children: Executor) -> None:
    """The third of four calls finds no budget, and the fourth was answered before an interruption."""
    store, whole = MemoryStore(), MemoryStore()
    within(whole, config(rounds=1, samples=4), children)
    for call in whole.calls():
        if call.proposal != SEEDS + 3:
            store.record(call)
    within(store, config(rounds=1, samples=4), children, dollars=0.75)
    assert [(v.proposal - SEEDS, v.verdict) for v in judged(store)] == [
        (1, "scored"), (2, "scored"), (3, "no-reply"), (4, "scored"),
    ]  # fmt: skip


def test_without_budget_for_a_repair_a_program_stays_rejected(children: Executor) -> None:
    for parallel in (1, 4):
        store = MemoryStore()
        chosen = config(rounds=1, samples=4, repairs=3)
        with pytest.raises(UserError, match="none of 4 replies had a program in it"):
            within(store, chosen, children, lambda _: "no", parallel=parallel, dollars=1.0)
        assert {v.verdict for v in judged(store)} == {"rejected"}
        assert len(judged(store)) == len(list(store.calls())) == 4


@pytest.mark.parametrize("candidates", [1, 7])
def test_the_budget_of_candidates_bounds_the_proposals(racers: Executor, candidates: int) -> None:
    store = MemoryStore()
    opened(store, rich(budget_candidates=candidates), racers).run(lineup(Scripted(good)), parallel=4)
    assert len({p.proposal for p in of_kind(store, CandidateProposed) if p.round > 0}) == candidates


def test_minutes_end_a_search_and_the_next_session_has_its_own(children: Executor) -> None:
    store, now = MemoryStore(), [0.0]

    def slow(request: Request) -> str:
        now[0] += 30.0
        return good(request)

    budget = Budget(minutes=2.0, clock=lambda: now[0])
    opened(store, config(rounds=3, samples=4), children).run(ModelPool(Ensemble([Scripted(slow)]), budget), parallel=1)
    first = len(judged(store))
    assert 4 <= first < 12
    assert of_kind(store, WinnerChosen) != []


@pytest.mark.parametrize(("tokens", "at_once"), [(12_000, 1), (330_000, 32)])
def test_a_budget_is_hard_with_32_calls_in_flight(children: Executor, tokens: int, at_once: int) -> None:
    """Each call may take one token a byte and 400 more, and takes about a quarter; now and then one fails."""
    paid: list[int] = []
    all_there = threading.Barrier(at_once)

    def script(request: Received) -> Callable[[Exchange], None]:
        if request.number < at_once:
            all_there.wait(timeout=30)  # so many calls are in flight at once
        if request.number % 9 == 8:
            return fail(429, "later", Retry_After="0")
        prompt = sum(len(m["content"]) for m in request.body["messages"]) // 4
        paid.append(prompt + 50)
        return answer(as_reply(share(1 + request.number / 100)), usage=(prompt, 50))

    store = MemoryStore()
    with ChatServer(script) as server:
        chosen = config(
            model=("toy",), api_base=server.url, rounds=1, samples=200, max_tokens=400, budget_tokens=tokens
        )  # fmt: skip
        with closing(open_model_pool(TASK, chosen)) as models:
            opened(store, chosen, children).run(models, parallel=32)
    assert sum((c.tokens_in or 0) + (c.tokens_out or 0) for c in store.calls()) == sum(paid) <= tokens
    assert tokens - sum(paid) < 12_000  # no more is left than the next call might have taken
    asked = [p for p in of_kind(store, CandidateProposed) if p.round > 0]
    assert len(asked) == len(of_kind(store, CandidateJudged)) - SEEDS < 200
