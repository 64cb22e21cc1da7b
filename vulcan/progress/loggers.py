"""Loggers: copies of a search's figures for a tracking server or a program of the user's own.

Other packages provide them by the entry-point group `vulcan.loggers`; `examples/csv_logger.py` is one.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from importlib.metadata import entry_points
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Protocol, Self, runtime_checkable

from vulcan.errors import UserError, did_you_mean
from vulcan.progress.display import Display
from vulcan.progress.run_opened import RunInfo
from vulcan.progress.state import ProgressSnapshot, ProgressTracker
from vulcan.scoring.foreign_code import ForeignCall
from vulcan.store.events import CandidateJudged, Event

if TYPE_CHECKING:
    from vulcan.searches.study import Study

log = logging.getLogger(__name__)


@runtime_checkable
class Logger(Protocol):
    """Protocol of a destination of a search's figures. What it raises is reported once, and ends its use only."""

    def begin(self, run: Path, parameters: Mapping[str, Any]) -> None:
        """Open the log of a run, or resume it; `parameters` are the options of the search."""

    def log(self, step: int, values: Mapping[str, float]) -> None:
        """Log figures, such as `score` and `best`, by name. The step is the number of a candidate."""

    def end(self, summary: Mapping[str, Any] | None) -> None:
        """Close the log, with the document of `vulcan show RUN --json`; None if the search was stopped."""


ENTRY_POINT_GROUP = "vulcan.loggers"
"""Group of the entry points that name a factory of loggers: a function of the text after the colon of `--log`."""


def make_loggers(given: Sequence[str | Logger]) -> tuple[Logger, ...]:
    """Return loggers, given as such or as `NAME` or `NAME:PLACE` of an installed one. Raises UserError."""
    return tuple(_make_logger(one) for one in given)


def _make_logger(given: str | Logger) -> Logger:
    made: object = given
    if isinstance(given, str):
        name, _, place = given.partition(":")
        installed = {point.name: point for point in entry_points(group=ENTRY_POINT_GROUP)}
        if name not in installed:
            there = (
                f"installed: {', '.join(sorted(installed))}"
                if installed
                else "no package that provides one is installed"
            )
            raise UserError(f"no logger {name!r}{did_you_mean(name, installed)} ({there}; see docs/terminal.md)")
        try:
            made = installed[name].load()(place)
        except (ImportError, AttributeError) as error:
            raise UserError(f"the logger {name!r}, {installed[name].value}, does not load: {error}") from error
    if not isinstance(made, Logger):
        raise UserError(f"{given!r} is no logger: it needs the methods begin, log and end")
    return made


class LoggedDisplay:
    """A `Display` that passes everything on to another one, and figures to loggers."""

    def __init__(self, display: Display, loggers: Sequence[Logger]) -> None:
        self._display = display
        self._loggers = list(loggers)
        self._tracker = ProgressTracker()
        self._run: RunInfo | None = None
        self._step = 0

    def opened(self, opened: RunInfo) -> None:
        """See `Display`."""
        self._run = opened
        self._display.opened(opened)

    def preparing(self, what: str) -> None:
        """See `Display`."""
        self._display.preparing(what)

    def waiting(self, what: str) -> None:
        """See `Display`."""
        self._display.waiting(what)

    def begin(self, study: Study) -> None:
        """See `Display`."""
        self._display.begin(study)
        self._tracker.begin(study)
        self._step = max(study.record.candidates, default=0)
        if self._run is not None:
            run, parameters = self._run.run, _flat(study.config.to_json())
            self._call(lambda logger: logger.begin(run, parameters))

    def __call__(self, event: Event) -> None:
        self._display(event)
        self._tracker.add(event)
        if isinstance(event, CandidateJudged) and (snapshot := self._tracker.snapshot()) is not None:
            self._step = event.candidate
            score = {} if event.score is None else {"score": event.score}
            self._log({**score, **_figures(snapshot)})

    def finished(self, summary: Mapping[str, Any]) -> None:
        """See `Display`."""
        self._log(dict(_results(summary)))
        self._end(summary)
        self._display.finished(summary)

    def __enter__(self) -> Self:
        self._display.__enter__()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._display.__exit__(kind, error, traceback)
        self._end(None)

    def _log(self, values: Mapping[str, float]) -> None:
        self._call(lambda logger: logger.log(self._step, values))

    def _end(self, summary: Mapping[str, Any] | None) -> None:
        self._call(lambda logger: logger.end(summary))
        self._loggers.clear()

    def _call(self, call: Callable[[Logger], None]) -> None:
        for logger in tuple(self._loggers):
            attempt = ForeignCall()  # a search must not end with a server that only copies its figures
            with attempt:
                call(logger)
            if attempt.failure is not None:
                self._loggers.remove(logger)
                log.warning("%s logs no more of this search: %s", type(logger).__name__, attempt.failure)


def _flat(config: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options that are set, the task's too. An address may contain a password."""
    found = {**config, **(config.get("settings") or {})}
    return {name: value for name, value in found.items() if name not in _UNLOGGED and value is not None}


_UNLOGGED = ("settings", "api_base")


def _figures(snapshot: ProgressSnapshot) -> dict[str, float]:
    values: dict[str, float | None] = {
        "best": snapshot.best[1] if snapshot.best else None,
        "gap": snapshot.gap,
        "proposals": snapshot.completed,
        "dollars": snapshot.dollars,
        "tokens": snapshot.tokens,
        "seconds": snapshot.seconds,
        **{f"verdicts/{verdict}": count for verdict, count in snapshot.verdicts.items()},
    }
    return {name: float(value) for name, value in values.items() if value is not None}


def _results(summary: Mapping[str, Any]) -> Iterator[tuple[str, float]]:
    """Yield the winner's mean and the best baseline's on each split that was measured."""
    for split in ("train", "validation", "test"):
        part = summary[split]
        if part is None:
            continue
        if part["score"] is not None:
            yield f"{split}/winner", part["score"]
        if part["best_baseline"] is not None:
            yield f"{split}/best_baseline", part["best_baseline"]["score"]
