"""The launcher of searches: starts, resumes and replays a search in its run directory.

A search is specified by options, a configuration file, or the run that it replays.
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from vulcan.errors import UserError
from vulcan.models import ModelRefused
from vulcan.progress.display import Display, open_display
from vulcan.progress.run_opened import RunInfo
from vulcan.registry import find_task
from vulcan.results.run import START, run_document, start_document
from vulcan.scoring import Job, WorkerLost
from vulcan.searches.config import SearchConfig, make_config, read_config, sort_options
from vulcan.searches.costs import Costs
from vulcan.searches.evidence import EvaluationSet
from vulcan.searches.model_pool import ASK
from vulcan.searches.options import EXECUTION_OPTIONS, parse_execution
from vulcan.searches.session import (
    ExecutionConfig,
    RecordedReplies,
    check_config,
    load_run_spec,
    open_study,
    record_stop,
    run_search,
)
from vulcan.searches.study import Study
from vulcan.store import RunRecord, Store
from vulcan.store.runs import CONTROL, FILE, create_store, lock_run, new_run, open_store
from vulcan.task import Json, Task

_MARK = "repeats"
"""A file in a replay's directory with the path of the replayed run, so that it is resumed as a replay."""


@dataclass(frozen=True)
class ReplaySource:
    """A recorded run to replay: its search and its replies, and those of its control if it reached one."""

    run: Path
    search: SearchConfig
    recording: RecordedReplies
    control: RecordedReplies | None

    @classmethod
    def of(cls, run: Path) -> ReplaySource:
        """Read a run to replay. Raises UserError where it recorded no search."""
        with closing(open_store(run)) as store:
            record, recording = RunRecord.of(store.events()), RecordedReplies.of(store)
        if not record.config:
            raise UserError(f"{run} stopped before its search was written down; there is nothing to repeat")
        control = None
        if record.control is not None:
            with closing(open_store(run, CONTROL)) as store:
                control = RecordedReplies.of(store)
        return cls(run, SearchConfig.from_json(record.config), recording, control)

    def mark(self, run: Path) -> None:
        """Record in a run's directory that it replays this run."""
        (run / _MARK).write_text(str(self.run.resolve()), encoding="utf-8")

    @classmethod
    def marked(cls, run: Path) -> ReplaySource | None:
        """Return the source of the run in this directory; None if it is no replay. Raises UserError."""
        if not (run / _MARK).is_file():
            return None
        other = Path((run / _MARK).read_text(encoding="utf-8"))
        if not (other / FILE).is_file():
            raise UserError(f"{run} repeats the run {other}, which is gone; bring it back to go on")
        return cls.of(other)


Sorted = tuple[dict[str, Any], dict[str, Json]]
"""Options of a search, and those of its task."""


@dataclass(frozen=True)
class SearchRequest:
    """A search, where it runs, and the source of its replies if it is a replay."""

    task: Task
    search: SearchConfig
    machines: ExecutionConfig
    repeated: ReplaySource | None = None

    @classmethod
    def of(
        cls, task_name: object, file: Path | None, machines: Mapping[str, Any], given: Callable[[Task], Sorted]
    ) -> SearchRequest:
        """Combine the options `given` for the task with those of a file, which they override. Raises UserError."""
        plain = read_config(file) if file is not None else {}
        in_file = {name: plain.pop(name) for name in EXECUTION_OPTIONS if name in plain}
        named = plain.pop("task", None)
        task_name = named if task_name is None else task_name
        if not isinstance(task_name, str):
            raise UserError("name a task: --task NAME (`vulcan tasks` lists them)")
        task = find_task(task_name)
        options, settings = sort_options(task, plain, str(file), EXECUTION_OPTIONS)
        own_options, own_settings = given(task)
        search = make_config(task_name, options | own_options, settings | own_settings)
        # A run whose prompts are answered from outside uses Ray only on request
        default = {"executor": "local"} if search.model == (ASK,) else {}
        return cls(task, search, ExecutionConfig(**{**default, **parse_execution(in_file, str(file)), **machines}))

    @classmethod
    def repetition(cls, run: Path, machines: Mapping[str, Any]) -> SearchRequest:
        """Return the search of a run, answered by its recorded replies. Raises UserError."""
        repeated = ReplaySource.of(run)
        return cls(find_task(repeated.search.task), repeated.search, ExecutionConfig(**machines), repeated)


