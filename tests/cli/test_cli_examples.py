"""Every command has examples in its help, and each of them is one that the command takes."""

from __future__ import annotations

from functools import cache
from typing import Any

import pytest
from every_command import every_command, examples, root

from vulcan.cli.options import task_settings
from vulcan.registry import find_task

known_task = cache(find_task)
COMMANDS = {path: command for path, _, command in every_command()}
EXAMPLES = [
    (path, words)
    for path, command in COMMANDS.items()
    for words in examples(command.help or "")
    if words[0] == "vulcan"  # an example may begin with the tool that makes its input
]


OWN = ("./", "/")
"""How a task of the user's own is named, which is not there in a test."""


def taken(words: list[str]) -> Any:
    """What becomes of a command line as far as it is read: its command's context. Raises for what the command refuses.

    The options of a task that is there are read as well.
    """
    command, name, rest = root(), words[0], words[1:]
    context = command.make_context(name, [], resilient_parsing=True)
    context.resilient_parsing = False
    while hasattr(command, "list_commands"):
        name, command, rest = command.resolve_command(context, rest)
        context = type(context)(command, info_name=name, parent=context)
    context = command.make_context(name, rest, parent=context.parent)
    if context.args:
        task = context.params.get("task") or context.params.get("name") or "cache_eviction"  # a library's, by default
        if not task.startswith(OWN):
            task_settings(known_task(task), context)
    return context


@pytest.mark.parametrize("path", COMMANDS)
def test_every_command_has_examples_of_itself(path: str) -> None:
    shown = examples(COMMANDS[path].help or "")
    assert shown, f"the help of `{path}` has no section Examples"
    assert any(words[: len(path.split())] == path.split() for words in shown), shown


@pytest.mark.parametrize(("path", "words"), EXAMPLES, ids=[" ".join(words) for _, words in EXAMPLES])
def test_every_example_is_taken_by_its_command(path: str, words: list[str]) -> None:
    context = taken(words)
    named = context.params.get("task")
    if isinstance(named, str) and not named.startswith(OWN):
        known_task(named)


def test_the_help_as_it_is_printed_keeps_examples_on_lines_of_their_own() -> None:
    for path, context, command in every_command():
        lines = [line.strip() for line in command.get_help(context).splitlines()]
        first = examples(command.help or "")[0]
        assert any(line.startswith(" ".join(first[:3])) for line in lines), path
