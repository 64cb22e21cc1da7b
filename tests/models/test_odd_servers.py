"""Servers and models that refuse parameters, answer in other places, or are known by another name."""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import closing

import pytest
from chat_server import Behaviour, ChatServer, Received, answer, fail, message, raw, stream

from vulcan.models.accommodation import Changes
from vulcan.models.base import Message, ModelRefused, ModelUnavailable, Reply, Request, RequestRefused
from vulcan.models.call_settings import CallSettings
from vulcan.models.open import open_proposer
from vulcan.models.reply_parser import NoSource, extract_source
from vulcan.models.retry import RetryPolicy

SOURCE = "def priority(now):\n    return now\n"
BLOCK = f"```python\n{SOURCE}```\n"
CHAT = (Message("system", "You write policies."), Message("user", "Write one."))
REQUEST = Request(proposal=3, turn=0, messages=CHAT, parents=(), seed=11)
SET = CallSettings(
    timeout=10.0,
    temperature=0.7,
    max_tokens=2000,
    retry=RetryPolicy(attempts=2, initial_wait=0.01),
)


def ask(server: ChatServer, name: str = "toy", changes: Changes | None = None, times: int = 1) -> Reply:
    with closing(open_proposer(name, api_base=server.url, settings=SET, changes=changes)) as model:
        return [model.propose(REQUEST) for _ in range(times)][-1]


def without(accepts: Callable[[Received], bool], words: str, **error: str) -> Callable[[Received], Behaviour]:
    """Refuse, in these words, every request that is not accepted."""

    def script(request: Received) -> Behaviour:
        if accepts(request):
            return stream("```python\n", SOURCE, "```") if request.body.get("stream") else answer(BLOCK)
        return fail(400, words, **error)

    return script


REFUSALS = {
    "max_tokens": (
        lambda r: "max_tokens" not in r.body,
        "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.",
    ),
    "temperature": (
        lambda r: "temperature" not in r.body,
        "Unsupported value: 'temperature' does not support 0.7 with this model. Only the default (1) value is "
        "supported.",
    ),
    "stream": (
        lambda r: r.body.get("stream") is True,
        "This model only support stream mode, please enable the stream parameter to access the model.",
    ),
    "system": (
        lambda r: r.body["messages"][0]["role"] != "system",
        "Unsupported value: 'messages[0].role' does not support 'system' with this model.",
    ),
}


@pytest.mark.parametrize("change", REFUSALS)
def test_a_parameter_that_a_model_refuses_is_changed_once_and_remembered(
    change: str, caplog: pytest.LogCaptureFixture
) -> None:
    changes = Changes()
    with ChatServer(without(*REFUSALS[change])) as server:
        reply = ask(server, changes=changes, times=2)
        ask(server, changes=Changes({"toy": [change]}))
    assert extract_source(reply, "priority") == SOURCE
    assert len(server.requests) == 4
    assert changes.take_news() == [("toy", change)]
    assert changes.take_news() == []
    assert caplog.text.count("as it refuses other calls") == 1


@pytest.mark.parametrize(
    "words",
    [
        "The response was filtered due to the prompt triggering content management policy.",
        "max_tokens is too large: 2000",
        "temperature must be between 0 and 0.5",
        "This model's maximum context length is 4096 tokens.",
    ],
)
def test_a_refusal_of_what_was_asked_is_of_this_request_alone(words: str) -> None:
    with ChatServer([fail(400, words)]) as server, pytest.raises(RequestRefused, match="status 400") as caught:
        ask(server)
    assert words.split(":", maxsplit=1)[0] in str(caught.value)
    assert len(server.requests) == 1


@pytest.mark.parametrize(
    "behaviour",
    [
        message(content="", reasoning_content=f"I think.\n{BLOCK}"),
        message(content=None, reasoning=f"I think.\n{BLOCK}"),
        message(content="Here it is.", reasoning_content=BLOCK),
        message(content=None, tool_calls=[{"function": {"name": "f", "arguments": json.dumps({"code": SOURCE})}}]),
        message(content="Calling.", tool_calls=[{"function": {"name": "f", "arguments": {"code": BLOCK}}}]),
        message(content=None, function_call={"name": "f", "arguments": json.dumps({"code": SOURCE})}),
        message(content=json.dumps({"thought": "short", "code": SOURCE})),
        message(content=f"```json\n{json.dumps({'program': {'source': SOURCE}})}\n```"),
        stream("```py", "thon\n" + SOURCE, "```"),
    ],
)
def test_a_program_is_read_wherever_the_answer_has_it(behaviour: Behaviour) -> None:
    with ChatServer([behaviour]) as server:
        assert extract_source(ask(server), "priority") == SOURCE


def test_reasoning_that_used_all_tokens_is_truncated() -> None:
    with ChatServer([message(content="", reasoning_content=BLOCK, finish="length")]) as server:
        reply = ask(server)
    with pytest.raises(NoSource, match="truncated-reply"):
        extract_source(reply, "priority")


def test_a_stream_that_is_cut_off_is_asked_for_again() -> None:
    with ChatServer([stream("```python\n", cut=True), stream(BLOCK)]) as server:
        assert ask(server).text == BLOCK
    assert len(server.requests) == 2


@pytest.mark.parametrize("models", [["qwen3", "other"], None])
def test_a_name_with_its_provider_is_sent_without_it_where_the_server_knows_only_that(
    models: list[str] | None, caplog: pytest.LogCaptureFixture
) -> None:
    script = without(lambda r: r.body["model"] == "qwen3", "The model `openai/qwen3` does not exist.")
    changes = Changes()
    with ChatServer(script, models) as server:
        ask(server, "openai/qwen3", changes, times=2)
    assert [r.body["model"] for r in server.requests] == ["openai/qwen3", "qwen3", "qwen3"]
    assert changes.take_news() == [("openai/qwen3", "name")]


@pytest.mark.parametrize("status", [400, 404])
def test_a_name_that_the_server_does_not_know_is_refused_with_those_that_it_has(status: int) -> None:
    refusal = fail(status, "The model `qwen-3` does not exist.")
    with (
        ChatServer([refusal], ["qwen3", "other"]) as server,
        pytest.raises(ModelRefused, match=r"did you mean 'qwen3'.*qwen3, other"),
    ):
        ask(server, "qwen-3")
    assert len(server.requests) == 1


def test_a_proxy_before_a_server_on_this_host_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("NO_PROXY", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:9")
    with ChatServer([answer(BLOCK)]) as server:
        with pytest.raises(ModelUnavailable, match=r"http_proxy is set.*NO_PROXY=127\.0\.0\.1"):
            ask(server)
        monkeypatch.setenv("no_proxy", "127.0.0.1")
        assert ask(server).text == BLOCK


def test_an_error_in_a_stream_is_one() -> None:
    with ChatServer([raw(b'data: {"error": {"message": "overloaded"}}\n\n'), answer(BLOCK)]) as server:
        assert ask(server).text == BLOCK
