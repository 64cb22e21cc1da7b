"""The way of events into a search's store, to its record and history, and to those who listen."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from vulcan.searches.population import VisibleHistory
from vulcan.store import RunRecord, Store
from vulcan.store.events import Event

Listener = Callable[[Event], None]


class EventLog:
    """Events are taken in at once, stored in groups, and heard once they are stored."""

    def __init__(self, store: Store, record: RunRecord, history: VisibleHistory, listeners: Iterable[Listener]) -> None:
        self._store = store
        self._record = record
        self._history = history
        self._listeners = tuple(listeners)
        self._gathered: list[Event] = []
        self.buffered: list[Event] = []

    def emit(self, *events: Event) -> None:
        """Store events, behind what was buffered and gathered."""
        if events:
            self.gather(*events)
            self.flush()

    def gather(self, *events: Event) -> None:
        """Take events in that the next flush stores: verdicts that come together are one transaction."""
        self._gathered.extend(events)
        self._take_in(events)

    def buffer(self, *events: Event) -> None:
        """Take events in that are stored with the next ones, and dropped if the search stops before."""
        self.flush()
        self.buffered.extend(events)
        self._take_in(events)
        self._announce(events)

    def flush(self, *, is_end: bool = False) -> None:
        """Store what was gathered, in one transaction; at the end of a search also what was buffered for it."""
        events, self._gathered = self._gathered, []
        if events or (is_end and self.buffered):
            self._store.append(*self.buffered, *events)
            self.buffered.clear()
        self._announce(events)

    def _take_in(self, events: Iterable[Event]) -> None:
        for event in events:
            self._record.add(event)
            self._history.add(event)

    def _announce(self, events: Iterable[Event]) -> None:
        for event in events:
            for listener in self._listeners:
                listener(event)
