"""A JSON document a line, as things happen: for programs that follow a search while it runs."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping
from dataclasses import asdict
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from vulcan.documents.run import ProgressLine
from vulcan.progress.run_opened import RunInfo
from vulcan.progress.state import ProgressTracker
from vulcan.store.events import Event, kind_of

if TYPE_CHECKING:
    from vulcan.searches.study import Study

KINDS = ("Opened", "Preparing", "Begun", "Ended", "Failed")
"""Kinds of lines beside those of the run's events, which are in `vulcan.store.events.EVENTS`."""


class JsonLinesDisplay:
    """See `vulcan.searches.session.RunDisplay`. Every line has the keys `kind`, `seconds`, `data` and `progress`."""

    def __init__(self, write: Callable[[str], None]) -> None:
        """`write` is given each line without its end, and must pass it on at once."""
        self._write = write
        self._tally = ProgressTracker()

    def opened(self, opened: RunInfo) -> None:
        """See `vulcan.progress.display.Display`."""
        self._line("Opened", opened.document())

    def preparing(self, what: str) -> None:
        """See `Display`."""
        self._line("Preparing", {"what": what})

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
        """Write a line. A number that is not finite, such as a score that a task made so, is null."""
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
