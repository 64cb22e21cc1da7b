"""The launcher of searches: starts, resumes and replays a search in its run directory.

A search is specified by options, a configuration file, or the run that it replays. The policies that it starts from
besides the task's own are those of files, winners of earlier runs, or members of a library.
"""

from __future__ import annotations

import logging
import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any

from vulcan.errors import UserError
from vulcan.export.source import policy_source
from vulcan.inputs import read_policy_file
from vulcan.models.base import ModelRefused
from vulcan.portfolio import library_file
from vulcan.progress.display import open_display
from vulcan.registry import find_task, recorded_task
from vulcan.results.recommended import find_winner
from vulcan.results.run import run_document
from vulcan.scoring import WorkerLost
from vulcan.searches.config import SearchConfig, make_config, read_config, sort_options
from vulcan.searches.costs import Costs
from vulcan.searches.evidence import EvaluationSet
from vulcan.searches.options import ASK, EXECUTION_OPTIONS, parse_execution
from vulcan.searches.recorded_replies import RecordedReplies
from vulcan.searches.reply import parse_source
from vulcan.searches.resumption import change_settings, warn_of_version
from vulcan.searches.session import (
    ExecutionConfig,
    RunDisplay,
    check_config,
    load_run_spec,
    open_study,
    record_stop,
    run_search,
)
from vulcan.searches.target import starts_of
from vulcan.store import RunRecord, Store
from vulcan.store.events import RunStarted
from vulcan.store.runs import FILE, create_store, find_run, lock_run, new_run, open_store
from vulcan.task import Json, Task
from vulcan.trust import trust_commands

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class ReplaySource:
    """A recorded run to replay: its search and its replies."""

    run: Path
    search: SearchConfig
    searches: Sequence[RunStarted]
    recording: RecordedReplies

    @classmethod
    def of(cls, run: Path) -> ReplaySource:
        """Read a run to replay. Raises UserError where it recorded no search."""
        with closing(open_store(run)) as store:
            record, recording = RunRecord.of(store.events()), RecordedReplies.of(store)
        if not record.config:
            raise UserError(f"{run} stopped before its search was written down; there is nothing to repeat")
        warn_of_version(run, record)
        return cls(run, SearchConfig.from_json(record.config), record.searches, recording)

    def beginnings(self, task: Task, search: SearchConfig) -> list[RunStarted]:
        """Return how the run began and was resumed, with proposals numbered after today's policies of the task."""
        shift = len(starts_of(search.offered(task), search)) - self.recording.starts
        repeats = str(self.run.resolve())
        return [replace(e, since=e.since + shift if e.since else 0, repeats=repeats) for e in self.searches]

    @classmethod
    def of_record(cls, run: Path, record: RunRecord) -> ReplaySource | None:
        """Return the source of a run; None if it is no replay. Raises UserError."""
        if not record.repeats:
            return None
        other = Path(record.repeats)
        if not (other / FILE).is_file():
            raise UserError(f"{run} repeats the run {other}, which is gone; bring it back to resume")
        return cls.of(other)


Sorted = tuple[dict[str, Any], dict[str, Json]]
"""Options of a search, and those of its task."""


@dataclass(frozen=True)
class SearchRequest:
    """A search, where it runs, and the source of its replies if it is a replay."""

    task: Task
    search: SearchConfig
    machines: ExecutionConfig
    replay: ReplaySource | None = None

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
        task = recorded_task(task_name) if task_name is named else find_task(task_name)
        options, settings = sort_options(task, plain, str(file), EXECUTION_OPTIONS)
        own_options, own_settings = given(task)
        trust_commands(own_options.get("model") or ())
        settings |= own_settings
        search = make_config(task_name, options | own_options, settings)
        # A run whose prompts are answered from outside uses Ray only on request
        default = {"executor": "local"} if search.model == (ASK,) else {}
        return cls(task, search, ExecutionConfig(**{**default, **parse_execution(in_file, str(file)), **machines}))

    def resolved(self, runs: Path) -> SearchRequest:
        """Return the search with the programs that --start-from names, of runs in this directory. Raises UserError."""
        return replace(self, search=with_starts(self.search, self.task, runs))

    @classmethod
    def of_replay(cls, run: Path, machines: Mapping[str, Any]) -> SearchRequest:
        """Return the search of a run, answered by its recorded replies. Raises UserError."""
        repeated = ReplaySource.of(run)
        return cls(recorded_task(repeated.search.task), repeated.search, ExecutionConfig(**machines), repeated)


