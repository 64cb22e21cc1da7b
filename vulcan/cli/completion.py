"""Shell completion: names of tasks, runs and objectives, and choices.

The shell blocks on these functions, so nothing heavy is imported. Errors are suppressed, as a message would appear in
the middle of the line being typed.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from pathlib import Path

import typer

Completions = list[str]


def tasks(incomplete: str) -> Completions:
    """Complete tasks by name; paths of the user's own tasks are left to the shell."""
    from vulcan.registry import known_tasks

    return _beginning(incomplete, sorted(known_tasks()))


def runs(context: typer.Context, incomplete: str) -> Completions:
    """Complete the runs in --runs-dir, latest first."""
    from vulcan.store.runs import run_directories

    places = run_directories(Path(context.params.get("runs_dir") or os.environ.get("VULCAN_RUNS_DIR") or "runs"))
    return _beginning(incomplete, [path.name for path in sorted(places, key=_begun, reverse=True)])


def _begun(run: Path) -> float:
    return run.stat().st_mtime


def among(choices: Iterable[str]) -> Callable[[str], Completions]:
    """Make a completion of the choices of an option."""

    def complete(incomplete: str) -> Completions:
        return _beginning(incomplete, choices)

    return complete


def objectives(context: typer.Context, incomplete: str) -> Completions:
    """Complete the objectives of the task given earlier on the line."""
    from vulcan.errors import UserError
    from vulcan.registry import recorded_task

    try:
        return _beginning(
            incomplete, [objective.name for objective in recorded_task(context.params["task"]).objectives]
        )
    except (UserError, KeyError, TypeError):
        return []


def _beginning(incomplete: str, known: Iterable[str]) -> Completions:
    return [name for name in known if name.startswith(incomplete)]
