"""Options shared by commands, and those declared by a task."""

from __future__ import annotations

import inspect
import itertools
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, TypeVar

import typer
import typer.core

from vulcan.searches.options import EXECUTION_OPTIONS, PARTS, PROGRESS, Option, take_options

if TYPE_CHECKING:
    from vulcan.task import Json, Setting, Task

TASK_OPTIONS: dict[str, Any] = {"allow_extra_args": True, "ignore_unknown_options": True}
"""Context settings of a command that also accepts a task's options."""

TaskName = Annotated[
    str,
    typer.Option("--task", "-t", help="Task name, or the directory of your own task."),
]
TaskArgument = Annotated[
    str,
    typer.Argument(help="Task name, or the directory of your own task."),
]
PolicyFile = Annotated[
    Path, typer.Argument(metavar="POLICY", help="Policy file, or a module written by `vulcan export`.")
]
Part = Annotated[
    str,
    typer.Option(
        metavar="|".join(PARTS),
        help="Data to measure on: the `whole`, or one split: train, validation or test.",
    ),
]
RunName = Annotated[
    str,
    typer.Argument(
        help="Run directory, its name in --runs-dir or a unique part of it, or `latest`.",
    ),
]
RunNames = Annotated[
    list[str],
    typer.Argument(
        help="Runs, each as its directory, its name in --runs-dir or a unique part of it, or `latest`; several of one "
        "task are compared.",
    ),
]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Show no progress output.")]
ProgressForm = Annotated[
    str | None,
    typer.Option(
        "--progress",
        metavar="|".join(PROGRESS),
        help="Progress output: rich (live display), plain (lines), json (JSON lines on standard output, see "
        "docs/json.md), none, or auto, whichever suits the terminal. Default: auto, or none with --json.",
    ),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print a JSON document (see docs/json.md).")]
RunsDirectory = Annotated[
    Path, typer.Option("--runs-dir", envvar="VULCAN_RUNS_DIR", help="Directory for runs.", show_default=True)
]
RUNS = Path("runs")

_Command = TypeVar("_Command", bound=Callable[..., None])


def declare(option: Option) -> Any:
    """Return the parameter type of an option of a search or of its execution."""
    return Annotated[
        list[str] if option.repeatable else option.kind if option.default is not None else option.kind | None,
        typer.Option(
            *([option.switch] if option.flag else []),
            envvar=option.environment,
            help=option.help,
            metavar="|".join(option.choices) or None,
        ),
    ]


def takes_options(options: Iterable[Option], *, after: str) -> Callable[[_Command], _Command]:
    """Replace a command's `**options` by these options, listed after its parameter `after`."""

    def decorate(command: _Command) -> _Command:
        take_options(command, map(_parameter, options), after)
        return command

    return decorate


def _parameter(option: Option) -> inspect.Parameter:
    default = list(option.default) if option.repeatable else option.default
    return inspect.Parameter(option.name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=declare(option))


AllowUnsandboxed = declare(EXECUTION_OPTIONS["allow_unsandboxed"])


def task_settings(task: Task, context: typer.Context) -> dict[str, Json]:
    """Parse a task's settings from the arguments unknown to the command.

    Raises UserError for an unknown option, with the closest match, and for an invalid value.
    """
    from vulcan.errors import UserError, did_you_mean

    known = {setting.option: setting for setting in task.settings}
    found: dict[str, Json] = {}
    rest = list(context.args)
    while rest:
        option, given, value = rest.pop(0).partition("=")
        if not option.startswith("-"):
            raise UserError(f"{option!r} is not expected here; options of a task are written --name value")
        setting = known.get(option)
        if setting is None:
            own = [name for parameter in context.command.params for name in parameter.opts]
            close = did_you_mean(option, (*known, *(name for name in own if name.startswith("--"))))
            raise UserError(f"no option {option}{close} (`vulcan task show {task.name}` lists those of the task)")
        if setting.type == "flag":
            if given:
                raise UserError(f"{option} takes no value")
            found[setting.name] = True
            continue
        if not given:
            if not rest or rest[0].startswith("--"):
                raise UserError(f"{option} needs a value: {setting.meaning}")
            value = rest.pop(0)
        parsed = _parsed(setting, value)
        if setting.repeatable:
            earlier = found.setdefault(setting.name, [])
            assert isinstance(earlier, list)
            earlier.append(parsed)
        elif setting.name in found:
            raise UserError(f"{option} is given twice")
        else:
            found[setting.name] = parsed
    return found


def _parsed(setting: Setting, value: str) -> Json:
    from vulcan.errors import UserError, did_you_mean

    if setting.choices and value not in setting.choices:
        choices = ", ".join(setting.choices)
        raise UserError(f"{setting.option} {value!r}{did_you_mean(value, setting.choices)} (one of: {choices})")
    if setting.type == "text":
        return value
    try:
        return int(value) if setting.type == "int" else float(value)
    except ValueError:
        raise UserError(f"{setting.option} {value!r} is not a number") from None


def describe_settings(task: Task) -> list[tuple[str, str, str]]:
    """Return option, meaning and default of each setting of a task."""
    rows = []
    for setting in task.settings:
        meaning = setting.meaning
        if setting.choices:
            meaning += f" ({', '.join(setting.choices)})"
        if setting.repeatable:
            meaning += "; may be repeated"
        rows.append((setting.option, meaning, "" if setting.default is None else str(setting.default)))
    return rows


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
            from vulcan.registry import find_task

            rows = describe_settings(find_task(task))
            with formatter.section(f"Options of {task}"):
                formatter.write_dl(
                    [(name, meaning + (f"  [default: {usual}]" if usual else "")) for name, meaning, usual in rows]
                )
