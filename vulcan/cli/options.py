"""Options shared by commands, and those declared by a task."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import typer

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