@dataclass(frozen=True)
class RunSession:
    """An open run, with all that is needed to search in it."""

    place: Path
    task: Task
    config: SearchConfig
    store: Store
    evidence: EvaluationSet
    machines: ExecutionConfig
    repeated: ReplaySource | None = None

    @classmethod
    def begun(cls, wanted: SearchRequest, runs: Path, evidence: EvaluationSet | None = None) -> RunSession:
        """Create a run in the directory `runs`. Raises UserError for an invalid request before writing anything."""
        if evidence is None:
            evidence = check_config(wanted.task, wanted.search, models=wanted.repeated is None)
        place = new_run(runs, wanted.task.name)
        store = create_store(place)
        if wanted.repeated is not None:
            wanted.repeated.mark(place)
        return cls(place, wanted.task, wanted.search, store, evidence, wanted.machines, wanted.repeated)

    @classmethod
    def stopped(cls, place: Path, machines: ExecutionConfig) -> RunSession:
        """Open a stopped run to resume it. Raises UserError where it cannot be resumed."""
        repeated = ReplaySource.marked(place)
        with ExitStack() as on_failure:
            store = on_failure.enter_context(closing(open_store(place)))
            task, config, evidence = load_run_spec(place, store, models=repeated is None)
            if config.model == (ASK,) and repeated is None:
                named = shlex.quote(str(place))
                raise UserError(f"{place} waits for replies: `vulcan ask {named}` prints the next prompt")
            on_failure.pop_all()
        return cls(place, task, config, store, evidence, machines, repeated)

    @property
    def asks(self) -> bool:
        """True if its prompts are answered from outside, through `ask` and `tell`."""
        return self.config.model == (ASK,) and self.repeated is None

    def search(self, display: Display) -> tuple[RunRecord, Costs]:
        """Search to the end, and return the run's record and costs. The store is closed in any case.

        For a run whose prompts are answered from outside, only measure the baselines and the task's own policies.
        Raises UserError; an interrupted run can be resumed.
        """
        with closing(self.store), display, _stops_explained(self.place), lock_run(self.place):
            repeats = self.repeated.run if self.repeated else None
            models = () if self.asks else self.config.model
            display.opened(RunInfo(self.place, self.task.name, len(self.evidence.instances), models, repeats))
            if self.asks:
                self._open_for_asking(display)
            else:
                run_search(
                    self.task, self.config, self.store, self.evidence, self.machines, display,
                    control=self._control,
                    recording=self.repeated.recording if self.repeated else None,
                    control_recording=self.repeated.control if self.repeated else None,
                    after=self._measure_start,
                )  # fmt: skip
            record, costs = RunRecord.of(self.store.events()), Costs.of(self.store.calls())
            display.ended(run_document(self.place, record, costs))
        return record, costs

    def _measure_start(self, study: Study) -> None:
        """Measure the best of the task's own policies on test, beside the winner; nothing is decided by it."""
        record, instances = study.record, study.scorer.of("test")
        seeds = [c for c in record.ranked() if c.origin == "seed"]
        if record.chosen is None or not instances or not seeds or (self.place / START).is_file():
            return
        best = seeds[0]
        name = list(self.task.seed_policies())[best.proposal - 1]
        confirmed = record.confirmed.get((best.candidate, "test"))
        metrics = confirmed.metrics if confirmed is not None else ()
        if confirmed is None:
            job = Job(best.candidate, best.source, instances, self.config.limit)
            metrics = study.executor.submit(job).result().metrics
        if metrics:
            text = json.dumps(start_document(best.candidate, name, metrics))
            (self.place / START).write_text(text, encoding="utf-8")

    def _open_for_asking(self, display: Display) -> None:
        with (
            record_stop(self.store),
            open_study(self.task, self.config, self.store, self.evidence, self.machines, display) as study,
        ):
            study.begin()

    def _control(self) -> Store:
        """Open the store of the control search, creating it if missing."""
        there = (self.place / CONTROL).is_file()
        return open_store(self.place, CONTROL) if there else create_store(self.place, CONTROL)


def run_to_completion(running: RunSession, progress: str) -> Path:
    """Search to the end, and return the run's directory. Raises UserError or KeyboardInterrupt."""
    try:
        running.search(open_display(progress))
    except KeyboardInterrupt as interruption:
        interruption.add_note(f"nothing is lost: go on with vulcan.load({str(running.place)!r}).resume()")
        raise
    return running.place


@contextmanager
def _stops_explained(run: Path) -> Iterator[None]:
    """Add how to resume to the error that stops a search."""
    named = shlex.quote(str(run))
    try:
        yield
    except ModelRefused as error:
        raise UserError(f"{error}; then go on with `vulcan resume {named}`") from error
    except WorkerLost as error:
        raise UserError(
            f"scoring failed by no fault of a candidate: {error}; go on with `vulcan resume {named}`"
        ) from error
