"""What a search is to be: by the options given, a configuration file, or the run that it repeats."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import typer

from vulcan.cli.config_file import read_config
from vulcan.cli.options import task_settings
from vulcan.cli.repeated import Repeated
from vulcan.errors import UserError
from vulcan.registry import find_task
from vulcan.searches.config import SearchConfig
from vulcan.searches.lineup import ASK
from vulcan.searches.plain_options import OPTIONS, make_config, sort_options
from vulcan.searches.session import Machines
from vulcan.store.runs import find_run
from vulcan.task import Json, Task

_MACHINES = ("executor", "workers", "ray_address", "allow_unsandboxed")
_BESIDE_REPLAY = {"replay", "runs_dir", "quiet", "as_json", *_MACHINES}


@dataclass(frozen=True)
class Configured:
    """A search, where it runs, and what answers it if it is a repetition."""

    task: Task
    search: SearchConfig
    machines: Machines
    repeated: Repeated | None = None

    @classmethod
    def of(cls, context: typer.Context, file: Path | None, replay: str | None, runs: Path) -> Configured:
        """From the options of the command line and, below them, those of a file. Raises UserError."""
        given = {name: value for name, value in context.params.items() if is_given(context, name)}
        if replay is not None:
            typed = {name for name in given if _source(context, name) == "COMMANDLINE"}
            others = [f"--{name.replace('_', '-')}" for name in sorted(typed - _BESIDE_REPLAY)]
            if others or context.args:
                raise UserError(f"--replay repeats a run as it was: leave out {(others or context.args)[0]}")
            return cls._repetition(replay, runs, _machines(given, {}, ask=False))
        plain = read_config(file) if file is not None else {}
        machines = {name: plain.pop(name) for name in _MACHINES if name in plain}
        named = plain.pop("task", None)
        task_name = given.get("task", named)
        if not isinstance(task_name, str):
            raise UserError("name a task: --task NAME (`vulcan tasks` lists them)")
        task = find_task(task_name)
        options, settings = sort_options(task, plain, str(file), _MACHINES)
        options |= {name: given[name] for name in OPTIONS if name in given}
        settings |= task_settings(task, context)
        search = make_config(task_name, options, settings)
        return cls(task, search, _machines(given, machines, ask=search.model == (ASK,)))

    @classmethod
    def _repetition(cls, run: str, runs: Path, machines: Machines) -> Configured:
        repeated = Repeated.of(find_run(run, runs))
        return cls(find_task(repeated.search.task), repeated.search, machines, repeated)


def _machines(given: dict[str, Any], in_file: dict[str, Json], *, ask: bool) -> Machines:
    """Where to score. A run whose prompts are answered by hand needs no Ray, unless it is asked for."""
    chosen: dict[str, Any] = {**({"executor": "local"} if ask else {}), **in_file}
    chosen |= {name: given[name] for name in _MACHINES if name in given}
    if not isinstance(chosen.get("workers", 0), int) or not isinstance(chosen.get("executor", ""), str):
        raise UserError("the configuration file's executor is text, and its workers a whole number")
    if not isinstance(chosen.get("allow_unsandboxed", False), bool):
        raise UserError("the configuration file's allow_unsandboxed is true or false")
    return Machines(**chosen)


def is_given(context: typer.Context, name: str) -> bool:
    """Whether an option was given, on the command line or by the environment."""
    return _source(context, name) in ("COMMANDLINE", "ENVIRONMENT")


def _source(context: typer.Context, name: str) -> str:
    source = context.get_parameter_source(name)
    return source.name if source is not None else ""
