"""Displays that do not draw: plain text lines, JSON lines for programs, and none."""

from __future__ import annotations

import json
import math
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from vulcan.documents.run import ProgressLine
from vulcan.progress.run_opened import RunInfo
from vulcan.progress.state import ProgressSnapshot, ProgressTracker, failure_parts, progress_parts, score_parts
from vulcan.store.events import CandidateRefined, Event, FinalistScored, WinnerChosen, kind_of

if TYPE_CHECKING:
    from vulcan.searches.study import Study


AT_MOST_EVERY = 2.0
"""Minimum seconds between two lines: early in a search, improvements come many times a second."""
AT_LEAST_EVERY = 15.0
"""Seconds after which a line is written even without an improvement."""


class PlainDisplay:
    """A display that passes text lines to `write`; see `vulcan.searches.session.RunDisplay`."""

    def __init__(self, write: Callable[[str], None], clock: Callable[[], float] = time.monotonic) -> None:
        self._write = write
        self._clock = clock
        self._tally = ProgressTracker(clock)
        self._last: float | None = None
        self._due = False
        self._written: tuple[object, ...] = ()

    def opened(self, opened: RunInfo) -> None:
        """See `vulcan.progress.display.Display`."""
        self._write(opened.words())

    def ended(self, summary: Mapping[str, Any]) -> None:
        """See `vulcan.progress.display.Display`: nothing to do, the caller prints the summary."""

    def preparing(self, what: str) -> None:
        """See `Display`: not worth a line."""

    def waiting(self, what: str) -> None:
        """See `Display`."""
        self._write(what)

    def begin(self, study: Study) -> None:
        """See `Display`."""
        self._tally.begin(study)
        if (standing := self._tally.standing()) is not None and self._last is None:
            self._last = self._clock() - AT_MOST_EVERY
            self._written = _news(standing)

    def __call__(self, event: Event) -> None:
        self._due |= self._tally.add(event)
        if (said := told(event)) is not None:
            self._say_standing(at_once=True)
            self._write(said)
        else:
            self._say_standing()

    def _say_standing(self, *, at_once: bool = False) -> None:
        """Write a progress line if one is due, or, with `at_once`, if there is news."""
        standing = self._tally.standing()
        if standing is None or self._last is None:
            return
        passed = self._clock() - self._last
        news = at_once and _news(standing) != self._written
        if not (news or (self._due and passed >= AT_MOST_EVERY) or passed >= AT_LEAST_EVERY):
            return
        first, *rest = progress_parts(standing)
        self._write(" | ".join((first, *score_parts(standing), *rest, *failure_parts(standing))))
        self._written, self._last, self._due = _news(standing), self._clock(), False

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._say_standing(at_once=True)


def _news(standing: ProgressSnapshot) -> tuple[object, ...]:
    """Return the values whose change is worth a line; elapsed time is not among them."""
    return standing.settled, standing.best


def told(event: Event) -> str | None:
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


class NullDisplay:
    """A display that shows nothing; see `vulcan.searches.session.RunDisplay`."""

    def opened(self, opened: RunInfo) -> None:
        """See `vulcan.progress.display.Display`."""

    def ended(self, summary: Mapping[str, Any]) -> None:
        """See `vulcan.progress.display.Display`."""

    def preparing(self, what: str) -> None:
        """See `Display`."""

    def waiting(self, what: str) -> None:
        """See `Display`."""

    def begin(self, study: Study) -> None:
        """See `Display`."""

    def __call__(self, event: Event) -> None: ...

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None: ...


KINDS = ("Opened", "Preparing", "Begun", "Waiting", "Ended", "Failed")
"""Kinds of lines in addition to the run's events, which are in `vulcan.store.events.EVENTS`."""


class JsonLinesDisplay:
    """A display of JSON lines, for programs that follow a search; see `vulcan.searches.session.RunDisplay`.

    Every line has the keys `kind`, `seconds`, `data` and `progress`.
    """

    def __init__(self, write: Callable[[str], None]) -> None:
        """Pass each line, without its line break, to `write`, which must flush it."""
        self._write = write
        self._tally = ProgressTracker()

    def opened(self, opened: RunInfo) -> None:
        """See `vulcan.progress.display.Display`."""
        self._line("Opened", opened.document())

    def preparing(self, what: str) -> None:
        """See `Display`."""
        self._line("Preparing", {"what": what})

    def waiting(self, what: str) -> None:
        """See `Display`."""
        self._line("Waiting", {"what": what})

    def begin(self, study: Study) -> None:
        """See `Display`."""
        self._tally.begin(study)
        self._line("Begun", {"completed": study.settled, "total": study.total})

    def __call__(self, event: Event) -> None:
        self._tally.add(event)
        self._line(kind_of(event), asdict(event))

    def ended(self, summary: Mapping[str, Any]) -> None:
        """See `vulcan.progress.display.Display`."""
        self._line("Ended", summary)

    def _line(self, kind: str, data: Any) -> None:
        """Write a line. Non-finite numbers, for example a score of a task, become null."""
        standing = self._tally.standing()
        document: ProgressLine = {
            "kind": kind,
            "seconds": round(self._tally.seconds, 3),
            "data": data,
            "progress": None if standing is None else standing.document(),
        }
        self._write(json.dumps(_finite(document), allow_nan=False))

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
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
