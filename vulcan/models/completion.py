"""Parse the response of a chat-completions API."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from vulcan.models.retry import TransientError

_FINISH_NAMES = {
    "max_tokens": "length",
    "model_length": "length",
    "end_turn": "stop",
    "eos": "stop",
    "stop_sequence": "stop",
}

_MAX_TOKENS = 10**9
"""Larger token counts are taken for errors; SQLite stores none beyond 2^63."""


@dataclass(frozen=True, slots=True)
class Completion:
    """One completion, with the fields of `vulcan.models.base.Reply`."""

    text: str
    model: str
    finish: str
    tokens_in: int | None
    tokens_out: int | None
    dollars: float | None = None


def read_completion(body: object, model: str) -> Completion:
    """Parse a decoded response body; `model` is the name to record where the server gives none.

    Raises TransientError where the body holds no answer, as proxies in front of a model send under load.
    """
    answer = _mapping(body)
    if answer.get("error"):
        raise TransientError(f"the server answered with an error: {_error_text(answer['error'])}")
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
    return Completion(
        text=_text(message.get("content")),
        model=named if isinstance(named, str) and named else model,
        finish=_finish(choice.get("finish_reason")),
        tokens_in=tokens_in,
        tokens_out=tokens_out,
    )


def _mapping(value: object) -> Mapping[str, object]:
    return value if isinstance(value, dict) else {}


def _error_text(error: object) -> str:
    message = _mapping(error).get("message", error)
    return str(message)


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
    sound = isinstance(tokens, int) and not isinstance(tokens, bool) and 0 <= tokens <= _MAX_TOKENS
    return tokens if sound and isinstance(tokens, int) else None
