"""Commands that also take a task's options."""

from __future__ import annotations

import itertools
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
