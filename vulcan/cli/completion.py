"""Shell completion: names of tasks, models, runs and so on.

The shell blocks on these functions, so nothing heavy is imported. Errors are suppressed, as a message would appear in
the middle of the line being typed.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import typer

_PRICES = "model_prices_and_context_window_backup.json"  # litellm's table; importing litellm takes seconds

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


def models(incomplete: str) -> Completions:
    """Complete models that need no key, and the chat models in litellm's price table, under litellm's names.

    As there are thousands, only their providers are listed before anything is typed.
    """
    known = chat_models()
    named = known if incomplete else sorted({f"{name.partition('/')[0]}/" for name in known})
    return _beginning(incomplete, ["offline/evolve", "ask", *named])


def chat_models() -> list[str]:
    """Return every chat model with a known price, as `provider/name`; empty where litellm has no table."""
    package = find_spec("litellm")
    folder = next(iter(package.submodule_search_locations or ()), None) if package else None
    if folder is None:
        return []
    try:
        table: Mapping[str, Mapping[str, Any]] = json.loads(Path(folder, _PRICES).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return []
    return sorted(
        {
            name if name.startswith(f"{entry['litellm_provider']}/") else f"{entry['litellm_provider']}/{name}"
            for name, entry in table.items()
            if entry.get("mode") == "chat" and entry.get("litellm_provider") and name != "sample_spec"
        }
    )


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


def choices_of_task(context: typer.Context, incomplete: str) -> Completions:
    """Complete the value of a task's option, where an argument that takes many words stands before it."""
    from vulcan.cli.task_options import task_completions

    return [value for value, _ in task_completions(context, incomplete)]


def cached(incomplete: str) -> Completions:
    """Complete the kinds of data in the cache."""
    from vulcan.paths import cached_kinds

    return _beginning(incomplete, [kind.name for kind in cached_kinds()])


def formats(incomplete: str) -> Completions:
    """Complete the export formats of all tasks."""
    from vulcan.errors import UserError
    from vulcan.export.formats import EXPORTERS, exporters_of
    from vulcan.registry import known_tasks, recorded_task

    known = {**EXPORTERS, "json": None}
    for name in known_tasks():
        try:
            known |= exporters_of(recorded_task(name))
        except UserError:  # skip a task that cannot be read
            continue
    return _beginning(incomplete, known)


def _beginning(incomplete: str, known: Iterable[str]) -> Completions:
    return [name for name in known if name.startswith(incomplete)]
