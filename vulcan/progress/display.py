"""The choice of a progress display."""

from __future__ import annotations

import logging
import sys
from collections.abc import Callable

from vulcan.searches.options import PROGRESS, check_choice
from vulcan.searches.session import RunDisplay
from vulcan.terminal_text import printable

log = logging.getLogger(__name__)


def check_form(form: str) -> str:
    """Check the name of a form of progress. Raises UserError."""
    check_choice("form of progress", form, PROGRESS)
    return form


def open_display(form: str) -> RunDisplay:
    """Open the display of a form: `auto`, `rich`, `plain`, `json` or `none`.

    All but `json` write to standard error; what cannot be written is left out, except for the summary of `json`. `auto`
    draws on a terminal or in a notebook, and writes plain lines elsewhere (to a file or a pipe, or where TERM is
    `dumb`). `rich` does the same, but reports the fallback. Raises UserError.
    """
    from vulcan.progress.plain import JsonLinesDisplay, PlainDisplay

    aside = _Writer(_aside)
    match check_form(form):
        case "none":
            return RunDisplay()
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
