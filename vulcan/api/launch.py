"""A search in its directory, from its beginning or from where it stopped.

What a search is to be: by the options given, a configuration file, or the run that it repeats.

The run that another one repeats.
"""

from __future__ import annotations

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
from vulcan.results.run import run_document
from vulcan.scoring import WorkerLost
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
from vulcan.store import RunRecord, Store
from vulcan.store.runs import CONTROL, FILE, create_store, lock_run, new_run, open_store
from vulcan.task import Json, Task

_MARK = "repeats"
"""A file in the run that repeats, with the path of the other one: so that it is gone on with in the same way."""


@dataclass(frozen=True)
class ReplaySource:
    """A recorded run: its search, and its replies; those of its control too, if it came to one."""

    run: Path
    search: SearchConfig
    recording: RecordedReplies
    control: RecordedReplies | None

    @classmethod
    def of(cls, run: Path) -> ReplaySource:
        """Raises UserError where there is nothing to repeat."""
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
        """Write down which run the one in this directory repeats."""
        (run / _MARK).write_text(str(self.run.resolve()), encoding="utf-8")

    @classmethod
    def marked(cls, run: Path) -> ReplaySource | None:
        """The run that the one in this directory repeats; None for one that does not. Raises UserError."""
        if not (run / _MARK).is_file():
            return None
        other = Path((run / _MARK).read_text(encoding="utf-8"))
        if not (other / FILE).is_file():
            raise UserError(f"{run} repeats the run {other}, which is gone; bring it back to go on")
        return cls.of(other)


Sorted = tuple[dict[str, Any], dict[str, Json]]
"""The options of a search, and those of its task."""


@dataclass(frozen=True)
class SearchRequest:
    """A search, where it runs, and what answers it if it is a repetition."""

    task: Task
    search: SearchConfig
    machines: ExecutionConfig
    repeated: ReplaySource | None = None

    @classmethod
    def of(
        cls, task_name: object, file: Path | None, machines: Mapping[str, Any], given: Callable[[Task], Sorted]
    ) -> SearchRequest:
        """From what is `given` for the task and, below that, what a file has. Raises UserError."""
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
        # A run whose prompts are answered by hand needs no Ray, unless it is asked for
        default = {"executor": "local"} if search.model == (ASK,) else {}
        return cls(task, search, ExecutionConfig(**{**default, **parse_execution(in_file, str(file)), **machines}))

    @classmethod
    def repetition(cls, run: Path, machines: Mapping[str, Any]) -> SearchRequest:
        """The search of a run, answered by the replies that it recorded. Raises UserError."""
        repeated = ReplaySource.of(run)
        return cls(find_task(repeated.search.task), repeated.search, ExecutionConfig(**machines), repeated)


@dataclass(frozen=True)
class RunSession:
    """A run that is open, and all that is needed to search in it."""

    place: Path
    task: Task
    config: SearchConfig
    store: Store
    evidence: EvaluationSet
    machines: ExecutionConfig
    repeated: ReplaySource | None = None

    @classmethod
    def begun(cls, wanted: SearchRequest, runs: Path, evidence: EvaluationSet | None = None) -> RunSession:
        """A new run in the directory `runs`. What is wrong with it raises UserError before anything is written."""
        if evidence is None:
            evidence = check_config(wanted.task, wanted.search, models=wanted.repeated is None)
        place = new_run(runs, wanted.task.name)
        store = create_store(place)
        if wanted.repeated is not None:
            wanted.repeated.mark(place)
        return cls(place, wanted.task, wanted.search, store, evidence, wanted.machines, wanted.repeated)

    @classmethod
    def stopped(cls, place: Path, machines: ExecutionConfig) -> RunSession:
        """A run to go on with. Raises UserError where that cannot be."""
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
        """Whether somebody else answers its prompts."""
        return self.config.model == (ASK,) and self.repeated is None

    def search(self, display: Display) -> tuple[RunRecord, Costs]:
        """Search to the end; what it came to. The store is closed, whatever happens.

        Of a run whose prompts somebody else answers, measure the baselines and the task's own policies.
        Raises UserError; an interruption leaves the run to be resumed.
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
                )  # fmt: skip
            record, costs = RunRecord.of(self.store.events()), Costs.of(self.store.calls())
            display.ended(run_document(self.place, record, costs))
        return record, costs

    def _open_for_asking(self, display: Display) -> None:
        with (
            record_stop(self.store),
            open_study(self.task, self.config, self.store, self.evidence, self.machines, display) as study,
        ):
            study.begin()

    def _control(self) -> Store:
        """The store of the search that this one is compared with, made where there is none."""
        there = (self.place / CONTROL).is_file()
        return open_store(self.place, CONTROL) if there else create_store(self.place, CONTROL)


def run_to_completion(running: RunSession, progress: str) -> Path:
    """Search to the end, for a program; the run's directory. Raises UserError or KeyboardInterrupt."""
    try:
        running.search(open_display(progress))
    except KeyboardInterrupt as interruption:
        interruption.add_note(f"nothing is lost: go on with vulcan.load({str(running.place)!r}).resume()")
        raise
    return running.place


@contextmanager
def _stops_explained(run: Path) -> Iterator[None]:
    """Says how to go on where a search stops."""
    named = shlex.quote(str(run))
    try:
        yield
    except ModelRefused as error:
        raise UserError(f"{error}; then go on with `vulcan resume {named}`") from error
    except WorkerLost as error:
        raise UserError(
            f"scoring failed by no fault of a candidate: {error}; go on with `vulcan resume {named}`"
        ) from error
