"""The reference of the command line, from the commands themselves."""

from __future__ import annotations

import inspect
import typing
from collections.abc import Iterator
from enum import Enum
from pathlib import Path
from typing import Any

import typer
from markdown_parts import block, paragraphs, written_by

from vulcan.anvil.prompt_section import code, table
from vulcan.cli.main import app, contributed

COMPLETION = {"--install-completion", "--show-completion"}
HEAD = """# The command line

{remark}

Every command and every option, as `vulcan COMMAND --help` says them. Commands that measure also take the options of
the task that they are about, which `vulcan task show TASK` lists. What `--json` prints is in [json.md](../json.md).
Exit codes: 0; 1 for a policy that is rejected or fails, or a check that does not hold; 2 for a mistake in what was
given, with one line on standard error; 130 where Ctrl-C ended it, 143 where SIGTERM did.

`vulcan --install-completion` makes the shell complete commands and options.
"""


def command_line_page() -> str:
    """The page, in Markdown."""
    parts = [HEAD.format(remark=written_by("command_line_page.py"))]
    parts += [_section(name, command) for name, command in commands()]
    return "\n\n".join(part.strip() for part in parts) + "\n"


def commands() -> Iterator[tuple[str, Any]]:
    """Every command that does something, with its whole name; groups are left out."""
    root = typer.main.get_command(app)
    listed = {**root.commands, **{name: found.load() for name, found in contributed().items()}}
    for name, command in listed.items():
        yield from _within(f"vulcan {name}", command)


def _within(name: str, command: Any) -> Iterator[tuple[str, Any]]:
    children = getattr(command, "commands", None)
    if children is None:
        yield name, command
        return
    for child, found in children.items():
        yield from _within(f"{name} {child}", found)


def _section(name: str, command: Any) -> str:
    declared = typing.get_type_hints(inspect.unwrap(command.callback), include_extras=True)
    arguments = [p for p in command.params if p.param_type_name == "argument"]
    options = [p for p in command.params if p.param_type_name == "option" and not COMPLETION & set(p.opts)]
    usage = " ".join([name, *(_spelled(a) for a in arguments), "[OPTIONS]"])
    parts = [f"## {name}", block(usage, "text"), paragraphs(command.help)]
    if arguments:
        parts.append(table(("argument", "meaning"), [(code(_spelled(a)), _meaning(a)) for a in arguments]))
    rows = [
        (", ".join(code(o) for o in _names(p, declared.get(p.name))), _meaning(p), _default(p))
        for p in options
        if p.name != "help"
    ]
    if rows:
        parts.append(table(("option", "meaning", "default"), rows))
    return "\n\n".join(part for part in parts if part)


def _spelled(argument: Any) -> str:
    name = argument.name.upper()
    return name if argument.required else f"[{name}]"


def _names(option: Any, declared: Any) -> list[str]:
    """As one writes them: what is no switch takes a value."""
    names = [*option.opts, *option.secondary_opts]
    kind = option.metavar or _kind(declared)
    return [*names[:-1], f"{names[-1]} {kind}"] if kind else names


def _kind(declared: Any) -> str:
    """What the value is, as one capital word; nothing of a switch."""
    if typing.get_origin(declared) is typing.Annotated:
        return _kind(typing.get_args(declared)[0])
    if typing.get_origin(declared) is typing.Literal:
        return "|".join(typing.get_args(declared))
    if isinstance(declared, type) and issubclass(declared, Enum):
        return "|".join(str(one.value) for one in declared)
    inner = [one for one in typing.get_args(declared) if one is not type(None)]
    if inner:  # of an optional one, or of a list
        return _kind(inner[0])
    return {bool: "", int: "NUMBER", float: "NUMBER", Path: "PATH"}.get(declared, "TEXT")


def _meaning(parameter: Any) -> str:
    meaning = " ".join((parameter.help or "").split())
    if parameter.param_type_name == "option":
        if parameter.multiple:
            meaning += " May be repeated."
        if parameter.envvar:
            meaning += f" Also from the environment: {code(str(parameter.envvar))}."
    return meaning


def _default(option: Any) -> str:
    default = option.default
    if option.required:
        return "needed"
    if default is None or default is False or default == []:
        return ""
    if default is True:
        return code(option.opts[0])
    return ", ".join(code(str(one)) for one in (default if isinstance(default, list | tuple) else [default]))
