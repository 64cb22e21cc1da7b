"""The base of progress displays, and what they are told of a run."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self

from vulcan.documents.run import OpenedData
from vulcan.searches.session import RunDisplay
from vulcan.terminal_text import count


def opening_text(opened: OpenedData) -> str:
    """Say which run is opened; one whose prompts are answered by hand (`--model ask`) has no models."""
    answered = f", model {', '.join(opened['model'])}" if opened["model"] else ""
    if opened["replay_of"] is not None:
        answered = f", the replies of {opened['replay_of']}"
    return f"run {opened['run']}: task {opened['task']}, {count(opened['instances'], 'instance')}{answered}"


class Display(RunDisplay):
    """A display that is opened and closed, and is notified of the start and end of a run; this one shows nothing."""

    def opened(self, opened: OpenedData) -> None:
        """Handle the opening of a run, before any of its events."""

    def finished(self, summary: Mapping[str, Any]) -> None:
        """Handle the end of a run, with its summary: the document of `vulcan show RUN --json`."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: object, error: BaseException | None, traceback: object) -> None:
        """Handle the end of the display, and what ended it."""
