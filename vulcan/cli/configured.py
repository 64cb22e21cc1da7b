"""What a search is to be, by the command line."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import typer

from vulcan.api.wanted import MACHINES, Sorted, Wanted
from vulcan.cli.options import task_settings
from vulcan.errors import UserError
from vulcan.searches.plain_options import OPTIONS
from vulcan.store.runs import find_run
from vulcan.task import Task

_BESIDE_REPLAY = {"replay", "runs_dir", "quiet", "progress", "as_json", *MACHINES}


def configured(context: typer.Context, file: Path | None, replay: str | None, runs: Path) -> Wanted:
    """The search that the options of the command line ask for, and below them those of a file. Raises UserError."""
    given = {name: value for name, value in context.params.items() if is_given(context, name)}
    machines = {name: given[name] for name in MACHINES if name in given}
    if replay is not None:
        typed = {name for name in given if _source(context, name) == "COMMANDLINE"}
        others = [f"--{name.replace('_', '-')}" for name in sorted(typed - _BESIDE_REPLAY)]
        if others or context.args:
            raise UserError(f"--replay repeats a run as it was: leave out {(others or context.args)[0]}")
        return Wanted.repetition(find_run(replay, runs), machines)

    def sorted_for(task: Task) -> Sorted:
        return {name: _plain(given[name]) for name in OPTIONS if name in given}, task_settings(task, context)

    return Wanted.of(given.get("task"), file, machines, sorted_for)


def _plain(value: Any) -> Any:
    return list(value) if isinstance(value, tuple) else value


def is_given(context: typer.Context, name: str) -> bool:
    """Whether an option was given, on the command line or by the environment."""
    return _source(context, name) in ("COMMANDLINE", "ENVIRONMENT")


def _source(context: typer.Context, name: str) -> str:
    source = context.get_parameter_source(name)
    return source.name if source is not None else ""
