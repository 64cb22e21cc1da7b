"""The `vulcan` application: all commands, error handling, and command groups of other packages.

Installed packages contribute command groups through the entry-point group `vulcan.commands`:

    [project.entry-points."vulcan.commands"]
    mine = "my_package.command:app"  # a typer.Typer

adds `vulcan mine ...`. Such a package is imported only when its command runs: the help shows the first line of the
module's docstring, which is read from the source. Vulcan's own commands take precedence.
"""

from __future__ import annotations

import ast
import errno
import logging
import os
import re
import signal
import sys
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer
import typer.core

from vulcan import __version__
from vulcan.cli import check, eval, explain, export, host, library, runs, search, serve, task
from vulcan.cli.options import SearchCommand, TakesTaskOptions
from vulcan.errors import UserError
from vulcan.files import NOT_WRITABLE
from vulcan.foreign_code import ForeignCall
from vulcan.terminal_text import printable

ENTRY_POINT_GROUP = "vulcan.commands"


@dataclass(frozen=True)
class Contributed:
    """A command group of another package: `vulcan <name>` is the `typer.Typer` `attribute` in `module`."""

    name: str
    module: str
    attribute: str

    def help(self) -> str:
        """Return the first line of the module's docstring, without importing it."""
        for directory in sys.path:
            path = Path(directory, *self.module.split("."))
            for source in (path.with_suffix(".py"), path / "__init__.py"):
                if source.is_file():
                    return _first_line(source)
        return ""

    def load(self) -> Any:
        """Import the command. Raises UserError where the entry point is invalid."""
        from importlib import import_module

        target = f"{self.module}:{self.attribute}"
        with (attempt := ForeignCall()):
            app = getattr(import_module(self.module), self.attribute)
        if attempt.error is not None:
            raise attempt.user_error(f"command {self.name!r}: its entry point {target!r} does not load")
        if not isinstance(app, typer.Typer):
            raise UserError(f"command {self.name!r}: its entry point {target!r} is no typer.Typer")
        if not app.registered_callback:  # without one, typer collapses a group of one command
            app.callback()(lambda: None)
        command: Any = typer.main.get_command(app)
        command.params = [p for p in command.params if p.name not in ("install_completion", "show_completion")]
        command.help = command.help or self.help()
        return command


def contributed() -> dict[str, Contributed]:
    """Return the command groups of all installed packages by name; earlier entries of `sys.path` win."""
    found: dict[str, Contributed] = {}
    for name, value in _entry_points():
        module, _, attribute = value.partition(":")
        found.setdefault(name, Contributed(name, module.strip(), attribute.strip()))
    return dict(sorted(found.items()))


class CommandsAndContributed(typer.core.TyperGroup):
    """A command group that also lists and loads the commands of other packages."""

    def list_commands(self, ctx: Any) -> list[str]:
        self._add_contributed()
        return super().list_commands(ctx)

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        if args[0] not in self.commands:
            self._add_contributed()
        command = self.commands.get(args[0])
        if isinstance(command, _LazyCommand):
            self.commands[args[0]] = command.contributed.load()
        return super().resolve_command(ctx, args)

    def _add_contributed(self) -> None:
        for name, entry in contributed().items():
            self.commands.setdefault(name, _LazyCommand(entry))


class _LazyCommand(typer.core.TyperCommand):
    """A contributed command, imported when it is run or asked for help."""

    def __init__(self, entry: Contributed) -> None:
        super().__init__(entry.name, help=entry.help(), callback=None, rich_markup_mode=None)
        self.contributed = entry


def _entry_points() -> Iterator[tuple[str, str]]:
    """Yield names and values of the entry points, in every installed distribution.

    importlib.metadata reads the same files, but importing it takes longer than the rest of `vulcan --help`.
    """
    for directory in sys.path:
        for file in sorted(Path(directory or ".").glob("*.*-info/entry_points.txt")):
            group = ""
            for line in file.read_text(encoding="utf-8").splitlines():
                line = line.partition("#")[0].strip()  # noqa: PLW2901
                if line.startswith("["):
                    group = line.strip("[] ")
                elif group == ENTRY_POINT_GROUP and "=" in line:
                    name, _, value = line.partition("=")
                    yield name.strip(), value.strip()


def _first_line(source: Path) -> str:
    docstring = ast.get_docstring(ast.parse(source.read_text(encoding="utf-8"))) or ""
    return docstring.partition("\n")[0]


INTERRUPTED = 130
"""Exit code of a command that was interrupted by Ctrl-C."""

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
app.command("search", cls=SearchCommand, context_settings=search.CONTEXT)(search.search)
app.command("resume")(search.resume)
app.command("repair")(runs.repair)
app.command("ask")(serve.ask)
app.command("tell")(serve.tell)
app.command("steer")(serve.steer)
app.command("finish")(serve.finish)
app.command("runs")(runs.runs)
app.command("note")(runs.note)
app.command("show")(runs.show)
app.command("report")(runs.report)
app.command("eval", cls=TakesTaskOptions, context_settings=eval.CONTEXT)(eval.evaluate)
app.command("explain", cls=TakesTaskOptions, context_settings=explain.CONTEXT)(explain.explain)
app.command("hazards", cls=TakesTaskOptions, context_settings=explain.CONTEXT)(explain.hazards)
app.command("compare", cls=TakesTaskOptions, context_settings=explain.CONTEXT)(explain.compare)
app.command("export", cls=TakesTaskOptions, context_settings=export.CONTEXT)(export.export)
app.command("check")(check.check)
app.command("verify")(check.verify)
app.command("prompt", cls=TakesTaskOptions, context_settings=check.CONTEXT)(check.prompt)
app.command("doctor")(host.doctor)
app.command("tasks")(task.tasks)
app.command("mcp")(serve.mcp)
app.command("ui")(serve.ui)
app.add_typer(task_app, name="task")
app.add_typer(library.app, name="library")


