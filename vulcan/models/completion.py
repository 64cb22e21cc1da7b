"""Parse the response of a chat-completions API."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from vulcan.models.base import Reply
from vulcan.models.retry import TransientError
from vulcan.models.tool_calls import called as called_text

_FINISH_NAMES = {
    "max_tokens": "length",
    "model_length": "length",
    "end_turn": "stop",
    "eos": "stop",
    "stop_sequence": "stop",
}

_MAX_TOKENS = 10**9
"""Larger token counts are taken for errors; SQLite stores none beyond 2^63."""


_CODE = re.compile(r"`{3}|~{3}|^\s*(?:def|class) |<{5,}\s*SEARCH|\\n *def ", re.MULTILINE)

REASONING = "\n\n[reasoning_content]\n"
"""Separates the answer of a reply from its reasoning, where the answer is prose and only the reasoning has code."""


def read_body(data: bytes) -> object:
    """Decode the body of a response: JSON, or the events of a stream, whose chunks are put together.

    Raises TransientError where it is neither, or the stream was cut off.
    """
    try:
        if not data.lstrip().startswith((b"data:", b":", b"event:")):
            return json.loads(data)
        lines = [line[5:].strip() for line in data.decode().splitlines() if line.startswith("data:")]
        chunks = [json.loads(line) for line in lines if line != "[DONE]"]
    except (ValueError, RecursionError):
        raise TransientError("the server's answer is not JSON") from None
    whole = _joined([_mapping(chunk) for chunk in chunks])
    if "[DONE]" not in lines and not whole.get("error") and not _mapping(whole["choices"][0]).get("finish_reason"):
        raise TransientError("the server's stream was cut off")
    return whole


def _joined(chunks: list[Mapping[str, object]]) -> dict[str, Any]:
    """Put the chunks of a stream together to the body of one answer."""
    texts: dict[str, str] = {}
    calls: dict[object, dict[str, str]] = {}
    whole: dict[str, Any] = {}
    finish = None
    for chunk in chunks:
        whole |= {name: value for name in ("error", "model", "usage") if (value := chunk.get(name))}
        choices = chunk.get("choices")
        choice = _mapping(choices[0]) if isinstance(choices, list) and choices else {}
        finish = choice.get("finish_reason") or finish
        delta = _mapping(choice.get("delta"))
        for name in ("content", *_REASONING_FIELDS):
            texts[name] = texts.get(name, "") + _text(delta.get(name))
        for number, call in enumerate(_items(delta.get("tool_calls"))):
            place = call.get("index", number)
            function, made = _mapping(call.get("function")), calls.setdefault(place, {"name": "", "arguments": ""})
            calls[place] = {part: made[part] + _text(function.get(part)) for part in made}
    message = {**texts, "tool_calls": [{"function": function} for function in calls.values()]}
    return {**whole, "choices": [{"message": message, "finish_reason": finish}]}


def read_completion(body: object, model: str, *, calls: bool = False) -> Reply:
    """Parse a decoded response body, but for its price; `model` is the name to record where the server gives none.

    Function calls are read as calls of tools where it `calls` any, and else for the program in their arguments.

    Raises TransientError where the body holds no answer, as proxies in front of a model send under load.
    """
    answer = _mapping(body)
    if error := answer.get("error"):
        raise TransientError(f"the server answered with an error: {_mapping(error).get('message', error)}")
    choices = answer.get("choices")
    if not isinstance(choices, list) or not choices:
        raise TransientError("the server's answer holds no choices")
    choice = _mapping(choices[0])
    message = choice.get("message")
    if not isinstance(message, dict):
        raise TransientError("the server's answer holds no message")
    usage = _mapping(answer.get("usage"))
    tokens_in, tokens_out = _count(usage.get("prompt_tokens")), _count(usage.get("completion_tokens"))
    if not tokens_in and not tokens_out:
        tokens_in = tokens_out = None  # litellm and some servers write 0 for what they did not count
    named = answer.get("model")
    name = named if isinstance(named, str) and named else model
    text, finish = _answer(message, calls=calls), _finish(choice.get("finish_reason"))
    return Reply(text, name, finish, tokens_in, tokens_out, None, 0.0)


_REASONING_FIELDS = ("reasoning_content", "reasoning")


def _answer(message: Mapping[str, object], *, calls: bool) -> str:
    """Return the text of a message; where it has no code, also what else has: a call of a tool, or the reasoning."""
    content = _text(message.get("content"))
    if calls and (made := [_mapping(call.get("function")) for call in _items(message.get("tool_calls"))]):
        return "\n\n".join(filter(None, (content.strip(), called_text(made))))
    if _CODE.search(content):
        return content
    called = [message.get("function_call"), *(call.get("function") for call in _items(message.get("tool_calls")))]
    given = [_mapping(function).get("arguments") for function in called]
    if arguments := [one if isinstance(one, str) else json.dumps(one) for one in given if one]:
        return "\n\n".join([*([content] if content.strip() else []), *(f"```json\n{one}\n```" for one in arguments)])
    reasoning = next((text for name in _REASONING_FIELDS if (text := _text(message.get(name))).strip()), "")
    if not content.strip():
        return reasoning or content
    return content + REASONING + reasoning if _CODE.search(reasoning) else content


def _items(value: object) -> list[Mapping[str, object]]:
    return [_mapping(one) for one in value] if isinstance(value, list) else []


def _mapping(value: object) -> Mapping[str, object]:
    return value if isinstance(value, dict) else {}


def _text(content: object) -> str:
    """Return the text of a message, which some servers send as a list of parts."""
    if isinstance(content, str):
        return content
    if isinstance(content, list):
        return "".join(_text(_mapping(part).get("text")) for part in content)
    return ""


def _finish(reason: object) -> str:
    if not isinstance(reason, str) or not reason:
        return "unknown"
    return _FINISH_NAMES.get(reason.lower(), reason.lower())


def _count(tokens: object) -> int | None:
    return tokens if type(tokens) is int and 0 <= tokens <= _MAX_TOKENS else None
