"""A search from its opening, or from where it was interrupted, to its end."""

from __future__ import annotations

import logging
import os
import random
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any, Self

from vulcan.documents.run import OpenedData, RunDocument
from vulcan.errors import UserError
from vulcan.evaluator import load_evaluator
from vulcan.registry import recorded_task
from vulcan.scoring import Executor, LocalExecutor, Setup, WorkerLost
from vulcan.scoring.remembering_executor import RememberingExecutor
from vulcan.searches.config import SearchConfig
from vulcan.searches.evidence import (
    EvaluationSet,
    find_objective,
    load_evaluation_set,
    make_scorer,
    open_run,
    tells_findings,
)
from vulcan.searches.model_pool import ModelPool, open_model_pool, replay_model_pool
from vulcan.searches.options import ASK, OPTIONS, ExecutionOptions
from vulcan.searches.population import Population
from vulcan.searches.prompts import Prompts
from vulcan.searches.recorded_replies import RecordedReplies
from vulcan.searches.resumption import warn_of_version, with_settings
from vulcan.searches.strategies import make_strategy
from vulcan.searches.study import Study
from vulcan.searches.target import check_target
from vulcan.store import RunRecord, Store
from vulcan.store.events import Event, RunStopped
from vulcan.store.runs import RunNotStarted
from vulcan.task import Task
from vulcan.trust import is_trusted

log = logging.getLogger(__name__)

MEASURED = "measured.jsonl"
"""File in a run's directory with what the tools of its conversations measured, so that no command measures it again."""


@dataclass(frozen=True)
class ExecutionConfig(ExecutionOptions):
    """The scoring backend: `local` child processes, `ray` (local, or the cluster at `ray_address`), or `auto`."""

    @property
    def count(self) -> int:
        return self.workers or _processors()


def _processors() -> int:
    if hasattr(os, "sched_getaffinity"):  # not on macOS
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