@dataclass(frozen=True)
class RunSession:
    """An open run, with all that is needed to search in it; `anew` says that it is resumed with other settings."""

    path: Path
    request: SearchRequest
    store: Store
    evidence: EvaluationSet
    anew: bool = False

    @classmethod
    def start(cls, request: SearchRequest, runs: Path) -> RunSession:
        """Create a run in the directory `runs`. Raises UserError for an invalid request before writing anything."""
        request = request.resolved(runs)
        evidence = check_config(request.task, request.search, models=request.replay is None)
        path = new_run(runs, request.task.name)
        store = create_store(path)
        if request.replay is not None:
            store.append(*request.replay.beginnings(request.task, request.search))
        return cls(path, request, store, evidence)

    @classmethod
    def reopen(
        cls, path: Path, machines: ExecutionConfig, anew: Mapping[str, Any] = MappingProxyType({})
    ) -> RunSession:
        """Open a stopped run to resume it, with other settings where some are given `anew`.

        Raises UserError where it cannot be resumed.
        """
        with ExitStack() as on_failure:
            store = on_failure.enter_context(closing(open_store(path)))
            repeated = ReplaySource.of_record(path, RunRecord.of(store.events()))
            if repeated is not None and anew:
                raise UserError(f"{path} repeats another run as it was: leave out --{min(anew).replace('_', '-')}")
            task, config, evidence = load_run_spec(path, store, models=repeated is None, anew=anew)
            if config.model == (ASK,) and repeated is None:
                named = shlex.quote(str(path))
                raise UserError(f"{path} waits for replies: `vulcan ask {named}` prints the next prompt")
            on_failure.pop_all()
        return cls(path, SearchRequest(task, config, machines, repeated), store, evidence, bool(anew))

    @property
    def asks(self) -> bool:
        """True if its prompts are answered from outside, through `ask` and `tell`."""
        return self.request.search.model == (ASK,) and self.request.replay is None

    def search(self, display: RunDisplay) -> tuple[RunRecord, Costs]:
        """Search to the end, and return the run's record and costs. The store is closed in any case.

        For a run whose prompts are answered from outside, only measure the baselines and the task's own policies.
        Raises UserError; an interrupted run can be resumed.
        """
        task, config, replay = self.request.task, self.request.search, self.request.replay
        with closing(self.store), display, _explain_stops(self.path), lock_run(self.path):
            if self.anew:
                if problem := self.store.recover():
                    log.warning("%s", problem)
                change_settings(self.path, self.store, config)
            display.opened(
                {
                    "run": str(self.path),
                    "task": task.name,
                    "instances": len(self.evidence.instances),
                    "model": [] if self.asks else list(config.model),
                    "replay_of": str(replay.run) if replay else None,
                }
            )
            if self.asks:
                self._open_for_asking(display)
            else:
                run_search(
                    task,
                    config,
                    self.store,
                    self.evidence,
                    self.request.machines,
                    display,
                    recording=replay.recording if replay else None,
                    directory=self.path,
                )
            record, costs = RunRecord.of(self.store.events()), Costs.of(self.store.calls())
            display.finished(run_document(self.path, record, costs))
        return record, costs

    def _open_for_asking(self, display: RunDisplay) -> None:
        task, config, machines = self.request.task, self.request.search, self.request.machines
        with (
            record_stop(self.store),
            open_study(task, config, self.store, self.evidence, machines, display) as study,
        ):
            study.begin()


def run_to_completion(session: RunSession, progress: str) -> Path:
    """Search to the end, and return the run's directory. Raises UserError or KeyboardInterrupt."""
    try:
        session.search(open_display(progress))
    except KeyboardInterrupt as interruption:
        interruption.add_note(f"nothing is lost: continue with vulcan.load({str(session.path)!r}).resume()")
        raise
    return session.path


@contextmanager
def _explain_stops(run: Path) -> Iterator[None]:
    """Add how to resume to the error that stops a search."""
    named = shlex.quote(str(run))
    try:
        yield
    except ModelRefused as error:
        raise UserError(f"{error}; then continue with `vulcan resume {named}`") from error
    except WorkerLost as error:
        raise UserError(
            f"scoring failed by no fault of a candidate: {error}; continue with `vulcan resume {named}`"
        ) from error


LIBRARY = "library"
"""Stands for the library that is shipped with the task."""


def with_starts(config: SearchConfig, task: Task, runs: Path) -> SearchConfig:
    """Return the configuration with the programs that its `start_from` names; as it is, if it has them.

    Raises UserError for what cannot be read, and for a program that the task rejects.
    """
    if config.starts or not config.start_from:
        return config
    offered = config.offered(task)
    own = task.seed_policies()
    found: dict[str, str] = {}
    for given in config.start_from:
        for name, source in _programs(given, task, runs):
            reading = parse_source(source, offered, config.target)
            if reading.policy is None:
                why = reading.feedback.splitlines()[0].removeprefix("- ")
                raise UserError(f"--start-from {given}: task {task.name!r} rejects it: {why}")
            if source not in own.values() and source not in found.values():
                found[_unused(name, own.keys() | found.keys())] = source
    return replace(config, starts=found)


def _programs(given: str, task: Task, runs: Path) -> Iterator[tuple[str, str]]:
    """Yield names and sources; of a library the members that are the task's."""
    path = task.directory / LIBRARY if given == LIBRARY else Path(given)
    if path.is_file():
        yield path.stem, policy_source(read_policy_file(path))
    elif given == LIBRARY or (path / library_file.FILE).is_file():
        known, names = library_file.read_library(path), (task.name, str(task.directory))
        members = [member for member in known.members if member.task in names]
        if not members:
            raise UserError(f"--start-from {given}: the library has no policy of task {task.name!r}")
        yield from ((member.name, member.source) for member in members)
    elif path.suffix == ".py":
        raise UserError(f"--start-from {given}: there is no such file")
    else:
        run = find_run(given, runs)
        policy = find_winner(run).policy  # what it found, also where a known policy is recommended
        if policy.task.name != task.name:
            raise UserError(f"--start-from {given}: {run} is of task {policy.task.name!r}, not {task.name!r}")
        yield run.name, policy.source


def _unused(name: str, names: set[str]) -> str:
    return next(one for one in (name, *(f"{name}-{n}" for n in range(2, len(names) + 3))) if one not in names)
