"""Loggers: copies of a search's figures for TensorBoard, MLflow, Weights & Biases, or a program of the user's own.

Each destination's package is an extra of Vulcan, imported when it is used.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
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


class TensorBoard:
    """A `Logger` that writes TensorBoard's event files to `DIRECTORY/RUN`, by default to the run's directory."""

    def __init__(self, directory: str) -> None:
        self._directory = directory

    def begin(self, run: Path, parameters: Mapping[str, Any]) -> None:
        from tensorboardX import SummaryWriter

        self._writer: Any = SummaryWriter(str(Path(self._directory, run.name) if self._directory else run))
        rows = (f"| {name} | {value} |" for name, value in parameters.items())
        self._writer.add_text("parameters", "\n".join(["| option | value |", "|---|---|", *rows]), 0)

    def log(self, step: int, values: Mapping[str, float]) -> None:
        for name, value in values.items():
            self._writer.add_scalar(name, value, step)

    def end(self, summary: Mapping[str, Any] | None) -> None:
        if summary is not None and summary["best"] is not None:
            source = summary["best"]["source"].replace("\n", "\n    ")
            self._writer.add_text("winner", f"    {source}", summary["best"]["candidate"])
        self._writer.close()


class MLflow:
    """A `Logger` for the MLflow server at `uri`, by default the one of MLFLOW_TRACKING_URI; one experiment per task."""

    def __init__(self, uri: str) -> None:
        self._uri = uri

    def begin(self, run: Path, parameters: Mapping[str, Any]) -> None:
        from mlflow import MlflowClient

        self._client: Any = MlflowClient(self._uri or None)
        name = f"vulcan/{parameters['task']}"
        experiment = self._client.get_experiment_by_name(name)
        identifier = experiment.experiment_id if experiment else self._client.create_experiment(name)
        self._run = self._client.create_run(identifier, run_name=run.name).info.run_id
        for option, value in parameters.items():
            self._client.log_param(self._run, option, str(value))

    def log(self, step: int, values: Mapping[str, float]) -> None:
        from mlflow.entities import Metric

        now = int(time.time() * 1000)
        self._client.log_batch(self._run, metrics=[Metric(name, value, now, step) for name, value in values.items()])

    def end(self, summary: Mapping[str, Any] | None) -> None:
        if summary is not None and summary["best"] is not None:
            self._client.log_text(self._run, summary["best"]["source"], "winner.py")
        self._client.set_terminated(self._run, "KILLED" if summary is None else "FINISHED")


class WeightsAndBiases:
    """A `Logger` for a project of Weights & Biases, by default `vulcan`; a resumed search continues its run."""

    def __init__(self, project: str) -> None:
        self._project = project

    def begin(self, run: Path, parameters: Mapping[str, Any]) -> None:
        import wandb

        self._run: Any = wandb.init(
            project=self._project or "vulcan",
            id=run.name,
            name=run.name,
            config=dict(parameters),
            resume="allow",
            settings=wandb.Settings(silent=True, console="off"),
        )

    def log(self, step: int, values: Mapping[str, float]) -> None:
        self._run.log(dict(values), step=step)

    def end(self, summary: Mapping[str, Any] | None) -> None:
        if summary is not None and summary["best"] is not None:
            self._run.summary["winner"] = summary["best"]["source"]
        self._run.finish(exit_code=1 if summary is None else 0)


@dataclass(frozen=True, slots=True)
class Destination:
    """A kind of logger: its factory, which takes what follows the colon, and the package that it needs."""

    make: Callable[[str], Logger]
    module: str


DESTINATIONS: Mapping[str, Destination] = {
    "tensorboard": Destination(TensorBoard, "tensorboardX"),
    "mlflow": Destination(MLflow, "mlflow"),
    "wandb": Destination(WeightsAndBiases, "wandb"),
}
"""The loggers by the name of `--log`, which is also that of the extra."""


def make_loggers(given: Sequence[str | Logger]) -> tuple[Logger, ...]:
    """Return loggers, given as such or as `KIND` or `KIND:PLACE`. Raises UserError."""
    return tuple(_make_logger(one) for one in given)


def _make_logger(given: str | Logger) -> Logger:
    if not isinstance(given, str):
        if isinstance(given, Logger):
            return given
        raise UserError(f"{given!r} is no logger: it needs the methods begin, log and end")
    kind, _, place = given.partition(":")
    known = DESTINATIONS.get(kind)
    if known is None:
        raise UserError(f"--log {given!r}{did_you_mean(kind, DESTINATIONS)} (one of: {', '.join(DESTINATIONS)})")
    if find_spec(known.module) is None:
        raise UserError(
            f"--log {kind} needs the package {known.module}, which is not installed: "
            f"pip install 'vulcan-policies[{kind}]'"
        )
    return known.make(place)


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
