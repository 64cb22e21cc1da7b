"""The interface of a run's store, and an in-memory store for tests and for searches that need no persistence."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from typing import Protocol, runtime_checkable

from vulcan.store.events import CallRecord, Event


@runtime_checkable
class Store(Protocol):
    """The store of one run. After `append` or `record_call` returns, its data survives the death of the process."""

    def append(self, *events: Event) -> None:
        """Append events atomically."""

    def events(self) -> Iterator[Event]:
        """Return every event, in the order of appending."""

    def numbered(self, after: int = 0) -> Iterator[tuple[int, str, Event]]:
        """Return every event after a row, with its row number, from 1, and the time of appending, in ISO 8601."""

    def started_at(self) -> str:
        """Return the time of the first event, in ISO 8601; an empty string if there is none."""

    def record_call(self, call: CallRecord) -> None:
        """Record a model's reply; the first one for a proposal and turn wins."""

    def call(self, proposal: int, turn: int) -> CallRecord | None:
        """Return the reply to that turn of that proposal, if any."""

    def calls(self) -> Iterator[CallRecord]:
        """Return every reply, ordered by proposal and turn."""

    def call_totals(self) -> tuple[int, int, int, float, int]:
        """Return totals over all calls: count, tokens in, tokens out, dollars, and calls of unknown price."""

    def answered_by(self, first: int) -> dict[tuple[int, int], str]:
        """Return the server's name of the model for each answered proposal and turn, from a proposal on."""

    def spent_by(self, first: int) -> dict[tuple[int, int], tuple[int, float]]:
        """Return tokens and dollars of each call by (proposal, turn), from a proposal on; unknown ones count as 0."""

    def record_question(self, proposal: int, turn: int) -> None:
        """Record that this turn of the proposal was handed out through `ask`."""

    def questions(self) -> Iterator[tuple[int, int]]:
        """Return every proposal and turn that was handed out, in order."""

    def restore(
        self,
        events: Iterable[tuple[str, Event]],
        calls: Iterable[tuple[str, CallRecord]],
        questions: Iterable[tuple[str, int, int]],
    ) -> None:
        """Import the content of another store atomically, each entry with its original time."""

    def recover(self) -> str | None:
        """Import replies that a killed process recorded durably but did not use; call it before a search.

        Returns the fault of the durable record that it repaired; None if there was none.
        """

    def check(self) -> None:
        """Read everything. Raises UserError where that fails, or data is not as it was written."""

    def close(self) -> None:
        """Release all resources; nothing may be read or written afterwards."""


class MemoryStore:
    """A store in memory; see `vulcan.store.base.Store`."""

    def __init__(self) -> None:
        self._events: list[tuple[str, Event]] = []
        self._calls: dict[tuple[int, int], CallRecord] = {}
        self._questions: set[tuple[int, int]] = set()

    def append(self, *events: Event) -> None:
        time = now()
        self._events.extend((time, event) for event in events)

    def events(self) -> Iterator[Event]:
        return (event for _, _, event in self.numbered())

    def numbered(self, after: int = 0) -> Iterator[tuple[int, str, Event]]:
        rows = enumerate(self._events[after:], after + 1)
        return iter([(row, time, event) for row, (time, event) in rows])

    def started_at(self) -> str:
        return min((time for time, _ in self._events), default="")

    def record_call(self, call: CallRecord) -> None:
        self._calls.setdefault((call.proposal, call.turn), call)

    def call(self, proposal: int, turn: int) -> CallRecord | None:
        return self._calls.get((proposal, turn))

    def calls(self) -> Iterator[CallRecord]:
        return iter([self._calls[key] for key in sorted(self._calls)])

    def call_totals(self) -> tuple[int, int, int, float, int]:
        calls = self._calls.values()
        return (
            len(calls),
            sum(call.tokens_in or 0 for call in calls),
            sum(call.tokens_out or 0 for call in calls),
            sum((call.dollars or 0.0 for call in calls), 0.0),
            sum(call.dollars is None for call in calls),
        )

    def answered_by(self, first: int) -> dict[tuple[int, int], str]:
        return {key: call.model for key, call in sorted(self._calls.items()) if key[0] >= first}

    def spent_by(self, first: int) -> dict[tuple[int, int], tuple[int, float]]:
        return {
            key: ((call.tokens_in or 0) + (call.tokens_out or 0), call.dollars or 0.0)
            for key, call in sorted(self._calls.items())
            if key[0] >= first
        }

    def record_question(self, proposal: int, turn: int) -> None:
        self._questions.add((proposal, turn))

    def questions(self) -> Iterator[tuple[int, int]]:
        return iter(sorted(self._questions))

    def restore(
        self,
        events: Iterable[tuple[str, Event]],
        calls: Iterable[tuple[str, CallRecord]],
        questions: Iterable[tuple[str, int, int]],
    ) -> None:
        self._events.extend(events)
        for _, call in calls:
            self.record_call(call)
        self._questions.update((proposal, turn) for _, proposal, turn in questions)

    def recover(self) -> str | None:
        return None

    def check(self) -> None:
        """Do nothing: memory does not change by itself."""

    def close(self) -> None:
        pass


def now() -> str:
    """Return the current time in ISO 8601, as a store records it."""
    return datetime.now(UTC).isoformat(timespec="milliseconds")
