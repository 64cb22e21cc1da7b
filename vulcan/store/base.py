"""The contract of a run's memory.

A store that forgets: for tests, and for searches from Python that need no trail.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol, runtime_checkable

from vulcan.store.events import CallRecord, Event


@runtime_checkable
class Store(Protocol):
    """Holds one run. What `append` or `keep_call` returned from is not lost by the death of the process."""

    def append(self, *events: Event) -> None:
        """Add events at the end, all of them or none."""

    def events(self) -> Iterator[Event]:
        """Every event, in the order in which they were appended."""

    def keep_call(self, call: CallRecord) -> None:
        """Keep a model's answer; the first one for a proposal and turn stays."""

    def call(self, proposal: int, turn: int) -> CallRecord | None:
        """The answer to that turn of that proposal, if there is one."""

    def calls(self) -> Iterator[CallRecord]:
        """Every answer, by proposal and turn."""

    def keep_asked(self, proposal: int, turn: int) -> None:
        """Remember that this turn of the proposal was given to somebody to answer."""

    def asked(self) -> Iterator[tuple[int, int]]:
        """Every proposal and turn that was given out, in order."""

    def close(self) -> None: ...


class MemoryStore:
    """See `vulcan.store.base.Store`."""

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
