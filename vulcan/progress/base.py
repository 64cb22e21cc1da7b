"""The base of progress displays, and what they are told of a run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from vulcan.documents.run import OpenedData
from vulcan.searches.session import RunDisplay
from vulcan.terminal_text import count


@dataclass(frozen=True, slots=True)
class RunInfo:
    """A run with its task, its number of instances, and its models, or the run whose replies it `repeats`.

    A run whose prompts are answered by hand (`--model ask`) has no models.
    """

    run: Path
    task: str
    instances: int
    models: tuple[str, ...] = ()
    repeats: Path | None = None

    def text(self) -> str:
        """Return the description as readable text."""
        answered = f", model {', '.join(self.models)}" if self.models else ""
        if self.repeats is not None:
            answered = f", the replies of {self.repeats}"
        return f"run {self.run}: task {self.task}, {count(self.instances, 'instance')}{answered}"

    def document(self) -> OpenedData:
        """Return the description as JSON."""
        return {
            "run": str(self.run),
            "task": self.task,
            "instances": self.instances,
            "model": list(self.models),
            "replay_of": None if self.repeats is None else str(self.repeats),
        }


class Display(RunDisplay):
    """A display that is opened and closed, and is notified of the start and end of a run; this one shows nothing."""

    def opened(self, opened: RunInfo) -> None:
        """Handle the opening of a run, before any of its events."""

    def finished(self, summary: Mapping[str, Any]) -> None:
        """Handle the end of a run, with its summary: the document of `vulcan show RUN --json`."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: object, error: BaseException | None, traceback: object) -> None:
        """Handle the end of the display, and what ended it."""