class RunDisplay:
    """A listener that displays a search to its user, and is open while it runs; this one shows nothing."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: object, error: BaseException | None, traceback: object) -> None:
        """Handle the end of the display, and what ended it."""

    def opened(self, opened: OpenedData) -> None:
        """Report the opening of a run, before any of its events."""

    def preparing(self, what: str) -> None:
        """Report a preparation that takes a while."""

    def waiting(self, what: str) -> None:
        """Report what the search has been waiting for."""

    def begin(self, study: Study) -> None:
        """Report that the search itself begins or resumes."""

    def __call__(self, event: Event) -> None:
        """Report an event."""

    def finished(self, summary: RunDocument) -> None:
        """Report the end of a run, with its summary: the document of `vulcan show RUN --json`."""


def check_config(task: Task, config: SearchConfig, *, models: bool = True) -> EvaluationSet:
    """Validate a search before anything is written, and return its evaluation set. Raises UserError.

    `models=False` skips the models, such as in a replay, which needs no key.
    """
    check_target(task, config)
    if config.converses and config.generates:
        raise UserError("--strategy engineer: the offline generator holds no conversation; name a language model")
    draft = make_strategy(config, config.offline).draft(0, Population(), random.Random(0))
    evidence = load_evaluation_set(task, config, load_evaluator(task))
    training = [i for i in evidence.instances if i.split == "train"]
    Prompts(task, find_objective(task, config.objective), config.settings, training, config.limit).chat(draft)
    if config.model == (ASK,):
        for name, option in OPTIONS.items():
            if option.models_only and getattr(config, name) is not None:
                raise UserError(f"{option.switch} has no effect with --model {ASK}, which makes no calls: leave it out")
    elif models:
        open_model_pool(task, config).close()
    return evidence


@contextmanager
def open_study(
    task: Task,
    config: SearchConfig,
    store: Store,
    evidence: EvaluationSet,
    machines: ExecutionConfig,
    display: RunDisplay,
    directory: Path | None = None,
) -> Iterator[Study]:
    """Open or resume a study on a run's store. Raises UserError or WorkerLost.

    Instructions to the search are taken from the run's `directory`.
    """

    def prepare() -> None:
        open_run(task, config, store, evidence, display.preparing)

    with executor_for(config, evidence, machines, prepare, display) as executor:
        record = RunRecord.of(store.events())
        scorer = make_scorer(find_objective(task, config.objective), record)
        offered = config.offered(task)
        measuring: Executor = executor
        if directory is not None and config.converses and config.model == (ASK,):
            measuring = RememberingExecutor(executor, directory / MEASURED)
        study = Study(offered, config, store, scorer, measuring, (display,), display.waiting, directory)
        display.begin(study)
        yield study


def load_run_spec(
    path: Path, store: Store, *, models: bool = True, anew: Mapping[str, Any] = MappingProxyType({})
) -> tuple[Task, SearchConfig, EvaluationSet]:
    """Load the task, configuration and evaluation set of a run. Raises UserError where it cannot be resumed.

    `anew` has the settings that are to change, by name.
    """
    record = RunRecord.of(store.events())
    if not record.config:
        raise RunNotStarted(path)
    warn_of_version(path, record)
    config = SearchConfig.from_json(record.config)
    if anew:
        config = with_settings(config, anew, "resume")
    own = (None, os.environ.get("VULCAN_API_BASE"))
    if models and config.api_base not in own and not is_trusted("addresses", str(config.api_base)):
        raise UserError(
            f"{path} names a model server at {ascii(config.api_base)[:300]}, which nobody has named on this machine, "
            "so it is sent no key: if it is yours, resume with --api-base URL"
        )
    task = recorded_task(config.task)
    evidence = check_config(task, config, models=models)
    if record.instances and (record.instances, record.rungs) != (evidence.instances, evidence.rungs):
        raise UserError(f"{path} cannot be resumed: its traces or its task have changed since it was started")
    return task, config, evidence


def run_search(
    task: Task,
    config: SearchConfig,
    store: Store,
    evidence: EvaluationSet,
    machines: ExecutionConfig,
    display: RunDisplay,
    *,
    recording: RecordedReplies | None = None,
    directory: Path | None = None,
) -> None:
    """Open or resume the run, search, and choose the winner.

    A recording answers instead of the models that the configuration names. Raises UserError, ModelRefused or
    WorkerLost after recording the stop in the store; the run can then be resumed.
    """
    with record_stop(store), open_study(task, config, store, evidence, machines, display, directory) as study:
        if recording is not None:
            recording = recording.after(study.starts)
            study.repeat(recording)
        with closing(_model_pool(task, config, store, recording)) as models:
            study.run(models)
        study.measure_held_out()
        study.close("finished")


def _model_pool(task: Task, config: SearchConfig, store: Store, recording: RecordedReplies | None) -> ModelPool:
    if recording is None:
        record = RunRecord.of(store.events())
        fitted = record.lessons.programs if record.lessons is not None else ()
        return open_model_pool(task, config, store.calls(), record.calls_changed, fitted)
    return replay_model_pool(recording.calls, recording.unanswered)


@contextmanager
def record_stop(store: Store) -> Iterator[None]:
    """Record in the store why a search stopped before its end."""
    try:
        yield
    except KeyboardInterrupt:
        store.append(RunStopped("interrupted"))
        raise
    except (UserError, WorkerLost) as error:
        store.append(RunStopped("error", str(error)))
        raise


@contextmanager
def executor_for(
    config: SearchConfig,
    evidence: EvaluationSet,
    machines: ExecutionConfig,
    meanwhile: Callable[[], None],
    display: RunDisplay,
) -> Iterator[Executor]:
    """Open an executor. Ray, where it is asked for, starts while `meanwhile` runs; a warning is logged if it fails."""
    setup = Setup(
        config.task,
        evidence.everything,
        allow_unsandboxed=machines.allow_unsandboxed,
        explains=tells_findings(config),
    )
    address = machines.ray_address or os.environ.get("RAY_ADDRESS")
    if machines.executor == "local" or (machines.executor == "auto" and not address):
        meanwhile()
        with LocalExecutor(setup, machines.count, deferred=True) as executor:
            yield executor
        return
    from vulcan.scoring.ray_executor import RayExecutor
    from vulcan.scoring.ray_runtime import RayRuntime, RayUnavailable

    with RayRuntime(machines.count, machines.ray_address) as runtime:
        meanwhile()
        display.preparing(f"joining Ray at {runtime.joined}" if runtime.joined else "starting a local Ray")
        chosen: Executor
        try:
            chosen = RayExecutor(setup, machines.count, runtime)
        except RayUnavailable as error:
            if runtime.joined:
                named = "leave out --ray-address" if machines.ray_address else "unset RAY_ADDRESS"
                raise UserError(f"{error}; {named}, or use --executor local") from error
            log.warning("%s; continuing with --executor local", error)
            chosen = LocalExecutor(setup, machines.count)
        with chosen as executor:
            yield executor
