"""Commands that pages only mention, and examples in `--help`, exist with the options that they are given."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator

import pytest
from command_line_page import commands
from docs_pages import Page, pages
from site_pages import reference

from vulcan.registry import built_in_directory, find_task

COMMANDS = dict(commands())
GROUPS = {name.rsplit(" ", 1)[0] for name in COMMANDS if name.count(" ") > 1}
TASKS = {path.parent.name: find_task(str(path.parent)) for path in built_in_directory().glob("*/task.py")}
OF_TASKS = {setting.option for task in TASKS.values() for setting in task.settings}
NOT_OF_VULCAN = {"--minutes"}  # of the task that own-task.md makes
WITHOUT_COMMAND = {"--version", "--help", "--install-completion", "--show-completion"}


def mentioned(page: Page) -> Iterator[str]:
    """Every piece of code on the page that is a command of Vulcan's: inline, or a line of a block."""
    text = re.sub(r"\\\n\s*", "", page.text)
    for span in re.findall(r"(?<!`)`(vulcan [^`]+)`(?!`)", text):
        yield " ".join(span.split())
    for line in text.splitlines():
        if match := re.match(r"(?:\s{4})?(?:\$ )?(?:sudo )?(?:\S*/)?(vulcan [a-z-].*)", line):
            yield match[1].split("  #")[0]


def trouble(written: str) -> str | None:
    """What is wrong with a command as it is written on a page."""
    try:
        words = shlex.split(written.replace("...", " "))
    except ValueError:
        return None  # half of a command, in a sentence
    command = next((c for n in (3, 2) if (c := " ".join(words[:n])) in COMMANDS), None)
    if command is None:
        known = words[1:2] and (words[1].startswith("-") or " ".join(words[:2]) in GROUPS or words[1].isupper())
        if " ".join(words[:2]) in GROUPS and words[2:3] and not words[2].startswith("-"):
            return f"no command {' '.join(words[:3])}"
        return None if known else f"no command {' '.join(words[:2])}"
    own = {o for p in COMMANDS[command].params if p.param_type_name == "option" for o in (*p.opts, *p.secondary_opts)}
    takes_tasks = COMMANDS[command].context_settings.get("ignore_unknown_options", False)
    known_options = own | WITHOUT_COMMAND | (OF_TASKS | NOT_OF_VULCAN if takes_tasks else set())
    for word in words[2:]:
        option = word.partition("=")[0].rstrip(",.;:)")
        if re.match(r"--?[a-z]", option) and option not in known_options:
            return f"{command} has no option {option}"
    return None


PAGES = pages()


@pytest.mark.parametrize("read", [page for page in PAGES if any(mentioned(page))], ids=lambda page: page.name)
def test_commands_that_are_mentioned_exist(read: Page) -> None:
    mistakes = {command for block in read.blocks if block.exit_code == 2 for command, _ in block.commands()}
    written = [command for command in mentioned(read) if command not in mistakes]
    assert {f"{command}: {said}" for command in written if (said := trouble(command))} == set()


def test_commands_that_the_reference_mentions_exist() -> None:
    for name, text in reference().items():
        test_commands_that_are_mentioned_exist(Page(name, text))
