"""Requests to a model, its replies, and the ways a call fails."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, Protocol, runtime_checkable

from vulcan.errors import UserError


@dataclass(frozen=True, slots=True)
class Message:
    """One turn of a chat; `tool` is the result of a tool that the turn before called, one for each call."""

    role: Literal["system", "user", "assistant", "tool"]
    content: str


@dataclass(frozen=True, slots=True)
class Parent:
    """An earlier candidate that the proposal builds on; a higher score is better."""

    candidate: int
    source: str
    score: float


@dataclass(frozen=True, slots=True)
class Request:
    """One call for a candidate.

    `messages` is the whole chat so far; `turn` counts the calls of one proposal, from 0, so that a repair is
    turn 1 or later. `parents`, `operator` and `seed` serve proposers that write programs themselves; a language
    model sees of them what stands in `messages`, and its replies are repeatable by recording only. `form` is how
    the program is to be given: "full", or "diff" against the first parent. `model` names the one of an ensemble
    that is to answer first, which is its own choice where empty. `tools` are the functions that it may call, in the
    API's form.
    """

    proposal: int
    turn: int
    messages: tuple[Message, ...]
    parents: tuple[Parent, ...]
    seed: int
    operator: str = ""
    form: str = "full"
    model: str = ""
    tools: tuple[Mapping[str, Any], ...] = ()

    def sent(self) -> tuple[Message, ...]:
        """Return all that is sent, as messages, for what it may cost."""
        return (*self.messages, *(Message("system", json.dumps(tool)) for tool in self.tools))


@dataclass(frozen=True, slots=True)
class Reply:
    """A reply of a model.

    `model` is the name the server gave of the model that answered. `finish` is why it ended: "stop", "length"
    (cut off at the token limit), another word of the server's, or "unknown". Tokens are None where the server
    does not count them, `dollars` where the price is not known. `seconds` runs from the request to the
    reply, retries and the waits between them included. `by` is the model's name in the search.
    """

    text: str
    model: str
    finish: str
    tokens_in: int | None
    tokens_out: int | None
    dollars: float | None
    seconds: float
    by: str = ""

    @property
    def counted(self) -> bool:
        """True if the server reported the tokens."""
        return self.tokens_in is not None and self.tokens_out is not None


@runtime_checkable
class Proposer(Protocol):
    """A source of candidates. `propose` may be called from many threads at once."""

    @property
    def name(self) -> str: ...

    def propose(self, request: Request) -> Reply:
        """Return one reply.

        Raises ModelRefused (permanent), RequestRefused (this prompt), ModelUnavailable (retries used up) or
        BudgetExhausted.
        """

    def close(self) -> None:
        """Cancel calls in flight, whose `propose` then raises ModelUnavailable, and release resources."""


class ModelRefused(UserError):
    """A permanent error of every call: a wrong key, an unknown model, no credit left. Never retried."""


class ModelUnavailable(Exception):
    """A transient error (rate limit, server error, time-out, lost connection) that outlasted every retry."""


class RequestRefused(ModelUnavailable):
    """This one request was refused, as by a content filter; the model may answer others. Never retried."""


class BudgetExhausted(Exception):
    """A limit of dollars, tokens or minutes was reached: the call was not made, or was cancelled at the deadline."""
