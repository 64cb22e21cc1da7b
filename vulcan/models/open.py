"""Find the proposer that a model's name stands for.

A model that replays another run's recorded replies, with no network and no key.
"""

from __future__ import annotations

from collections.abc import Iterable

from vulcan.errors import UserError
from vulcan.models.accommodation import Changes
from vulcan.models.base import Message, Proposer, Recorded, Reply, Request, content_hash
from vulcan.models.budget import Budget
from vulcan.models.call_settings import CallSettings
from vulcan.models.prices import UNKNOWN, Price


def open_proposer(
    name: str,
    *,
    api_base: str | None = None,
    settings: CallSettings | None = None,
    budget: Budget | None = None,
    price: Price = UNKNOWN,
    changes: Changes | None = None,
) -> Proposer:
    """Open the model `name` of the OpenAI-compatible server at `api_base`, or else of the provider in its name.

    `price` is for a model that litellm's price table does not have; `changes` remembers what models refuse.
    Makes no call; the caller closes the proposer.
    Raises UserError for an invalid name, address or key, and for a budget that cannot be enforced.
    """
    if not name.strip():
        raise UserError("the model has no name: give one, such as openai/gpt-4o, with --model")
    from vulcan.models.providers import (  # with the openai package, which takes half a second
        EndpointModel,
        LitellmModel,
    )

    settings = settings or CallSettings()
    if api_base is not None:
        return EndpointModel(name, api_base, settings, budget=budget, price=price, changes=changes)
    return LitellmModel(name, settings, budget=budget, price=price, changes=changes)


NAME = "replay"

_MAX_QUOTE = 60


class Replay:
    """A `Proposer` that answers each prompt with the reply recorded for it.

    A prompt is identified by the hash of its messages, whatever its number; where the same prompt occurs several
    times, by proposal and turn as well. Tokens, dollars and seconds are the recorded ones, so that
    whatever is decided by them is decided alike. Safe to call from many threads.
    """

    def __init__(self, recorded: Iterable[Recorded]) -> None:
        self._by_content: dict[str, list[Recorded]] = {}
        self._by_turn: dict[tuple[int, int], Recorded] = {}
        for call in recorded:
            self._by_content.setdefault(content_hash(call.messages), []).append(call)
            self._by_turn[call.proposal, call.turn] = call

    @property
    def name(self) -> str:
        return NAME

    def propose(self, request: Request) -> Reply:
        """Return the recorded reply. Raises UserError where there is none, saying how the runs differ."""
        found = self._by_content.get(content_hash(request.messages), [])
        if len(found) == 1:
            return found[0].reply
        for call in found:
            if (call.proposal, call.turn) == (request.proposal, request.turn):
                return call.reply
        asked = f"replay: proposal {request.proposal}, turn {request.turn},"
        if found:
            places = ", ".join(str(call.proposal) for call in found[:5]) + (", ..." if len(found) > 5 else "")
            raise UserError(
                f"{asked} has a prompt that was recorded {len(found)} times, but for other proposals ({places}): "
                "replay with the rounds, samples, budgets and seed of the recorded run"
            )
        raise UserError(
            f"{asked} {self._difference(request)}; replay with the recorded run's task, options, seed and version "
            "of Vulcan, or search with a model"
        )

    def close(self) -> None:
        """Do nothing: no resource is held."""

    def _difference(self, request: Request) -> str:
        before = self._by_turn.get((request.proposal, request.turn))
        if before is None:
            return f"is not among the {len(self._by_turn)} recorded calls"
        return f"has another prompt than the recorded one: {_first_difference(before.messages, request.messages)}"


def _first_difference(recorded: tuple[Message, ...], requested: tuple[Message, ...]) -> str:
    for number, (before, now) in enumerate(zip(recorded, requested, strict=False), 1):
        if before.role != now.role:
            return f"message {number} is of the {now.role} and was of the {before.role}"
        if before.content != now.content:
            return f"message {number} ({now.role}) differs in {_first_line(before.content, now.content)}"
    return f"it has {len(requested)} messages and had {len(recorded)}"


def _first_line(before: str, now: str) -> str:
    lines_before, lines_now = before.split("\n"), now.split("\n")
    for number, (line_before, line_now) in enumerate(zip(lines_before, lines_now, strict=False), 1):
        if line_before != line_now:
            return f"line {number}, which is {_quoted(line_now)} and was {_quoted(line_before)}"
    return f"its length, {len(lines_now)} lines for {len(lines_before)}"


def _quoted(line: str) -> str:
    return repr(line if len(line) <= _MAX_QUOTE else line[:_MAX_QUOTE] + "...")
