"""The pages of the documentation, and the blocks of code in them.

What a reader does with a page is what the tests do with it: files are written, and commands run, in the page's order.
Where that cannot be, a remark stands right above the block, and one at the head of a page says what is there before its
first command:

    <!-- test: not run: REASON -->          it needs what a test has not; the reason stands in a list of all of them
    <!-- test: slow -->                     run by `make test-slow` only
    <!-- test: with --budget-candidates 5 -->  added to each search of the block
    <!-- test: exit 1 -->                   how its last command ends
    <!-- page: my-trace.csv, a finished run -->
    <!-- page: slow -->
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from locations import ROOT

COMMANDS = ("sh", "console")
FENCE = re.compile(r"^(\s*)(`{3,})(\w*)(?: (\S+))?\s*$")
MARK = re.compile(r"^\s*<!-- test: (.*?) -->\s*$")
PAGE_MARK = re.compile(r"^<!-- page: (.*?) -->$", re.MULTILINE)
GENERATED = "<!-- Written by "
REASON = "not run: "


@dataclass(frozen=True)
class Block:
    """One block of code: `line` is that of its fence, `file` the name it is to be written to, if it has one."""

    line: int
    language: str
    file: str | None
    text: str
    marks: tuple[str, ...]

    @property
    def is_commands(self) -> bool:
        return self.language in COMMANDS

    @property
    def reason(self) -> str | None:
        """Why it is not run."""
        return next((mark.removeprefix(REASON) for mark in self.marks if mark.startswith(REASON)), None)

    @property
    def slow(self) -> bool:
        return "slow" in self.marks

    @property
    def added(self) -> str:
        """Options that its searches are given besides."""
        return " ".join(mark.removeprefix("with ") for mark in self.marks if mark.startswith("with "))

    @property
    def exit_code(self) -> int:
        return next((int(mark.removeprefix("exit ")) for mark in self.marks if mark.startswith("exit ")), 0)

    def commands(self) -> list[tuple[str, list[str]]]:
        """Each command, with the lines that are shown below it as its output (of a console)."""
        found: list[tuple[str, list[str]]] = []
        continued = False
        for line in self.text.splitlines():
            if continued:
                command, shown = found.pop()
                found.append((f"{command} {line.strip()}", shown))
            elif self.language == "console" and not line.startswith("$ "):
                found[-1][1].append(line)
                continue
            elif line.strip() and not line.lstrip().startswith("#"):
                found.append((line.removeprefix("$ ").strip(), []))
            continued = line.endswith("\\")
            if continued:
                command, shown = found.pop()
                found.append((command.removesuffix("\\").strip(), shown))
        return found


@dataclass(frozen=True)
class Page:
    """A page: its path from the repository's root, and its text."""

    name: str
    text: str

    @property
    def generated(self) -> bool:
        return GENERATED in self.text

    @property
    def needs(self) -> list[str]:
        """What is there before its first command."""
        return [one.strip() for mark in PAGE_MARK.findall(self.text) for one in mark.split(",")]

    @property
    def slow(self) -> bool:
        """All of it is."""
        return "slow" in self.needs

    @property
    def blocks(self) -> list[Block]:
        return list(_blocks(self.text))


def _blocks(text: str) -> Iterator[Block]:
    marks: list[str] = []
    opened: re.Match[str] | None = None
    begun, inside = 0, list[str]()
    for number, line in enumerate(text.splitlines(), 1):
        if opened is not None:
            if line.strip() == opened[2]:
                indent = len(opened[1])
                body = "".join(f"{one[indent:]}\n" for one in inside)
                yield Block(begun, opened[3], opened[4], body, tuple(marks))
                opened, marks, inside = None, [], []
            else:
                inside.append(line)
        elif fence := FENCE.match(line):
            opened, begun = fence, number
        elif mark := MARK.match(line):
            marks += [mark[1]] if mark[1].startswith(REASON) else [one.strip() for one in mark[1].split("; ")]
        elif line.strip():
            assert not marks, f"line {number}: a remark for a test that stands above no block"
    assert opened is None, f"the block of line {begun} has no end"


def pages() -> list[Page]:
    """Every page that a user reads."""
    found = [ROOT / name for name in ("README.md", "CONTRIBUTING.md", "SECURITY.md", "CHANGELOG.md")]
    for pattern in ("docs/**/*.md", "tasks/*/README.md", "skills/*/SKILL.md"):
        found += sorted(ROOT.glob(pattern))
    return [Page(path.relative_to(ROOT).as_posix(), path.read_text(encoding="utf-8")) for path in found]
