"""Command groups that other installed packages contribute, by the entry-point group `vulcan.commands`.

    [project.entry-points."vulcan.commands"]
    mine = "my_package.command:app"  # a typer.Typer

makes `vulcan mine ...`. Such a package is imported when its command runs, not before: the help shows the first line of
the module's docstring, which is read from the source. A command of Vulcan's own name comes first.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import typer
import typer.core

from vulcan.errors import UserError

ENTRY_POINT_GROUP = "vulcan.commands"


@dataclass(frozen=True)
class Contributed:
    """A command group of another package: `vulcan <name>` is the `typer.Typer` called `attribute` in `module`."""

    name: str
    module: str
    attribute: str

    def help(self) -> str:
        """The first line of the module's docstring, without importing it."""
        for place in sys.path:
            path = Path(place, *self.module.split("."))
            for source in (path.with_suffix(".py"), path / "__init__.py"):
                if source.is_file():
                    return _first_line(source)
        return ""

    def load(self) -> Any:
        """The command. Raises UserError where the package does not give one."""
        from importlib import import_module

        place = f"{self.module}:{self.attribute}"
        try:
            app = getattr(import_module(self.module), self.attribute)
        except (ImportError, AttributeError) as error:
            raise UserError(f"command {self.name!r}: its entry point {place!r} does not load: {error}") from error
        if not isinstance(app, typer.Typer):
            raise UserError(f"command {self.name!r}: its entry point {place!r} is no typer.Typer")
        if not app.registered_callback:  # without one, typer makes a group of one command into that command
            app.callback()(lambda: None)
        command = typer.main.get_command(app)
        command.help = command.help or self.help()
        return command


def contributed() -> dict[str, Contributed]:
    """The command groups of all installed packages, by name; the first place of `sys.path` to have a name has it."""
    found: dict[str, Contributed] = {}
    for name, value in _entry_points():
        module, _, attribute = value.partition(":")
        found.setdefault(name, Contributed(name, module.strip(), attribute.strip()))
    return dict(sorted(found.items()))


class CommandsAndContributed(typer.core.TyperGroup):
    """A command group whose own commands are joined by those of other packages."""

    def list_commands(self, ctx: Any) -> list[str]:
        self._add_contributed()
        return super().list_commands(ctx)

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        if args[0] not in self.commands:
            self._add_contributed()
        command = self.commands.get(args[0])
        if isinstance(command, _NotLoaded):
            self.commands[args[0]] = command.contributed.load()
        return super().resolve_command(ctx, args)

    def _add_contributed(self) -> None:
        for name, entry in contributed().items():
            self.commands.setdefault(name, _NotLoaded(entry))


class _NotLoaded(typer.core.TyperCommand):
    """Stands for a contributed command in lists of commands."""

    def __init__(self, entry: Contributed) -> None:
        super().__init__(entry.name, help=entry.help(), callback=None, rich_markup_mode=None)
        self.contributed = entry


def _entry_points() -> Iterator[tuple[str, str]]:
    """Names and values of the group, in every installed distribution.

    importlib.metadata reads the same files, but importing it takes longer than all the rest of `vulcan --help`.
    """
    for place in sys.path:
        for file in sorted(Path(place or ".").glob("*.*-info/entry_points.txt")):
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