def _print_version(requested: bool) -> None:
    if requested:
        typer.echo(f"vulcan {__version__}")
        raise typer.Exit


@app.callback()
def options(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    """Machine-written heuristics for computer systems: declare a task, search for a policy, export the winner."""


class _Exit:
    """A SIGTERM handler that acts as Ctrl-C, and stores the exit code of the interruption."""

    code = INTERRUPTED

    def __call__(self, _number: int, _frame: object) -> None:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)  # a second SIGTERM kills at once
        signal.alarm(0)  # Ray handles SIGTERM first, and would abort after three seconds
        self.code = 128 + signal.SIGTERM
        raise KeyboardInterrupt


# UsageError of click, or of typer's bundled copy
_UsageError: Any = typer.BadParameter.__base__


class _Line(logging.Formatter):
    """A log formatter that escapes control characters, as messages may quote a server."""

    def format(self, record: logging.LogRecord) -> str:
        return printable(super().format(record))


def run() -> None:
    """Run the command line. A user error is printed as one line, with exit code 2.

    An interruption has exit code 130, or 143 for SIGTERM.
    """
    _open_closed_streams()
    signal.signal(signal.SIGTERM, ends := _Exit())
    handler = logging.StreamHandler()
    handler.setFormatter(_Line("vulcan: %(message)s"))
    logging.basicConfig(handlers=(handler,), level=logging.WARNING)
    try:
        code = app(standalone_mode=False)
        sys.stdout.flush()  # here, and not as the interpreter ends, which reports no error in a line
        sys.exit(ends.code if code == INTERRUPTED else code)
    except _UsageError as misuse:
        _fail_usage(misuse)
    except UserError as error:
        _fail(str(error), 2)
    except MemoryError:
        _fail("there is not enough memory: free some; a search continues with `vulcan resume`", 2)
    except RuntimeError as error:
        if str(error) != "can't start new thread":
            raise
        _fail("no thread could be started: allow more memory or processes (`ulimit -v`, `ulimit -u`)", 2)
    except (KeyboardInterrupt, typer.Abort):
        _fail("interrupted", ends.code)
    except BrokenPipeError:
        sys.stderr.close()  # the reader closed the pipe; avoids an error on exit
        sys.exit(1)
    except OSError as error:
        if error.filename is not None and error.errno in _SCARCE:
            _fail(f"{error.filename}: {error.strerror}; a search continues with `vulcan resume`", 2)
        if error.errno not in _OUTPUT_FAULTS or error.filename is not None:
            raise
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # what is still buffered goes nowhere
        _fail(f"the output cannot be written: {error.strerror}", 2)


_OUTPUT_FAULTS = {errno.ENOSPC, errno.EIO, errno.EDQUOT, errno.EFBIG, errno.EBADF}
"""What writing to standard output may end in: a file's name would be in the error."""

_SCARCE = {errno.EMFILE, errno.ENFILE, errno.ENOMEM, *NOT_WRITABLE}
"""What a sound program meets on a host that has no more room, files or memory, or lets it write nothing."""


def _open_closed_streams() -> None:
    """Open the standard streams that were closed, so that no file of a run takes their numbers.

    What is written to standard error then is lost, and to standard output an error, as on a full disk.
    """
    for number, mode in ((0, os.O_RDONLY), (1, os.O_RDONLY), (2, os.O_WRONLY)):
        try:
            os.fstat(number)
        except OSError:
            opened = os.open(os.devnull, mode)
            if opened != number:
                os.dup2(opened, number)
                os.close(opened)
            os.set_inheritable(number, True)
    sys.stdin = sys.stdin or open(0, closefd=False)  # noqa: SIM115
    sys.stdout = sys.stdout or open(1, "w", closefd=False)  # noqa: SIM115
    sys.stderr = sys.stderr or open(2, "w", closefd=False)  # noqa: SIM115


_NOT_A_NUMBER = re.compile(r"Input should be a valid (integer|number), unable to parse .*$")
_NUMBERS = {"integer": "whole number", "number": "number"}


def _fail_usage(error: Any) -> None:
    message = error.format_message()
    if message.startswith("Usage:"):  # no arguments: the message is the help
        typer.echo(message, err=True)
        sys.exit(2)
    message = _NOT_A_NUMBER.sub(lambda found: f"a {_NUMBERS[found[1]]} is expected", message)
    command = error.ctx.command_path if error.ctx else "vulcan"
    _fail(f"{message.rstrip('.')} (`{command} --help` says what there is)", 2)


def _fail(message: str, code: int) -> None:
    line = printable(" ".join(message.split()))
    with suppress(OSError):
        print(f"vulcan: {line}", file=sys.stderr, flush=True)  # noqa: T201
    sys.exit(code)
