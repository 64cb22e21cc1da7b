"""Budgets around real calls of both ways to a model, against a real server; tests/searches has many at a time."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from chat_server import Behaviour, ChatServer, answer, cut_off, fail, stall, stall_after_headers

from vulcan.errors import UserError
from vulcan.models.base import Message, ModelUnavailable, Request
from vulcan.models.budget import Budget
from vulcan.models.open import open_proposer
from vulcan.models.providers import RemoteModel
from vulcan.models.retry import RetryPolicy

CHAT = (Message("user", "Write one."),)

Open = Callable[..., RemoteModel]
ONCE = {"max_tokens": 718, "retry": RetryPolicy(attempts=1)}


def request(number: int) -> Request:
    return Request(number, 0, CHAT, (), 1)


def test_tokens_that_the_server_does_not_report_are_estimated_and_that_is_said_once(
    open_model: Open, caplog: pytest.LogCaptureFixture
) -> None:
    budget = Budget(tokens=5_000)
    with ChatServer([answer("hello", usage=None)]) as server:
        model = open_model(server.url, budget=budget, **ONCE)
        reply = model.propose(request(1))
        model.propose(request(2))
    assert (reply.tokens_in, reply.tokens_out) == (None, None)
    asked = sum(len(message.content) for one in (1, 2) for message in request(one).messages)
    assert budget.spent().tokens == pytest.approx((asked + 2 * len("hello")) / 4, abs=4)
    assert caplog.text.count("does not report tokens") == 1


@pytest.mark.parametrize("behaviour", [fail(429, "slow down"), fail(500, "boom"), fail(503, "busy"), fail(529, "busy")])
def test_a_call_that_the_server_turned_down_costs_nothing(open_model: Open, behaviour: Behaviour) -> None:
    budget = Budget(tokens=5_000)
    with ChatServer([behaviour]) as server, pytest.raises(ModelUnavailable):
        open_model(server.url, budget=budget, **ONCE).propose(request(1))
    assert (budget.spent().tokens, budget.spent().reserved.tokens) == (0, 0)


@pytest.mark.parametrize("behaviour", [stall, stall_after_headers, cut_off, fail(504, "upstream took too long")])
def test_a_call_that_a_model_may_have_worked_on_is_charged_at_its_most(open_model: Open, behaviour: Behaviour) -> None:
    budget = Budget(tokens=5_000)
    with ChatServer([behaviour]) as server, pytest.raises(ModelUnavailable):
        open_model(server.url, budget=budget, **ONCE | {"timeout": 0.5}).propose(request(1))
    spent = budget.spent()
    assert (spent.tokens, spent.unanswered, spent.reserved.tokens) == (1_000, 1, 0)


def test_a_reply_gets_a_limit_where_a_budget_needs_one(open_model: Open, caplog: pytest.LogCaptureFixture) -> None:
    with ChatServer([answer("hello")]) as server:
        open_model(server.url, budget=Budget(tokens=20_000)).propose(request(1))
        open_model(server.url, budget=Budget(minutes=5)).propose(request(2))
    first, second = server.requests
    assert first.body["max_tokens"] == 8192
    assert "max_tokens" not in second.body
    assert [r.getMessage().partition(":")[2] for r in caplog.records if r.name == "vulcan.models.budget"] == [
        " under the budget a reply has at most 8192 tokens"
    ]


def test_no_model_of_unknown_price_is_opened_within_a_budget_in_dollars(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-0123456789")
    with pytest.raises(UserError, match="model 'openai/no-such-model': its price is not known"):
        open_proposer("openai/no-such-model", budget=Budget(dollars=1.0))
    with ChatServer([answer("hello")]) as server:
        with pytest.raises(UserError, match="model 'gpt-4o': its price is not known"):
            open_proposer("gpt-4o", api_base=server.url, budget=Budget(dollars=1.0))
        assert server.requests == []
