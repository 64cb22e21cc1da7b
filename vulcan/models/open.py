"""Find the proposer that a model's name stands for.

A model that replays another run's recorded replies, with no network and no key.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable

from vulcan.errors import UserError
from vulcan.models.accommodation import Changes
from vulcan.models.base import Message, Proposer, Recorded, Reply, Request
from vulcan.models.budget import Budget
from vulcan.models.call_settings import CallSettings
from vulcan.models.prices import UNKNOWN, Price
from vulcan.terminal_text import count


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


log = logging.getLogger(__name__)

NAME = "replay"

_MAX_QUOTE = 60


class Replay:
    """A `Proposer` that answers each request with the reply recorded for its proposal and turn.

    Prompts may differ from the recorded ones, as those of another version of Vulcan do: `close` logs how many did, and
    where the first. Tokens, dollars and seconds are the recorded ones, so that whatever is decided by them is decided
    alike. Safe to call from many threads.
    """

    def __init__(self, recorded: Iterable[Recorded]) -> None:
        self._recorded = {(call.proposal, call.turn): call for call in recorded}
        self._different: dict[tuple[int, int], str] = {}

    @property
    def name(self) -> str:
        return NAME

    def propose(self, request: Request) -> Reply:
        """Return the recorded reply. Raises UserError where there is none."""
        call = self._recorded.get((request.proposal, request.turn))
        if call is None:
            raise UserError(
                f"replay: proposal {request.proposal}, turn {request.turn}, is not among the {len(self._recorded)} "
                "recorded calls; replay with the recorded run's task, options and seed, or search with a model"
            )
        if call.messages != request.messages:
            self._different[call.proposal, call.turn] = _first_difference(call.messages, request.messages)
        return call.reply

    def close(self) -> None:
        """Log how many prompts were different."""
        if self._different:
            (proposal, turn), difference = min(self._different.items())
            log.warning(
                "replay: %s from the recorded ones, the first that of proposal %d, turn %d: %s",
                count(len(self._different), "prompt differs", "prompts differ"), proposal, turn, difference,
            )  # fmt: skip
            self._different.clear()


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
