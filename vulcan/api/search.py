"""The entry points `vulcan.search` and `vulcan.load`."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from vulcan.api.launch import RunSession, SearchRequest, Sorted, run_to_completion
from vulcan.api.run import Run
from vulcan.errors import UserError
from vulcan.paths import is_table, table_file
from vulcan.progress.display import check_form
from vulcan.searches.config import sort_options
from vulcan.searches.options import EXECUTION_OPTIONS, OPTIONS, parse_execution, take_options
from vulcan.store.runs import find_run
from vulcan.task import Task

_WHERE = "vulcan.search"
_HERE = ("config", "replay", "progress", "runs_dir", "task")


def search(
    task: str | Path | None = None,
    *,
    config: str | Path | None = None,
    replay: str | Path | None = None,
    runs_dir: str | Path | None = None,
    progress: str = "auto",
    **options: Any,
) -> Run:
    """Search for a policy, as `vulcan search` does, and return the run.

    Options have the names, meanings and defaults of the command line (`vulcan search --help`), with underscores; None
    means the default. They include the task's own, such as `trace` and `cache_size` of cache_eviction; a repeatable
    one takes a list, and a trace may be a pandas DataFrame. The environment variables VULCAN_MODEL, VULCAN_API_BASE
    and VULCAN_RUNS_DIR apply too.
    With `model="ask"` the run is opened for `vulcan ask` and `vulcan tell`.

    Args:
        task: A task's name, or the directory of a task.
        config: A TOML file with any of the options; keyword arguments take precedence.
        replay: A run to repeat with its recorded replies; of the other options, only those of where to score are then
            allowed.
        runs_dir: Where the run's directory is created; default: `./runs`.
        progress: `"auto"`, `"rich"`, `"plain"`, `"json"` or `"none"`: the form of progress output, on standard error
            (JSON lines: on standard output).

    Raises:
        UserError: for every error in the arguments, before anything is written; and where the search cannot continue,
            such as when a model refuses, with what to do about it.
        KeyboardInterrupt: where it is interrupted. Nothing is lost: `vulcan.load(run).resume()` resumes it.

    Example:
        >>> run = vulcan.search("cache_eviction", cache_size="10%", budget_candidates=100)
        >>> run.best.export("best.py")
    """
    check_form(progress)
    machines, given = _split(options)
    runs = runs_directory(runs_dir)
    if replay is not None:
        others = [*given, *(name for name, value in (("task", task), ("config", config)) if value)]
        if others:
            raise UserError(f"{_WHERE}: replay repeats a run as it was: leave out {others[0]}")
        request = SearchRequest.of_replay(find_run(str(replay), runs), machines)
    else:
        request = _search_request(task, config, {**_from_environment(), **given}, machines)
    return Run.of(run_to_completion(RunSession.start(request, runs), progress))


def _split(options: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the options that say where to score, and the others. Raises UserError."""
    given = {name: value for name, value in options.items() if value is not None}
    return parse_execution({name: given.pop(name) for name in EXECUTION_OPTIONS if name in given}, _WHERE), given


take_options(
    search,
    [option.parameter() for option in (*OPTIONS.values(), *EXECUTION_OPTIONS.values())],
    after="config",
    others="settings",
)


def load(run: str | Path, runs_dir: str | Path | None = None) -> Run:
    """Read a run that has ended, was stopped, or is still running in another process.

    Args:
        run: The run's directory, or its name in `runs_dir`.
        runs_dir: The directory of runs; default: the environment variable VULCAN_RUNS_DIR, else `./runs`.

    Raises:
        UserError: where there is no such run, it cannot be read, or its task is not found.

    Example:
        >>> run = vulcan.load("cache_eviction-20260101-120000-ab12")
        >>> run.candidates.groupby("verdict").size()
    """
    return Run.of(find_run(str(run), runs_directory(runs_dir)))


def runs_directory(given: str | Path | None) -> Path:
    """Return the directory of runs."""
    return Path(given if given is not None else os.environ.get("VULCAN_RUNS_DIR") or "runs")


def _search_request(
    task: object, config: object, options: Mapping[str, Any], machines: Mapping[str, Any]
) -> SearchRequest:
    if task is None and config is None:
        raise UserError(f"{_WHERE}: name a task, as task='cache_eviction' (`vulcan tasks` lists them)")
    plain = {name: plain_value(value) for name, value in options.items()}

    def sorted_for(declared: Task) -> Sorted:
        return sort_options(declared, plain, _WHERE, (*EXECUTION_OPTIONS, *_HERE))

    return SearchRequest.of(plain_value(task), None if config is None else Path(str(config)), machines, sorted_for)


def _from_environment() -> dict[str, Any]:
    found = {name: os.environ.get(option.environment) for name, option in OPTIONS.items() if option.environment}
    return {name: text.split() if OPTIONS[name].repeatable else text for name, text in found.items() if text}


def plain_value(value: Any) -> Any:
    """Convert a value to its form in a configuration file."""
    if isinstance(value, Path):
        return str(value)
    if is_table(value):
        return str(table_file(value))
    return [plain_value(one) for one in value] if isinstance(value, list | tuple) else value
