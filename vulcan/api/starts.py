"""Policies that a search starts from besides the task's own: files, winners of earlier runs, members of a library."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from vulcan.errors import UserError
from vulcan.export.source import policy_source
from vulcan.inputs import read_policy_file
from vulcan.portfolio.library_file import FILE, read_library
from vulcan.results.recommended import find_winner
from vulcan.searches.config import SearchConfig
from vulcan.searches.reply import parse_source
from vulcan.store.runs import find_run
from vulcan.task import Task

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
    elif given == LIBRARY or (path / FILE).is_file():
        members = [member for member in read_library(path).members if member.task in (task.name, str(task.directory))]
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
