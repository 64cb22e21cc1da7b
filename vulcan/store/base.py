"""The log of a run, and an in-memory one for tests and for searches that need no persistence.

It is the only truth about the run: all else is computed from its entries. Events are appended in order. Replies of
models, questions and instructions are recorded between them as they arrive.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from typing import Any, TypeVar, cast, get_args

from vulcan.store.events import Arrival, CallRecord, Entry, Event, InstructionTaken, QuestionAsked

Turn = tuple[int, int]
"""A proposal, and the turn of its chat."""

E = TypeVar("E", bound=Entry)

Numbered = tuple[int, str, E]
"""An entry with its row number, from 1, and the time of appending, in ISO 8601."""


class Store(ABC):
    """The store of one run. After `append` or `record` returns, its data survives the death of the process."""

    def append(self, *events: Event) -> None:
        """Append events atomically."""
        time = now()
        self.restore([(time, event) for event in events])

    def record(self, arrival: Arrival) -> None:
        """Record what has arrived; the first reply to a proposal and turn wins, as does the first of a question."""
        self.restore([(now(), arrival)])

    @abstractmethod
    def entries(self, *kinds: type[E], after: int = 0) -> Iterator[Numbered[E]]:
        """Return every entry of these kinds after a row, in the order of appending. Raises UserError for damage."""

    @abstractmethod
    def call(self, proposal: int, turn: int) -> CallRecord | None:
        """Return the reply to that turn of that proposal, if any."""

    @abstractmethod
    def restore(self, entries: Iterable[tuple[str, Entry]]) -> None:
        """Import the entries of another store atomically, each with its original time."""

    def recover(self) -> str | None:
        """Reconcile the log with its second record, after a kill; call it before a search.

        Returns the fault of that record that was repaired; None if there was none.
        """
        return None

    @abstractmethod
    def check(self) -> None:
        """Read everything. Raises UserError where that fails, or data is not as it was written."""

    @abstractmethod
    def close(self) -> None:
        """Release all resources; nothing may be read or written afterwards."""

    def numbered(self, after: int = 0) -> Iterator[Numbered[Event]]:
        """Return every event after a row, in the order of appending."""
        return self.entries(*get_args(Event), after=after)

    def events(self) -> Iterator[Event]:
        """Return every event, in the order of appending."""
        return (event for _, _, event in self.numbered())

    def started_at(self) -> str:
        """Return the time of the first event, in ISO 8601; an empty string if there is none."""
        return next((time for _, time, _ in self.numbered()), "")

    def calls(self) -> Iterator[CallRecord]:
        """Return every reply, ordered by proposal and turn."""
        return iter(sorted((call for _, _, call in self.entries(CallRecord)), key=turn_of))

    def questions(self) -> Iterator[Turn]:
        """Return every proposal and turn that was handed out, in order."""
        return iter(sorted(turn_of(question) for _, _, question in self.entries(QuestionAsked)))

    def instructions(self) -> Iterator[InstructionTaken]:
        """Return every instruction that the search has taken."""
        return (taken for _, _, taken in self.entries(InstructionTaken))


class MemoryStore(Store):
    """A store in memory."""

    def __init__(self) -> None:
        self._log: list[tuple[str, Entry]] = []
        self._arrived: dict[object, Entry] = {}

    def entries(self, *kinds: type[E], after: int = 0) -> Iterator[Numbered[E]]:
        rows = enumerate(self._log[after:], after + 1)
        return iter([(row, time, entry) for row, (time, entry) in rows if type(entry) in kinds])  # type: ignore[misc]

    def call(self, proposal: int, turn: int) -> CallRecord | None:
        return cast("CallRecord | None", self._arrived.get((CallRecord, proposal, turn)))

    def restore(self, entries: Iterable[tuple[str, Entry]]) -> None:
        for time, entry in entries:
            if (key := arrival_key(entry)) is not None:
                if key in self._arrived:
                    continue
                self._arrived[key] = entry
            self._log.append((time, entry))

    def check(self) -> None:
        """Do nothing: memory does not change by itself."""

    def close(self) -> None:
        pass


def turn_of(entry: CallRecord | QuestionAsked) -> Turn:
    return entry.proposal, entry.turn


def arrival_key(entry: Entry) -> tuple[Any, ...] | None:
    """Return what is recorded once of a reply, a question or an instruction; None for an event."""
    match entry:
        case CallRecord() | QuestionAsked():
            return type(entry), *turn_of(entry)
        case InstructionTaken():
            return type(entry), entry.id
    return None


def now() -> str:
    """Return the current time in ISO 8601, as a store records it."""
    return datetime.now(UTC).isoformat(timespec="milliseconds")
