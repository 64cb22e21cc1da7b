"""What was answered in another run, for a search that repeats it without a model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from vulcan.store import RunRecord, Store
from vulcan.store.events import CallRecord, CallsChanged, PolicyExplained, SearchSteered


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
