"""A command that takes the options of a task as well: the shell completes those too."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import typer.core


class TakesTaskOptions(typer.core.TyperCommand):
    """Its own options are typer's; those of a task are read by `vulcan.cli.options.task_settings`."""

    def shell_complete(self, ctx: Any, incomplete: str) -> list[Any]:
        """What may stand next, the options of the task named before and their choices among it."""
        found = super().shell_complete(ctx, incomplete)
        item = _item()
        return [*found, *(item(value, help=meaning) for value, meaning in _of_task(ctx, incomplete))]


def _of_task(context: Any, incomplete: str) -> list[tuple[str, str]]:
    """The options, or the values of the one that stands last, and what they mean."""
    from vulcan.errors import UserError
    from vulcan.registry import find_task

    named = context.params.get("task") or context.params.get("name")
    try:
        settings = {setting.option: setting for setting in find_task(named).settings} if named else {}
    except UserError:
        return []
    given = list(context.args)
    if given and (last := settings.get(given[-1])) is not None and last.type != "flag":
        return [(choice, last.meaning) for choice in last.choices if choice.startswith(incomplete)]
    if not incomplete.startswith("-"):
        return []
    return [
        (option, setting.meaning)
        for option, setting in settings.items()
        if option.startswith(incomplete) and (setting.repeatable or option not in given)
    ]


def _item() -> Any:
    """The class of what is completed: of typer's own copy of click, or of click where typer has none."""
    own = getattr(typer.core, "CompletionItem", None)
    return own or import_module("click.shell_completion").CompletionItem
