"""Commands that also take a task's options, and the completion of these."""

from __future__ import annotations

import itertools
from importlib import import_module
from typing import Any

import typer.core


class TakesTaskOptions(typer.core.TyperCommand):
    """A command with a task's options too, which `vulcan.cli.options.task_settings` parses."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parse the arguments; a variable number of them ends where the task's options begin."""
        super().parse_args(ctx, args)
        for parameter in self.params:
            if parameter.param_type_name == "argument" and parameter.nargs == -1 and parameter.name:
                words = tuple(ctx.params.get(parameter.name) or ())
                named = tuple(itertools.takewhile(lambda word: not str(word).startswith("-"), words))
                ctx.params[parameter.name] = named
                ctx.args = [*words[len(named) :], *ctx.args]
        return list(ctx.args)

    def shell_complete(self, ctx: Any, incomplete: str) -> list[Any]:
        """Complete the command's options, and those of the task given earlier, with their choices."""
        found = super().shell_complete(ctx, incomplete)
        item = _item()
        return [*found, *(item(value, help=meaning) for value, meaning in task_completions(ctx, incomplete))]


def task_completions(context: Any, incomplete: str) -> list[tuple[str, str]]:
    """Return the completions (options, or choices of the last option) with their meanings."""
    from vulcan.errors import UserError
    from vulcan.registry import recorded_task

    named = context.params.get("task") or context.params.get("name")
    try:
        settings = {setting.option: setting for setting in recorded_task(named).settings} if named else {}
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
    """Return the CompletionItem class: of typer's bundled click, else of click itself."""
    own = getattr(typer.core, "CompletionItem", None)
    return own or import_module("click.shell_completion").CompletionItem
