"""The contract of a run's store, and a store in memory.

The store in memory is for tests, and for searches from Python that need no trail.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from typing import Protocol, runtime_checkable

from vulcan.store.events import CallRecord, Event


@runtime_checkable
class Store(Protocol):
    """Holds one run. What `append` or `keep_call` returned from is not lost by the death of the process."""

    def append(self, *events: Event) -> None:
        """Add events at the end, all of them or none."""

    def events(self) -> Iterator[Event]:
        """Every event, in the order in which they were appended."""

    def numbered(self, after: int = 0) -> Iterator[tuple[int, str, Event]]:
        """Every event after a row, with the number of its row, from 1, and when it was appended, in ISO 8601."""

    def begun(self) -> str:
        """When the first event was appended, in ISO 8601; an empty string where there is none."""

    def keep_call(self, call: CallRecord) -> None:
        """Record a model's reply; the first one for a proposal and turn stays."""

    def call(self, proposal: int, turn: int) -> CallRecord | None:
        """The reply to that turn of that proposal, if there is one."""

    def calls(self) -> Iterator[CallRecord]:
        """Every reply, by proposal and turn."""

    def spent(self) -> tuple[int, int, int, float, int]:
        """All calls together: how many, tokens in, tokens out, dollars, and how many have no known price."""

    def answered_by(self, first: int) -> dict[tuple[int, int], str]:
        """The server's name of the model that answered each proposal and turn, from a proposal on."""

    def keep_asked(self, proposal: int, turn: int) -> None:
        """Record that this turn of the proposal was given to somebody to answer."""

    def asked(self) -> Iterator[tuple[int, int]]:
        """Every proposal and turn that was given out, in order."""

    def restore(
        self,
        events: Iterable[tuple[str, Event]],
        calls: Iterable[tuple[str, CallRecord]],
        asked: Iterable[tuple[str, int, int]],
    ) -> None:
        """Take in what another store held, each with the time at which it was recorded there; all of it or nothing."""

    def recover(self) -> str | None:
        """Take in replies that a killed process recorded durably, and nothing used yet; to be called before a search.

        What was wrong with the durable record, and is mended; None where nothing was.
        """

    def check(self) -> None:
        """Read all there is. Raises UserError where that cannot be done, or something is not as it was written."""

    def close(self) -> None:
        """Free what is held; nothing is read or written after it."""


class MemoryStore:
    """See `vulcan.store.base.Store`."""

    def __init__(self) -> None:
        self._events: list[tuple[str, Event]] = []
        self._calls: dict[tuple[int, int], CallRecord] = {}
        self._asked: set[tuple[int, int]] = set()

    def append(self, *events: Event) -> None:
        time = now()
        self._events.extend((time, event) for event in events)

    def events(self) -> Iterator[Event]:
        return (event for _, _, event in self.numbered())

    def numbered(self, after: int = 0) -> Iterator[tuple[int, str, Event]]:
        rows = enumerate(self._events[after:], after + 1)
        return iter([(row, time, event) for row, (time, event) in rows])

    def begun(self) -> str:
        return min((time for time, _ in self._events), default="")

    def keep_call(self, call: CallRecord) -> None:
        self._calls.setdefault((call.proposal, call.turn), call)

    def call(self, proposal: int, turn: int) -> CallRecord | None:
        return self._calls.get((proposal, turn))

    def calls(self) -> Iterator[CallRecord]:
        return iter([self._calls[key] for key in sorted(self._calls)])

    def spent(self) -> tuple[int, int, int, float, int]:
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

    def keep_asked(self, proposal: int, turn: int) -> None:
        self._asked.add((proposal, turn))

    def asked(self) -> Iterator[tuple[int, int]]:
        return iter(sorted(self._asked))

    def restore(
        self,
        events: Iterable[tuple[str, Event]],
        calls: Iterable[tuple[str, CallRecord]],
        asked: Iterable[tuple[str, int, int]],
    ) -> None:
        self._events.extend(events)
        for _, call in calls:
            self.keep_call(call)
        self._asked.update((proposal, turn) for _, proposal, turn in asked)

    def recover(self) -> str | None:
        return None

    def check(self) -> None:
        """Nothing in memory changes by itself."""

    def close(self) -> None:
        pass


def now() -> str:
    """The time in ISO 8601, as a store records it."""
    return datetime.now(UTC).isoformat(timespec="milliseconds")
