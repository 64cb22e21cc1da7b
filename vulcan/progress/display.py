"""The base of progress displays, and the choice of one."""

from __future__ import annotations

import logging
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from vulcan.documents.run import OpenedData
from vulcan.searches.options import PROGRESS, check_choice
from vulcan.searches.session import RunDisplay
from vulcan.terminal_text import count, printable

log = logging.getLogger(__name__)


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


def check_form(form: str) -> str:
    """Check the name of a form of progress. Raises UserError."""
    check_choice("form of progress", form, PROGRESS)
    return form


def open_display(form: str) -> Display:
    """Open the display of a form: `auto`, `rich`, `plain`, `json` or `none`.

    All but `json` write to standard error; what cannot be written is left out, except for the summary of `json`. `auto`
    draws on a terminal or in a notebook, and writes plain lines elsewhere (to a file or a pipe, or where TERM is
    `dumb`). `rich` does the same, but reports the fallback. Raises UserError.
    """
    from vulcan.progress.plain import JsonLinesDisplay, PlainDisplay

    aside = _Writer(_aside)
    match check_form(form):
        case "none":
            return Display()
        case "json":
            return JsonLinesDisplay(_Writer(_out), _out)
        case "plain":
            return PlainDisplay(aside)
    from rich.console import Console

    from vulcan.progress.rich import RichDisplay, can_be_drawn_on

    console = Console(stderr=True)
    if can_be_drawn_on(console):
        return RichDisplay(console)
    if form == "rich":
        aside("nothing can be drawn here, for standard error is no terminal that can: progress in plain lines")
    return PlainDisplay(aside)


def _aside(line: str) -> None:
    sys.stderr.write(printable(line) + "\n")
    sys.stderr.flush()


def _out(line: str) -> None:
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


class _Writer:
    """A writer of lines of progress. One that cannot be written is left out, with a warning for the first of them."""

    def __init__(self, write: Callable[[str], None]) -> None:
        self._write = write
        self._warned = False

    def __call__(self, line: str) -> None:
        try:
            self._write(line)
        except OSError as error:
            if not self._warned:
                log.warning("progress cannot be written, and the search goes on without: %s", error.strerror)
            self._warned = True
