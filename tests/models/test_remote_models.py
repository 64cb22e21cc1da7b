"""Both ways to a model, the `openai` package and litellm, against a real server that misbehaves."""

from __future__ import annotations

import logging
import socket
import threading
import traceback
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pytest
from chat_server import (
    Behaviour,
    ChatServer,
    Exchange,
    answer,
    cut_off,
    drip,
    fail,
    hang_up,
    raw,
    stall,
    stall_after_headers,
)

from vulcan.errors import UserError
from vulcan.models.base import Message, ModelRefused, ModelUnavailable, Request
from vulcan.models.providers import RemoteModel
from vulcan.models.retry import RetryPolicy

REQUEST = Request(
    proposal=3,
    turn=0,
    messages=(Message("system", "You write policies."), Message("user", "Write one.")),
    parents=(),
    seed=11,
)

Open = Callable[..., RemoteModel]


class Waits:
    """Stands in for the clock: notes each wait and returns at once."""

    def __init__(self) -> None:
        self.seconds: list[float] = []

    def __call__(self, seconds: float) -> bool:
        self.seconds.append(seconds)
        return False


def test_a_reply_carries_the_text_the_tokens_and_the_models_own_name(open_model: Open) -> None:
    with ChatServer([answer("hello", usage=(123, 45), model="toy-2025-01")]) as server:
        reply = open_model(server.url).propose(REQUEST)
    assert (reply.text, reply.finish, reply.model) == ("hello", "stop", "toy-2025-01")
    assert (reply.tokens_in, reply.tokens_out) == (123, 45)
    assert reply.dollars is None  # nobody knows the price of a toy
    assert reply.seconds > 0


def test_the_server_gets_the_chat_the_key_and_the_sampling_that_was_set(open_model: Open, key: str) -> None:
    with ChatServer([answer("hello")]) as server:
        open_model(server.url, temperature=0.5, max_tokens=700).propose(REQUEST)
        open_model(server.url).propose(REQUEST)
    first, second = server.requests
    assert first.path == "/v1/chat/completions"
    assert first.headers["authorization"] == f"Bearer {key}"
    assert first.body["model"] == "toy"
    assert first.body["messages"] == [
        {"role": "system", "content": "You write policies."},
        {"role": "user", "content": "Write one."},
    ]
    assert (first.body["temperature"], first.body["max_tokens"]) == (0.5, 700)
    assert "temperature" not in second.body
    assert "max_tokens" not in second.body


@pytest.mark.parametrize(
    ("behaviour", "status", "advice"),
    [
        (fail(401, "no such key"), 401, "set OPENAI_API_KEY"),
        (fail(403, "this key may not"), 403, "set OPENAI_API_KEY"),
        (fail(404, "the model `toy` does not exist", code="model_not_found"), 404, "check the model's name"),
        (fail(400, "Incorrect API key provided"), 400, "set OPENAI_API_KEY"),
        (fail(402, "pay first"), 402, "no credit left"),
        (fail(429, "You exceeded your current quota", code="insufficient_quota"), 429, "no credit left"),
    ],
)
def test_a_permanent_error_is_one_clear_line_after_one_call(
    open_model: Open, behaviour: Behaviour, status: int, advice: str
) -> None:
    with ChatServer([behaviour]) as server:
        model = open_model(server.url)
        with pytest.raises(ModelRefused) as caught:
            model.propose(REQUEST)
    line = str(caught.value)
    assert len(server.requests) == 1
    assert "\n" not in line
    assert f"status {status}" in line
    assert repr(model.name) in line
    assert advice in line
    assert ("openai" if model.name == "openai/toy" else server.url) in line
    assert isinstance(caught.value, UserError)


