"""`vulcan.search` and `vulcan.load`."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from vulcan.api.launch import MACHINES, RunSession, SearchRequest, Sorted, run_to_completion
from vulcan.api.run import Run
from vulcan.errors import UserError
from vulcan.progress.display import check_form
from vulcan.searches.config import sort_options
from vulcan.store.runs import find_run
from vulcan.task import Task

_WHERE = "vulcan.search"
_OF_ENVIRONMENT = {"model": "VULCAN_MODEL", "api_base": "VULCAN_API_BASE"}
_HERE = ("config", "replay", "progress", "runs_dir", "task")


def search(
    task: str | Path | None = None,
    *,
    config: str | Path | None = None,
    model: str | Sequence[str] | None = None,
    api_base: str | None = None,
    temperature: float | str | None = None,
    max_tokens: int | None = None,
    objective: str | None = None,
    strategy: str | None = None,
    rounds: int | None = None,
    samples: int | None = None,
    parents: int | None = None,
    islands: int | None = None,
    migrate_every: int | None = None,
    advice_every: int | None = None,
    diff: str | None = None,
    in_flight: int | None = None,
    repairs: int | None = None,
    budget_candidates: int | None = None,
    budget_dollars: float | None = None,
    budget_tokens: int | None = None,
    budget_minutes: float | None = None,
    racing: bool | None = None,
    tune: int | None = None,
    simplify: int | None = None,
    control: bool | None = None,
    seed: int | None = None,
    split: str | None = None,
    finalists: int | None = None,
    limit: float | None = None,
    executor: str | None = None,
    workers: int | None = None,
    ray_address: str | None = None,
    allow_unsandboxed: bool | None = None,
    replay: str | Path | None = None,
    runs_dir: str | Path | None = None,
    progress: str = "auto",
    **settings: Any,
) -> Run:
    """Search for a policy, as `vulcan search` does, and read back the run.

    Every option of the command line has its name here, with underscores, and the same meaning and default, which None
    stands for; `vulcan search --help` says them all. `settings` are those of the task, such as `trace` and `cache_size`
    of cache_eviction; one that may be repeated takes a list. The environment variables VULCAN_MODEL, VULCAN_API_BASE
    and VULCAN_RUNS_DIR count here too.

    Args:
        task: A task's name, or the directory of one's own.
        config: A TOML file with any of the options; those given here win.
        model: One model, or several, among which the search divides its proposals. With `"ask"` the run is opened, and
            its prompts are for `vulcan ask` and `vulcan tell`.
        budget_candidates, budget_dollars, budget_tokens, budget_minutes: What ends the search: proposals, US dollars,
            tokens in and out, minutes of wall clock.
        limit: Seconds that one candidate may take on all its instances.
        executor: `"ray"` or `"local"`: where candidates are scored; `workers` at a time, 0 for one a processor.
        replay: A run to repeat, with the replies that it recorded; of the other options only those of where to score
            may then be given.
        runs_dir: Where the run's directory is made; default: `./runs`.
        progress: `"auto"`, `"rich"`, `"plain"`, `"json"` or `"none"`: how it is shown, on standard error (JSON lines:
            on standard output).

    Raises:
        UserError: for every mistake in what was given, before anything is written; and where the search cannot go on,
            such as when a model refuses, with what to do about it.
        KeyboardInterrupt: where it is interrupted. Nothing is lost: `vulcan.load(run).resume()` goes on.

    Example:
        >>> run = vulcan.search("cache_eviction", cache_size="10%", budget_candidates=100)
        >>> run.best.export("best.py")
    """
    check_form(progress)
    given = {name: value for name, value in locals().items() if value is not None and name not in ("settings", *_HERE)}
    machines = {name: given.pop(name) for name in MACHINES if name in given}
    runs = runs_directory(runs_dir)
    if replay is not None:
        others = [*given, *settings, *(name for name, value in (("task", task), ("config", config)) if value)]
        if others:
            raise UserError(f"{_WHERE}: replay repeats a run as it was: leave out {others[0]}")
        wanted = SearchRequest.repetition(find_run(str(replay), runs), machines)
    else:
        wanted = _wanted(task, config, {**_from_environment(), **given, **settings}, machines)
    return Run.of(run_to_completion(RunSession.begun(wanted, runs), progress))


def load(run: str | Path, runs_dir: str | Path | None = None) -> Run:
    """Read a run: one that has ended, was stopped, or still goes on in another process.

    Args:
        run: The run's directory, or its name in `runs_dir`.
        runs_dir: Where runs are kept; default: the environment variable VULCAN_RUNS_DIR, else `./runs`.

    Raises:
        UserError: where there is no such run, it cannot be read, or its task is not to be found.

    Example:
        >>> run = vulcan.load("cache_eviction-20260101-120000-ab12")
        >>> run.candidates.groupby("verdict").size()
    """
    return Run.of(find_run(str(run), runs_directory(runs_dir)))


def runs_directory(given: str | Path | None) -> Path:
    """Where runs are kept."""
    return Path(given if given is not None else os.environ.get("VULCAN_RUNS_DIR") or "runs")


def _wanted(task: object, config: object, options: Mapping[str, Any], machines: Mapping[str, Any]) -> SearchRequest:
    if task is None and config is None:
        raise UserError(f"{_WHERE}: name a task, as task='cache_eviction' (`vulcan tasks` lists them)")
    plain = {name: _plain(value) for name, value in options.items()}

    def sorted_for(declared: Task) -> Sorted:
        return sort_options(declared, plain, _WHERE, (*MACHINES, *_HERE), spell=str)

    return SearchRequest.of(_plain(task), None if config is None else Path(str(config)), machines, sorted_for)


def _from_environment() -> dict[str, Any]:
    found = {name: os.environ[variable] for name, variable in _OF_ENVIRONMENT.items() if os.environ.get(variable)}
    return {name: value.split() if name == "model" else value for name, value in found.items()}


def _plain(value: Any) -> Any:
    """A value as a configuration file would have it."""
    if isinstance(value, Path):
        return str(value)
    return [_plain(one) for one in value] if isinstance(value, list | tuple) else value
