"""`vulcan`: every command, and what becomes of errors."""

from __future__ import annotations

import logging
import sys
from typing import Annotated, Any

import typer

from vulcan import __version__
from vulcan.cli import ask, check, eval_, export, mcp, prompt, resume, runs, search, show, task, tasks, verify
from vulcan.cli.commands import CommandsAndContributed
from vulcan.errors import UserError

app = typer.Typer(
    name="vulcan",
    cls=CommandsAndContributed,
    help="Machine-written heuristics for computer systems: declare a task, search for a policy, export the winner.",
    no_args_is_help=True,
    add_completion=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110},
)
task_app = typer.Typer(help="Look into a task.", no_args_is_help=True, rich_markup_mode=None)
task_app.command("show")(task.show)
app.command("search", context_settings=search.CONTEXT)(search.search)
app.command("resume")(resume.resume)
app.command("ask")(ask.ask)
app.command("tell")(ask.tell)
app.command("finish")(ask.finish)
app.command("runs")(runs.runs)
app.command("show")(show.show)
app.command("eval", context_settings=eval_.CONTEXT)(eval_.evaluate)
app.command("export", context_settings=export.CONTEXT)(export.export)
app.command("check")(check.check)
app.command("verify")(verify.verify)
app.command("prompt", context_settings=prompt.CONTEXT)(prompt.prompt)
app.command("tasks")(tasks.tasks)
app.command("mcp")(mcp.mcp)
app.add_typer(task_app, name="task")


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"vulcan {__version__}")
        raise typer.Exit


@app.callback()
def options(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    """Machine-written heuristics for computer systems: declare a task, search for a policy, export the winner."""


# Of click, or of typer's own copy of it: a command, option or argument that is wrong
_Misuse: Any = typer.BadParameter.__base__


def run() -> None:
    """The console script. A mistake of the user's is one line and exit code 2; an interruption is exit code 130."""
    logging.basicConfig(format="vulcan: %(message)s", level=logging.WARNING, stream=sys.stderr)
    try:
        sys.exit(app(standalone_mode=False))
    except _Misuse as misuse:
        _fail_misused(misuse)
    except UserError as error:
        _fail(str(error), 2)
    except (KeyboardInterrupt, typer.Abort):
        _fail("interrupted", 130)
    except BrokenPipeError:
        sys.stderr.close()  # the reader has what it wanted; Python would complain on exit
        sys.exit(1)


def _fail_misused(misuse: Any) -> None:
    message = misuse.format_message()
    if message.startswith("Usage:"):  # nothing at all was asked for: the message is the help
        typer.echo(message, err=True)
        sys.exit(2)
    command = misuse.ctx.command_path if misuse.ctx else "vulcan"
    _fail(f"{message.rstrip('.')} (`{command} --help` says what there is)", 2)


def _fail(message: str, code: int) -> None:
    line = " ".join(message.split())
    print(f"vulcan: {line}", file=sys.stderr)  # noqa: T201
    sys.exit(code)
