"""What was answered in another run, for a search that repeats it without a model."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import zip_longest

from vulcan.errors import UserError
from vulcan.models.base import ModelUnavailable, Reply, Request
from vulcan.store import RunRecord, Store
from vulcan.store.events import CallRecord, CallsChanged, PolicyExplained, SearchSteered
from vulcan.terminal_text import count

log = logging.getLogger(__name__)

_MAX_QUOTE = 60


@dataclass(frozen=True, slots=True)
class RecordedReplies:
    """The replies of models in another run, and the reason for each missing one, by `(proposal, turn)`.

    `last_turns` has the last turn of each proposal: a repair for which there was no budget is not asked again.
    `changed` is what the models refused, `ended` which budget ended the search, and `starts` the number of policies
    that it began with, after which proposals are numbered.
    """

    starts: int
    proposals: int
    calls: Sequence[CallRecord]
    unanswered: Mapping[tuple[int, int], str]
    last_turns: Mapping[int, int]
    steered: Sequence[SearchSteered] = ()
    changed: Sequence[CallsChanged] = ()
    explained: Mapping[int, PolicyExplained] = field(default_factory=dict)
    ended: str = ""

    @classmethod
    def of(cls, store: Store) -> RecordedReplies:
        record = RunRecord.of(store.events())
        gaps = {(p, 0): "no advice" for p in record.proposals if store.call(p, 0) is None}
        gaps |= {(c.proposal, c.turn): c.feedback for c in record.candidates.values() if c.verdict == "no-reply"}
        calls = tuple(store.calls())
        last_turns: dict[int, int] = {}
        made = [(candidate.proposal, candidate.turn) for candidate in record.candidates.values()]
        for proposal, turn in (*made, *((call.proposal, call.turn) for call in calls)):
            last_turns[proposal] = max(turn, last_turns.get(proposal, 0))
        ended = record.stopped.message if record.stopped and record.stopped.reason == "finished" else ""
        asked = sum(p.round > 0 for p in record.proposals.values())
        starts = len(record.proposals) - asked
        steered, changed = tuple(record.steered), tuple(record.calls_changed)
        return cls(starts, asked, calls, gaps, last_turns, steered, changed, record.explained, ended)

    def after(self, starts: int) -> RecordedReplies:
        """Return the same replies for a search that begins with so many policies: its task may have others today."""
        shift = starts - self.starts
        if not shift:
            return self
        return replace(
            self,
            starts=starts,
            calls=tuple(replace(call, proposal=call.proposal + shift) for call in self.calls),
            unanswered={(number + shift, turn): why for (number, turn), why in self.unanswered.items()},
            last_turns={number + shift: turn for number, turn in self.last_turns.items()},
            steered=tuple(replace(event, proposal=event.proposal + shift) for event in self.steered),
            changed=tuple(replace(event, proposal=event.proposal + shift) for event in self.changed),
            explained={},  # by candidate, beside others than today's
        )


class Replay:
    """A `Proposer` that answers each request as another run was, and fails where that had no reply.

    Prompts may differ from the recorded ones, as those of another version of Vulcan do: `close` logs how many did, and
    where the first. Tokens, dollars and seconds are the recorded ones, so that whatever is decided by them is decided
    alike. Safe to call from many threads.
    """

    name = "replay"

    def __init__(self, calls: Iterable[CallRecord], unanswered: Mapping[tuple[int, int], str]) -> None:
        self._calls = {(call.proposal, call.turn): call for call in calls}
        self._unanswered = unanswered
        self._different: dict[tuple[int, int], str] = {}

    def propose(self, request: Request) -> Reply:
        """Return the recorded reply. Raises ModelUnavailable where none was given, UserError where none is recorded."""
        turn = request.proposal, request.turn
        if (why := self._unanswered.get(turn)) is not None:
            raise ModelUnavailable(why)
        if (call := self._calls.get(turn)) is None:
            raise UserError(
                f"replay: proposal {request.proposal}, turn {request.turn}, is not among the {len(self._calls)} "
                "recorded calls; replay with the recorded run's task, options and seed, or search with a model"
            )
        now = tuple((message.role, message.content) for message in request.messages)
        if call.messages != now:
            self._different[turn] = _first_difference(call.messages, now)
        return reply_of(call)

    def close(self) -> None:
        """Log how many prompts were different."""
        if self._different:
            (proposal, turn), difference = min(self._different.items())
            log.warning(
                "replay: %s from the recorded ones, the first that of proposal %d, turn %d: %s",
                count(len(self._different), "prompt differs", "prompts differ"), proposal, turn, difference,
            )  # fmt: skip
            self._different.clear()


def _first_difference(recorded: Sequence[tuple[str, str]], requested: Sequence[tuple[str, str]]) -> str:
    """Say in which line two chats differ first, counting a line for the role of each message."""
    before, now = (
        [line for role, text in chat for line in (f"[{role}]", *text.split("\n"))] for chat in (recorded, requested)
    )
    pairs = enumerate(zip_longest(before, now, fillvalue="(the end)"), 1)
    number, (old, new) = next(pair for pair in pairs if pair[1][0] != pair[1][1])
    return f"line {number} is {_quoted(new)} and was {_quoted(old)}"


def _quoted(line: str) -> str:
    return repr(line if len(line) <= _MAX_QUOTE else line[:_MAX_QUOTE] + "...")


def reply_of(call: CallRecord) -> Reply:
    """Return the reply in a record of the store."""
    costs = call.tokens_in, call.tokens_out, call.dollars, call.seconds
    return Reply(call.reply, call.model, call.finish, *costs, call.by)
