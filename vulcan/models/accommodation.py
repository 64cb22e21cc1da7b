"""Parameters that a model refuses, which are left out of its calls, or exchanged for what it takes."""

from __future__ import annotations

import re
import threading
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Literal

from vulcan.models.base import Message

Change = Literal["temperature", "max_tokens", "stream", "stream_options", "system", "name", "tools"]
"""What is done otherwise: see `CHANGES`."""

CHANGES: Mapping[Change, str] = {
    "temperature": "no temperature is sent",
    "max_tokens": "max_completion_tokens is sent instead of max_tokens",
    "stream": "replies are streamed",
    "stream_options": "no token counts are asked for in a stream",
    "system": "the system message is sent as part of the user's",
    "name": "the name is sent without `openai/`",
    "tools": "tools are called in the text of replies, not as functions",
}

_UNSUPPORTED = (
    r"unsupported|not (?:be )?(?:support|allow|permit|enabled|recogni[sz]ed|compatible|accept)|n't (?:support|allow)"
    r"|only (?:the )?default|deprecated|unrecogni[sz]ed|unexpected|unknown|extra (?:inputs|fields)"
    r"|use \W*max_completion"
)
_ABOUT: Mapping[Change, str] = {
    "temperature": rf"temperature.*(?:{_UNSUPPORTED})|(?:{_UNSUPPORTED}).*temperature",
    "max_tokens": rf"max_tokens.*(?:{_UNSUPPORTED})|(?:{_UNSUPPORTED}).*max_tokens",
    "stream_options": r"stream_options",
    "stream": r"\bstream(?:ing|ed)?\b",
    "tools": rf"\b(?:tool|function).*(?:{_UNSUPPORTED})|(?:{_UNSUPPORTED}).*\b(?:tool|function)",
    "system": rf"(?:system|developer)\b.*(?:{_UNSUPPORTED})|(?:{_UNSUPPORTED}).*\bsystem\b",
}


@dataclass(frozen=True, slots=True)
class ModelCall:
    """What is sent for one call: the model's name, the chat, and the parameters beside them."""

    model: str
    messages: tuple[Message, ...]
    parameters: Mapping[str, object]


def find_change(refusal: str, call: ModelCall) -> Change | None:
    """Return what to change in a call after a refusal with these words; None where they name nothing it sends."""
    applies = {name: name in call.parameters for name in ("stream_options", "temperature", "max_tokens", "tools")} | {
        "stream": "stream" not in call.parameters,
        "system": any(message.role == "system" for message in call.messages),
    }
    line = " ".join(refusal.split())
    return next((c for c, about in _ABOUT.items() if applies[c] and re.search(about, line, re.IGNORECASE)), None)


def changed(call: ModelCall, changes: Collection[Change]) -> ModelCall:
    """Return the call with these changes."""
    model, messages, parameters = call.model, call.messages, dict(call.parameters)
    if "temperature" in changes:
        parameters.pop("temperature", None)
    if "tools" in changes:
        parameters.pop("tools", None)
    if "max_tokens" in changes and "max_tokens" in parameters:
        parameters["max_completion_tokens"] = parameters.pop("max_tokens")
    if "stream" in changes:
        parameters["stream"] = True
        if "stream_options" not in changes:
            parameters["stream_options"] = {"include_usage": True}
    if "system" in changes:
        messages = _without_system(messages)
    return ModelCall(model.removeprefix("openai/") if "name" in changes else model, messages, parameters)


def _without_system(messages: tuple[Message, ...]) -> tuple[Message, ...]:
    """Put the text of the system messages before that of the first user message."""
    told = "\n\n".join(message.content for message in messages if message.role == "system")
    rest = [message for message in messages if message.role != "system"]
    if not rest or rest[0].role != "user":
        return (Message("user", told), *rest)
    return (Message("user", f"{told}\n\n{rest[0].content}"), *rest[1:])


class Changes:
    """The changes that each model of a search needs; safe to use from many threads."""

    def __init__(self, known: Mapping[str, Collection[str]] = {}) -> None:
        """Start from what is `known`, by model, of an earlier session."""
        self._lock = threading.Lock()
        self._made = {model: frozenset(c for c in CHANGES if c in names) for model, names in known.items()}
        self._news: list[tuple[str, Change]] = []

    def of(self, model: str) -> frozenset[Change]:
        with self._lock:
            return self._made.get(model, frozenset())

    def add(self, model: str, changes: Collection[Change]) -> list[Change]:
        """Remember changes with which a call was answered, and return the new ones."""
        with self._lock:
            made = self._made.get(model, frozenset())
            new = [change for change in CHANGES if change in changes and change not in made]
            self._made[model] = made | frozenset(new)
            self._news += [(model, change) for change in new]
            return new

    def take_news(self) -> list[tuple[str, Change]]:
        """Return the changes made since the last call of this method."""
        with self._lock:
            news, self._news = self._news, []
            return news
