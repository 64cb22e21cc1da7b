"""What a search is to be: by the options given, a configuration file, or the run that it repeats."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from vulcan.api.repeated import Repeated
from vulcan.errors import UserError
from vulcan.registry import find_task
from vulcan.searches.config import SearchConfig
from vulcan.searches.config_file import read_config
from vulcan.searches.lineup import ASK
from vulcan.searches.plain_options import make_config, sort_options
from vulcan.searches.session import Machines
from vulcan.task import Json, Task

MACHINES = ("executor", "workers", "ray_address", "allow_unsandboxed")
"""The options that say where candidates are scored, and nothing of what comes of it."""

Sorted = tuple[dict[str, Any], dict[str, Json]]
"""The options of a search, and those of its task."""


@dataclass(frozen=True)
class Wanted:
    """A search, where it runs, and what answers it if it is a repetition."""

    task: Task
    search: SearchConfig
    machines: Machines
    repeated: Repeated | None = None

    @classmethod
    def of(
        cls, task_name: object, file: Path | None, machines: Mapping[str, Any], given: Callable[[Task], Sorted]
    ) -> Wanted:
        """From what is `given` for the task and, below that, what a file has. Raises UserError."""
        plain = read_config(file) if file is not None else {}
        in_file = {name: plain.pop(name) for name in MACHINES if name in plain}
        named = plain.pop("task", None)
        task_name = named if task_name is None else task_name
        if not isinstance(task_name, str):
            raise UserError("name a task: --task NAME (`vulcan tasks` lists them)")
        task = find_task(task_name)
        options, settings = sort_options(task, plain, str(file), MACHINES)
        own_options, own_settings = given(task)
        search = make_config(task_name, options | own_options, settings | own_settings)
        _check_machines("the configuration file", in_file)
        # A run whose prompts are answered by hand needs no Ray, unless it is asked for
        default = {"executor": "local"} if search.model == (ASK,) else {}
        return cls(task, search, Machines(**{**default, **in_file, **_checked(machines)}))

    @classmethod
    def repetition(cls, run: Path, machines: Mapping[str, Any]) -> Wanted:
        """The search of a run, answered by the replies that it recorded. Raises UserError."""
        repeated = Repeated.of(run)
        return cls(find_task(repeated.search.task), repeated.search, Machines(**_checked(machines)), repeated)


def _checked(machines: Mapping[str, Any]) -> Mapping[str, Any]:
    _check_machines("a search", machines)
    return machines


def _check_machines(where: str, machines: Mapping[str, Any]) -> None:
    whole = isinstance(machines.get("workers", 0), int) and not isinstance(machines.get("workers"), bool)
    if not whole or not isinstance(machines.get("executor", ""), str):
        raise UserError(f"{where}'s executor is text, and its workers a whole number")
    if not isinstance(machines.get("ray_address", ""), str | None):
        raise UserError(f"{where}'s ray_address is text, as 10.0.0.1:6379")
    if not isinstance(machines.get("allow_unsandboxed", False), bool):
        raise UserError(f"{where}'s allow_unsandboxed is true or false")
