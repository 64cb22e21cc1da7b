"""Every command there is, as the command line itself finds it: its own, those in groups, and contributed ones."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from functools import cache
from typing import Any

import typer

from vulcan.cli.main import app

_EXAMPLES = re.compile(r"^ *Examples?\b[^\n]*:\n((?: +.*\n?)+)", re.MULTILINE)
_OF_THE_SHELL = (">", "<", "|", "&&", "2>&1")


@cache
def root() -> Any:
    """The command `vulcan`."""
    return typer.main.get_command(app)


def every_command() -> Iterator[tuple[str, Any, Any]]:
    """The words that each command is called by, its context, and the command; groups are walked into."""
    top = root()
    yield from _within("vulcan", top.make_context("vulcan", [], resilient_parsing=True), top)


def _within(path: str, context: Any, command: Any) -> Iterator[tuple[str, Any, Any]]:
    for name in command.list_commands(context):
        _, found, _ = command.resolve_command(context, [name])
        inner = type(context)(found, info_name=name, parent=context)
        if hasattr(found, "list_commands"):
            yield from _within(f"{path} {name}", inner, found)
        else:
            yield f"{path} {name}", inner, found


def examples(help_text: str) -> list[list[str]]:
    """The words of each example below the heading, without what is the shell's: redirections and pipes."""
    found = _EXAMPLES.search(help_text.replace("\b", ""))
    if found is None:
        return []
    lines = re.sub(r"\\\n\s*", " ", found[1]).splitlines()
    return [list(_of_vulcan(shlex.split(line))) for line in lines if line.strip()]


def _of_vulcan(words: list[str]) -> Iterator[str]:
    for word in words:
        if word in _OF_THE_SHELL:
            return
        yield word
