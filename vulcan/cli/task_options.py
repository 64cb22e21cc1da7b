"""Commands that also take a task's options."""

from __future__ import annotations

import itertools
from typing import Any, ClassVar

import typer.core

_TASK = "vulcan.task"


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


class SearchCommand(TakesTaskOptions):
    """A command of a search, whose help has its options in groups, those of the task that is named among them."""

    GROUPS: ClassVar[dict[str, str]] = {
        "Task": "task config replay objective start_from target train_on split",
        "Model": "model api_base temperature max_tokens model_timeout price_in price_out",
        "Budget": "budget_candidates budget_dollars budget_tokens budget_minutes rounds samples tune simplify "
        "finalists limit",
        "Strategy": "strategy seed turns drafts parents islands migrate_every advice_every diff in_flight "
        "feedback repairs racing",
        "Place": "executor workers ray_address allow_unsandboxed runs_dir",
        "Output": "dry_run progress quiet as_json help",
    }

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parse the arguments, the task's name first: a request for help ends the parsing where it is met."""
        words = [word for arg in args for word in arg.split("=", 1)]
        ctx.meta[_TASK] = next((name for flag, name in itertools.pairwise(words) if flag in ("-t", "--task")), None)
        return super().parse_args(ctx, args)

    def format_options(self, ctx: Any, formatter: Any) -> None:
        shown = {one.name: told for one in self.get_params(ctx) if (told := one.get_help_record(ctx))}
        for title, names in self.GROUPS.items():
            if own := [shown[name] for name in names.split() if name in shown]:
                with formatter.section(title):
                    formatter.write_dl(own)
        if (task := ctx.meta.get(_TASK)) is not None:
            from vulcan.cli.options import describe_settings
            from vulcan.registry import find_task

            rows = describe_settings(find_task(task))
            with formatter.section(f"Options of {task}"):
                formatter.write_dl(
                    [(name, meaning + (f"  [default: {usual}]" if usual else "")) for name, meaning, usual in rows]
                )
