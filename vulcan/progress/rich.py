"""A display that redraws a few lines on a terminal or in a notebook."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, Self

from rich.cells import cell_len, set_cell_size
from rich.console import Console, ConsoleOptions, RenderableType
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from vulcan.documents.run import OpenedData
from vulcan.progress.plain import event_line
from vulcan.progress.state import ProgressTracker, failure_parts, opening_text, progress_parts, score_parts
from vulcan.searches.session import RunDisplay
from vulcan.store.events import Event
from vulcan.terminal_text import printable

if TYPE_CHECKING:
    from vulcan.searches.study import Study

_BETWEEN = "   "
_MIN_BAR, _MAX_BAR = 8, 30
_REDRAWS_PER_SECOND = 4


class RichDisplay(RunDisplay):
    """A display that draws on a rich console, and clears it on exit."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._tracker = ProgressTracker()
        self._preparing = "preparing"
        self._waits = ""
        self._live: Live | None = None

    def opened(self, opened: OpenedData) -> None:
        self._say(opening_text(opened))

    def _say(self, text: str) -> None:
        """Print a permanent line above the drawing."""
        with suppress(OSError):  # the terminal is gone, and the search goes on
            self._console.print(printable(text), highlight=False, markup=False)

    def preparing(self, what: str) -> None:
        self._preparing = what

    def waiting(self, what: str) -> None:
        self._waits = what

    def begin(self, study: Study) -> None:
        self._tracker.begin(study)

    def __call__(self, event: Event) -> None:
        self._tracker.add(event)
        self._waits = ""
        if (said := event_line(event)) is not None:
            self._say(said)

    def __rich_console__(self, _console: Console, options: ConsoleOptions) -> Iterator[RenderableType]:
        width = options.max_width
        snapshot = self._tracker.snapshot()
        if snapshot is None:
            yield Text(fitted([self._preparing], width), no_wrap=True)
            return
        first, *rest = progress_parts(snapshot)
        beside_bar = width - _MIN_BAR - 1
        if cell_len(first) <= beside_bar:
            words = fitted([first, *rest], beside_bar)
            bar = ProgressBar(
                max(1, snapshot["total"]), snapshot["completed"], width=min(width - cell_len(words) - 1, _MAX_BAR)
            )
            row = Table.grid(padding=(0, 1, 0, 0))
            row.add_row(bar, Text(words, no_wrap=True))
            yield row
        else:
            yield Text(fitted([first], width), no_wrap=True)
        if scores := score_parts(snapshot):
            better = (snapshot["gap"] or 0) > 0
            yield Text(fitted(scores, width), style="bold" if better else "", no_wrap=True)
        if self._waits:
            yield Text(fitted([self._waits], width), no_wrap=True)
        if failures := failure_parts(snapshot):
            yield Text(fitted(failures, width), style="dim", no_wrap=True)

    def __enter__(self) -> Self:
        self._live = Live(self, console=self._console, refresh_per_second=_REDRAWS_PER_SECOND, transient=True)
        self._live.start()
        return self

    def __exit__(self, kind: object, error: BaseException | None, traceback: object) -> None:
        if self._live is not None:
            with suppress(OSError):
                self._live.stop()
            self._live = None


def fitted(parts: list[str], width: int) -> str:
    """Join the parts that fit into `width` columns, in order of priority; the first is truncated if it does not."""
    line, *rest = parts
    if cell_len(line) > width:
        return set_cell_size(line, max(0, width - 1)) + "…" if width > 0 else ""
    for part in rest:
        if cell_len(line) + len(_BETWEEN) + cell_len(part) <= width:
            line += _BETWEEN + part
    return line


def can_be_drawn_on(console: Any) -> bool:
    """Check whether the console can redraw lines: not a file, nor a dumb terminal.

    In a notebook rich needs ipywidgets for it.
    """
    if console.is_jupyter:
        return find_spec("ipywidgets") is not None
    return bool(console.is_terminal and not console.is_dumb_terminal)
