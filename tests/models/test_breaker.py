"""When a failing model is left alone, and when it is tried again."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing

import pytest
from chat_server import ChatServer, answer, fail

from vulcan.models import BudgetExhausted, Message, ModelRefused, ModelUnavailable, Reply, Request
from vulcan.models.call_settings import CallSettings
from vulcan.models.ensemble import PAUSE, Breaker
from vulcan.models.providers import EndpointModel
from vulcan.models.retry import RetryPolicy

REQUEST = Request(1, 0, (Message("user", "Write one."),), (), 1)
REPLY = Reply("hello", "toy", "stop", 1, 1, None, 0.1)


class Scripted:
    """A model that does what it is told to; it counts its calls."""

    name = "toy"

    def __init__(self, act: Callable[[], Reply]) -> None:
        self.act = act
        self.calls = 0

    def propose(self, request: Request) -> Reply:
        self.calls += 1
        return self.act()

    def close(self) -> None:
        pass


def failing() -> Reply:
    raise ModelUnavailable("gave up")


@pytest.fixture
def server_of_faults() -> Iterator[tuple[ChatServer, EndpointModel]]:
    """A server that fails 4 calls and then answers, and a model that makes no second attempts."""
    with ChatServer([fail(503, "busy")] * 4 + [answer("hello")]) as server:
        model = EndpointModel("toy", server.url, CallSettings(retry=RetryPolicy(attempts=1)))
        with closing(model):
            yield server, model


def unavailable(breaker: Breaker) -> str:
    with pytest.raises(ModelUnavailable) as caught:
        breaker.propose(REQUEST)
    return str(caught.value)


def test_a_model_that_fails_is_left_alone_tried_and_taken_back(
    server_of_faults: tuple[ChatServer, EndpointModel],
) -> None:
    server, model = server_of_faults
    now = [0.0]
    breaker = Breaker(model, lambda: now[0])
    for _ in range(3):
        assert "status 503: busy" in unavailable(breaker)
    now[0] = PAUSE - 1
    line = unavailable(breaker)
    assert line.startswith(
        "model 'toy' is left alone after 3 failed calls in a row; it is tried again in 1 s; the last:"
    )
    assert "status 503: busy" in line
    assert len(server.requests) == 3  # nothing was sent
    now[0] = PAUSE
    assert "left alone" not in unavailable(breaker)  # this one went through, and failed
    assert "left alone" in unavailable(breaker)
    now[0] = 2 * PAUSE
    assert breaker.propose(REQUEST).text == "hello"
    assert breaker.propose(REQUEST).text == "hello"
    assert len(server.requests) == 6


def test_calls_that_fail_together_leave_it_alone_once() -> None:
    together = threading.Barrier(32, timeout=10)

    def act() -> Reply:
        together.wait()
        return failing()

    model = Scripted(act)
    breaker = Breaker(model, lambda: 0.0)
    with ThreadPoolExecutor(32) as threads:
        assert set(threads.map(lambda _: unavailable(breaker), range(32))) == {"gave up"}
    assert "after 32 failed calls in a row" in unavailable(breaker)
    assert model.calls == 32


@pytest.mark.parametrize("error", [ModelRefused("no such model"), BudgetExhausted("spent")])
def test_what_is_not_a_passing_fault_goes_through_and_counts_for_nothing(error: Exception) -> None:
    def act() -> Reply:
        raise error

    model = Scripted(act)
    breaker = Breaker(model)
    for _ in range(5):
        with pytest.raises(type(error)):
            breaker.propose(REQUEST)
    model.act = lambda: REPLY
    assert breaker.propose(REQUEST) == REPLY
