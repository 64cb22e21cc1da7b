"""`vulcan task show`"""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any

import typer

from vulcan.cli.options import AsJson, describe_settings
from vulcan.cli.output import print_json, print_table, say

if TYPE_CHECKING:
    from vulcan.task import Task


def show(
    name: Annotated[str, typer.Argument(help="A task's name, or the directory of one of your own.")],
    as_json: AsJson = False,
) -> None:
    """Print a task's interface as a model sees it, with its objectives, properties and settings."""
    from vulcan.anvil.language import describe_language
    from vulcan.registry import find_task
    from vulcan.search.config import complete_settings

    task = find_task(name)
    if as_json:
        print_json(_document(task))
        return
    say(f"# {task.name}\n\n{task.summary}\n")
    say(describe_language(task))
    say("\n## Mechanisms\n")
    for mechanism in task.signature.mechanisms:
        say(f"- {mechanism.name}: {mechanism.spelled(complete_settings(task, {}))}")
    say("\n## Objectives\n")
    for objective in task.objectives:
        say(f"- {objective.name}: {objective.meaning}")
    if task.properties:
        say("\n## Declared properties\n")
        for property_ in task.properties:
            say(f"- {property_.name} ({_kind(property_.kind, property_.subject)}): {property_.meaning}")
    say("\n## Settings\n")
    print_table(("option", "meaning", "default"), describe_settings(task))


def _kind(kind: str, subject: str | None) -> str:
    return f"{kind} in {subject}" if subject else kind


def _document(task: Task) -> dict[str, Any]:
    signature = task.signature
    return {
        "task": task.name,
        "summary": task.summary,
        "kind": type(signature).__name__.lower(),
        "function": signature.function,
        "arguments": [argument.name for argument in signature.arguments],
        "features": [{"reads": name, **asdict(feature)} for name, feature in signature.features()],
        "returns": signature.returns,
        "mechanisms": [asdict(mechanism) for mechanism in signature.mechanisms],
        "objectives": [
            {"name": o.name, "metric": o.metric, "meaning": o.meaning, "references": list(o.references)}
            for o in task.objectives
        ],
        "properties": [asdict(property_) for property_ in task.properties],
        "settings": [asdict(setting) for setting in task.settings],
        "operations": task.operations,
    }
