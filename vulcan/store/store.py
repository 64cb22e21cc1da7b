"""The contract of a run's memory."""

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
