"""`vulcan task show`"""

from __future__ import annotations

from typing import Annotated

import typer

from vulcan.cli.options import AsJson, describe_settings
from vulcan.cli.output import print_json, print_table, say


def show(
    name: Annotated[str, typer.Argument(help="A task's name, or the directory of one of your own.")],
    as_json: AsJson = False,
) -> None:
    """Print a task's interface as a model sees it, with its objectives, properties and settings."""
    from vulcan.anvil.language import describe_language
    from vulcan.registry import find_task
    from vulcan.report.task import task_document
    from vulcan.search.config import complete_settings

    task = find_task(name)
    if as_json:
        print_json(task_document(task))
        return
    say(f"# {task.name}\n\n{task.summary}\n")
    say(describe_language(task))
    say("\n## Mechanisms\n")
    for declared in task.functions:
        of = f" of `{declared.function}`" if task.others else ""
        for mechanism in declared.mechanisms:
            say(f"- {mechanism.name}{of}: {mechanism.spelled(complete_settings(task, {}))}")
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
