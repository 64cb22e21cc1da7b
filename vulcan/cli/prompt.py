"""`vulcan prompt`"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from vulcan.cli.options import TASK_OPTIONS, AsJson, TaskName, task_settings
from vulcan.cli.output import print_json, say

if TYPE_CHECKING:
    from vulcan.documents.policy import PromptDocument

CONTEXT = TASK_OPTIONS


def prompt(
    context: typer.Context,
    task: TaskName,
    objective: Annotated[str | None, typer.Option(help="Objective. Default: the task's first.")] = None,
    as_json: AsJson = False,
) -> None:
    """Print the prompt that asks a model for its first policy.

    Options of the task's own, such as --mechanism of cache_eviction, are given here too, for the prompt tells of them.

    \b
    Examples:
      vulcan prompt --task cache_eviction
      vulcan prompt --task cache_eviction --mechanism heap --objective byte
    """
    from vulcan.registry import find_task
    from vulcan.searches.config import complete_settings
    from vulcan.searches.evidence import find_objective
    from vulcan.searches.prompts import Prompts
    from vulcan.searches.strategies import Draft

    declared = find_task(task)
    settings = complete_settings(declared, task_settings(declared, context))
    chosen = find_objective(declared, objective or declared.objectives[0].name)
    text = Prompts(declared, chosen, settings).propose(Draft(1, "initial", ()))
    if as_json:
        document: PromptDocument = {"task": declared.name, "messages": [{"role": "user", "content": text}]}
        print_json(document)
    else:
        say(text)
