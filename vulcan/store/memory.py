"""A store that forgets: for tests, and for searches from Python that need no trail."""

from __future__ import annotations

from collections.abc import Iterator

from vulcan.store.events import CallRecord, Event


class MemoryStore:
    """See `vulcan.store.store.Store`."""

    def __init__(self) -> None:
        self._events: list[Event] = []
        self._calls: dict[tuple[int, int], CallRecord] = {}
        self._asked: set[tuple[int, int]] = set()

    def append(self, *events: Event) -> None:
        self._events.extend(events)

    def events(self) -> Iterator[Event]:
        return iter(tuple(self._events))

    def keep_call(self, call: CallRecord) -> None:
        self._calls.setdefault((call.proposal, call.turn), call)

    def call(self, proposal: int, turn: int) -> CallRecord | None:
        return self._calls.get((proposal, turn))

    def calls(self) -> Iterator[CallRecord]:
        return iter([self._calls[key] for key in sorted(self._calls)])

    def keep_asked(self, proposal: int, turn: int) -> None:
        self._asked.add((proposal, turn))

    def asked(self) -> Iterator[tuple[int, int]]:
        return iter(sorted(self._asked))

    def close(self) -> None:
        pass
