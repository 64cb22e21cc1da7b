"""`vulcan`: every command, and what becomes of errors."""

from __future__ import annotations

import logging
import signal
import sys
from typing import Annotated, Any

import typer

from vulcan import __version__
from vulcan.cli import (
    ask,
    check,
    doctor,
    eval,
    export,
    library,
    prompt,
    report,
    resume,
    runs,
    search,
    serve,
    task,
    verify,
)
from vulcan.cli.plugins import CommandsAndContributed
from vulcan.cli.task_options import TakesTaskOptions
from vulcan.errors import UserError
from vulcan.terminal_text import printable

INTERRUPTED = 130
"""The exit code of a command that Ctrl-C ended."""

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
task_app = typer.Typer(help="Write, try and look into tasks.", no_args_is_help=True, rich_markup_mode=None)
task_app.command("new")(task.new)
task_app.command("show")(task.show)
task_app.command("validate", cls=TakesTaskOptions, context_settings=task.VALIDATE_CONTEXT)(task.validate)
app.command("search", cls=TakesTaskOptions, context_settings=search.CONTEXT)(search.search)
app.command("resume")(resume.resume)
app.command("repair")(runs.repair)
app.command("ask")(ask.ask)
app.command("tell")(ask.tell)
app.command("finish")(ask.finish)
app.command("runs")(runs.runs)
app.command("show")(runs.show)
app.command("report")(report.report)
app.command("eval", cls=TakesTaskOptions, context_settings=eval.CONTEXT)(eval.evaluate)
app.command("export", cls=TakesTaskOptions, context_settings=export.CONTEXT)(export.export)
app.command("check")(check.check)
app.command("verify")(verify.verify)
app.command("prompt", cls=TakesTaskOptions, context_settings=prompt.CONTEXT)(prompt.prompt)
app.command("doctor")(doctor.doctor)
app.command("tasks")(task.tasks)
app.command("mcp")(serve.mcp)
app.command("ui")(serve.ui)
app.add_typer(task_app, name="task")
app.add_typer(library.app, name="library")


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


class _Ends:
    """Takes SIGTERM for Ctrl-C, and keeps the exit code that an interruption is to have."""

    code = INTERRUPTED

    def __call__(self, _number: int, _frame: object) -> None:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)  # a second one does not wait for an orderly end
        signal.alarm(0)  # Ray sees SIGTERM first, and would abort what has not come to its end in three seconds
        self.code = 128 + signal.SIGTERM
        raise KeyboardInterrupt


# Of click, or of typer's own copy of it: a command, option or argument that is wrong
_Misuse: Any = typer.BadParameter.__base__


class _Line(logging.Formatter):
    """A message may quote a server."""

    def format(self, record: logging.LogRecord) -> str:
        return printable(super().format(record))


def run() -> None:
    """The console script. A mistake of the user's is one line and exit code 2.

    An interruption is exit code 130, or 143 where it is by SIGTERM.
    """
    signal.signal(signal.SIGTERM, ends := _Ends())
    handler = logging.StreamHandler()
    handler.setFormatter(_Line("vulcan: %(message)s"))
    logging.basicConfig(handlers=(handler,), level=logging.WARNING)
    try:
        code = app(standalone_mode=False)
        sys.exit(ends.code if code == INTERRUPTED else code)
    except _Misuse as misuse:
        _fail_misused(misuse)
    except UserError as error:
        _fail(str(error), 2)
    except MemoryError:
        _fail("there is not enough memory: free some; a search goes on with `vulcan resume`", 2)
    except (KeyboardInterrupt, typer.Abort):
        _fail("interrupted", ends.code)
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
    line = printable(" ".join(message.split()))
    print(f"vulcan: {line}", file=sys.stderr)  # noqa: T201
    sys.exit(code)