def test_a_passing_fault_is_tried_again_after_the_wait_that_the_server_asks_for(
    open_model: Open, caplog: pytest.LogCaptureFixture
) -> None:
    waits = Waits()
    with ChatServer([fail(429, "slow down", Retry_After="7"), fail(500, "boom"), answer("hello")]) as server:
        reply = open_model(server.url, waits).propose(REQUEST)
    assert reply.text == "hello"
    first, second = waits.seconds
    assert 7.0 <= first <= 7.7
    assert 1.0 <= second <= 2.0
    messages = [record.getMessage() for record in caplog.records if record.name == "vulcan.models.retry"]
    assert "attempt 2 of 3 failed: status 500: boom" in messages[1]


LASTING_FAULTS = [
    fail(500, "boom"),
    fail(503, "overloaded"),
    fail(529, "overloaded"),
    fail(429, "slow down"),
    cut_off,
    hang_up,
    raw(b'{"choices": ['),
    raw(b"{}"),
    raw(b"null"),
    raw(b"[]"),
    raw(b'{"choices": []}'),
    raw(b'{"choices": [{"message": null}]}'),
    raw(b'{"error": {"message": "upstream is gone", "code": 502}}'),
    raw(b"all is well", kind="text/plain"),
]


def test_a_fault_that_stays_is_given_up_after_the_last_attempt(open_model: Open) -> None:
    waits = Waits()
    with ChatServer(lambda request: LASTING_FAULTS[request.number // 3]) as server:
        model = open_model(server.url, waits)
        for number in range(len(LASTING_FAULTS)):
            with pytest.raises(ModelUnavailable, match="gave up after 3 failed attempts") as caught:
                model.propose(REQUEST)
            assert len(server.requests) == 3 * (number + 1)
            assert len(waits.seconds) == 2 * (number + 1)
            assert "\n" not in str(caught.value)


def test_a_server_that_does_not_run_is_unavailable(open_model: Open) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{free.getsockname()[1]}/v1"  # bound but not listening: connections are refused
        with pytest.raises(ModelUnavailable, match="gave up after 2 failed attempts"):
            open_model(url).propose(REQUEST)


@pytest.mark.parametrize("behaviour", [stall, stall_after_headers, drip])
def test_a_stalled_reply_ends_at_the_clients_own_limit(open_model: Open, behaviour: Behaviour) -> None:
    with ChatServer([behaviour]) as server:
        model = open_model(server.url, timeout=0.4, retry=RetryPolicy(attempts=2))
        with pytest.raises(ModelUnavailable, match=r"no complete reply within 0\.4 s"):
            model.propose(REQUEST)
        assert len(server.requests) == 2


def test_closing_cuts_off_a_call_in_flight(open_model: Open) -> None:
    arrived = threading.Event()

    def behave(exchange: Exchange) -> None:
        arrived.set()
        stall(exchange)

    with ChatServer([behave]) as server, ThreadPoolExecutor(1) as pool:
        waits = Waits()
        model = open_model(server.url, waits, timeout=60.0)
        call = pool.submit(model.propose, REQUEST)
        assert arrived.wait(10)
        model.close()
        with pytest.raises(ModelUnavailable, match="closed"):
            call.result(10)
        with pytest.raises(ModelUnavailable, match="closed"):
            model.propose(REQUEST)
        assert len(server.requests) == 1
        assert waits.seconds == []


@pytest.mark.parametrize("status", [401, 400, 429, 500])
def test_the_key_is_never_shown_even_by_a_server_that_repeats_it(
    open_model: Open, key: str, status: int, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    caplog.set_level(logging.DEBUG)
    with ChatServer([fail(status, f"the key {key} is\nno good")]) as server:
        with pytest.raises((ModelRefused, ModelUnavailable)) as caught:
            open_model(server.url).propose(REQUEST)
        assert server.requests[0].headers["authorization"] == f"Bearer {key}"
    out, err = capfd.readouterr()
    shown = "".join(traceback.format_exception(caught.value)) + repr(caught.value) + out + err + caplog.text
    assert "the key [hidden] is no good" in shown
    assert key not in shown
    assert caught.value.__context__ is None
    assert out == ""
