"""Displays that do not draw: plain text lines, and JSON lines for programs."""

from __future__ import annotations

import json
import math
import time
from collections.abc import Callable
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from vulcan.documents.run import OpenedData, Progress, ProgressLine, RunDocument
from vulcan.progress.state import ProgressTracker, failure_parts, opening_text, progress_parts, score_parts
from vulcan.searches.session import RunDisplay
from vulcan.store.events import CandidateRefined, Event, FinalistScored, WinnerChosen

if TYPE_CHECKING:
    from vulcan.searches.study import Study


MIN_INTERVAL = 2.0
"""Minimum seconds between two lines: early in a search, improvements come many times per second."""
MAX_INTERVAL = 15.0
"""Seconds after which a line is written even without an improvement."""


class PlainDisplay(RunDisplay):
    """A display that passes text lines to `write`."""

    def __init__(self, write: Callable[[str], None], clock: Callable[[], float] = time.monotonic) -> None:
        self._write = write
        self._clock = clock
        self._tracker = ProgressTracker(clock)
        self._last: float | None = None
        self._prepared: float | None = None
        self._due = False
        self._written: tuple[object, ...] = ()

    def opened(self, opened: OpenedData) -> None:
        self._write(opening_text(opened))

    def preparing(self, what: str) -> None:
        if self._prepared is None:
            self._prepared = self._clock()
        if self._clock() - self._prepared >= MIN_INTERVAL:
            self._write(what)
            self._prepared = self._clock()

    def waiting(self, what: str) -> None:
        self._write_snapshot(at_once=True)
        self._write(what)

    def begin(self, study: Study) -> None:
        self._tracker.begin(study)
        if (snapshot := self._tracker.snapshot()) is not None and self._last is None:
            self._last = self._clock() - MIN_INTERVAL
            self._written = _reported_values(snapshot)

    def __call__(self, event: Event) -> None:
        self._due |= self._tracker.add(event)
        if (said := event_line(event)) is not None:
            self._write_snapshot(at_once=True)
            self._write(said)
        else:
            self._write_snapshot()

    def _write_snapshot(self, *, at_once: bool = False) -> None:
        """Write a progress line if one is due, or, with `at_once`, if there is news."""
        snapshot = self._tracker.snapshot()
        if snapshot is None or self._last is None:
            return
        passed = self._clock() - self._last
        news = at_once and _reported_values(snapshot) != self._written
        if not (news or (self._due and passed >= MIN_INTERVAL) or passed >= MAX_INTERVAL):
            return
        first, *rest = progress_parts(snapshot)
        self._write(" | ".join((first, *score_parts(snapshot), *rest, *failure_parts(snapshot))))
        self._written, self._last, self._due = _reported_values(snapshot), self._clock(), False

    def __exit__(self, kind: object, error: BaseException | None, traceback: object) -> None:
        self._write_snapshot(at_once=True)


def _reported_values(progress: Progress) -> tuple[object, ...]:
    """Return the values whose change is worth a line; elapsed time is not among them."""
    return progress["completed"], progress["best"]


def event_line(event: Event) -> str | None:
    """Return a line for an event that is worth its own; None for others."""
    match event:
        case CandidateRefined(candidate, by, _, result) if result is not None:
            return f"candidate {candidate} {by}: it became candidate {result}"
        case FinalistScored(candidate, "test", score):
            shown = "failed" if score is None else f"{score:.4f}"
            return f"candidate {candidate} scores {shown} on the split test"
        case WinnerChosen(candidate, split):
            return f"candidate {candidate} is the winner, chosen on the split {split}"
        case _:
            return None


KINDS = ("Opened", "Preparing", "Begun", "Waiting", "Ended", "Failed")
"""Kinds of lines in addition to the run's events, which are in `vulcan.store.events.EVENTS`."""


class JsonLinesDisplay(RunDisplay):
    """A display of JSON lines, for programs that follow a search.

    Every line has the keys `kind`, `seconds`, `data` and `progress`.
    """

    def __init__(self, write: Callable[[str], None], write_last: Callable[[str], None] | None = None) -> None:
        """Pass each line, without its line break, to `write`, which must flush it, and the summary to `write_last`."""
        self._write = write
        self._write_last = write_last or write
        self._tracker = ProgressTracker()

    def opened(self, opened: OpenedData) -> None:
        self._line("Opened", opened)

    def preparing(self, what: str) -> None:
        self._line("Preparing", {"what": what})

    def waiting(self, what: str) -> None:
        self._line("Waiting", {"what": what})

    def begin(self, study: Study) -> None:
        self._tracker.begin(study)
        self._line("Begun", {"completed": study.completed, "total": study.total})

    def __call__(self, event: Event) -> None:
        self._tracker.add(event)
        self._line(type(event).__name__, asdict(event))

    def finished(self, summary: RunDocument) -> None:
        self._write_last(self._line_of("Ended", summary))

    def _line(self, kind: str, data: Any) -> None:
        self._write(self._line_of(kind, data))

    def _line_of(self, kind: str, data: Any) -> str:
        """Return a line. Non-finite numbers, for example a score of a task, become null."""
        document: ProgressLine = {
            "kind": kind,
            "seconds": round(self._tracker.seconds, 3),
            "data": data,
            "progress": self._tracker.snapshot(),
        }
        return json.dumps(_finite(document), allow_nan=False)

    def __exit__(self, kind: object, error: BaseException | None, traceback: object) -> None:
        if isinstance(error, KeyboardInterrupt):
            self._line("Failed", {"reason": "interrupted", "message": ""})
        elif error is not None:
            self._line("Failed", {"reason": "error", "message": " ".join(str(error).split())})


def _finite(value: Any) -> Any:
    match value:
        case float():
            return value if math.isfinite(value) else None
        case dict():
            return {key: _finite(inner) for key, inner in value.items()}
        case list() | tuple():
            return [_finite(inner) for inner in value]
        case _:
            return value
