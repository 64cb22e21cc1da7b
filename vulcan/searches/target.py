"""Searches for what an export format can carry."""

from __future__ import annotations

from collections.abc import Iterable

from vulcan.anvil import Rejected
from vulcan.errors import UserError
from vulcan.export import export_refusal, find_exporter
from vulcan.python_policy.check import check_policy
from vulcan.searches.config import SearchConfig
from vulcan.task import Task


def seeds_of(task: Task, target: str | None) -> dict[str, str]:
    """Return the task's own policies that a search begins with: those that the target's format can carry.

    The pack may have some for a format alone, in policies/FORMAT.
    """
    own = task.seed_policies()
    if target is None:
        return own
    own |= {each.stem: each.read_text("utf-8") for each in sorted((task.directory / "policies" / target).glob("*.py"))}
    return {name: source for name, source in own.items() if not _refusal(source, task, target)}


def starts_of(task: Task, config: SearchConfig) -> dict[str, str]:
    """Return the sources of all policies that a search begins with, by name."""
    return {**seeds_of(task, config.target), **config.starts}


def carried(programs: Iterable[str], task: Task, target: str | None) -> tuple[str, ...]:
    """Return the programs that the target's format can carry."""
    return tuple(source for source in programs if target is None or not _refusal(source, task, target))


def not_carried(task: Task, target: str | None) -> set[str]:
    """Return the names, made plain, of the task's own policies that the target's format cannot carry."""
    return {*map(plain_name, task.seed_policies())} - {*map(plain_name, seeds_of(task, target))}


def plain_name(name: str) -> str:
    """Return a policy's name as the task's baselines and its files have it in common."""
    return name.replace("-", "").replace("_", "").lower()


def check_target(task: Task, config: SearchConfig) -> None:
    """Raises UserError for a target that is no format, or that carries none of the policies to begin with."""
    if config.target is None:
        return
    find_exporter(config.target, task)
    own = task.seed_policies()
    if own and not config.starts and not seeds_of(task, config.target):
        reason = _refusal(next(iter(own.values())), task, config.target)
        raise UserError(f"--target {config.target} carries no policy of task {task.name!r} to begin with: {reason}")


def _refusal(source: str, task: Task, target: str) -> str:
    """Return why the format cannot carry a policy, or why it is none of the task without what the format hides."""
    try:
        return export_refusal(check_policy(source, task), target)
    except Rejected as rejected:
        return str(rejected.violations[0])
