"""Changes to a program as blocks of lines to search for and lines to put in their place. Text is only read here."""

from __future__ import annotations

import difflib
import re
from collections.abc import Sequence
from dataclasses import dataclass

from vulcan.models.no_source import NoSource

_SEARCH = re.compile(r"([ \t]*)<{5,9}[ \t]*SEARCH\b.*\Z", re.IGNORECASE)
_MIDDLE = re.compile(r"[ \t]*={5,9}[ \t]*\Z")
_REPLACE = re.compile(r"[ \t]*>{5,9}[ \t]*REPLACE\b.*\Z", re.IGNORECASE)
_LONGEST_QUOTE = 100
_WHOLE = "or give the complete module in one Python code block"


@dataclass(frozen=True, slots=True)
class Change:
    """One block: lines that are in the program, and those that take their place."""

    search: tuple[str, ...]
    replace: tuple[str, ...]


def has_changes(text: str) -> bool:
    """Whether a reply holds the beginning of a block."""
    return any(_SEARCH.match(line) for line in text.split("\n"))


def read_changes(text: str) -> tuple[Change, ...]:
    """The blocks of a reply, in their order. Raises NoSource with the rule `diff-malformed`."""
    found: list[Change] = []
    search: list[str] = []
    replace: list[str] = []
    part, indent = "", ""
    for line in text.split("\n"):
        if (match := _SEARCH.match(line)) is not None:
            if part:
                raise _malformed(len(found) + 1, "begins before the block above it has ended")
            part, indent, search, replace = "search", match[1], [], []
        elif part == "search" and _MIDDLE.match(line):
            part = "replace"
        elif part and _REPLACE.match(line):
            if part == "search":
                raise _malformed(len(found) + 1, "has no line ======= between its two parts")
            found.append(Change(tuple(search), tuple(replace)))
            part = ""
        elif part:
            (search if part == "search" else replace).append(line.removeprefix(indent))
    if part:
        raise _malformed(len(found) + 1, "has no line >>>>>>> REPLACE at its end")
    return tuple(found)


def apply_changes(source: str, changes: Sequence[Change]) -> str:
    """The program after all changes, made one after the other.

    A change's lines must occur exactly once. Where they do not, lines that differ in their white space only are taken,
    and the new lines are indented as those are. Raises NoSource with the rule `diff-empty-search`, `diff-no-match`,
    `diff-ambiguous` or `diff-no-change`.
    """
    before = source.rstrip("\n").split("\n")
    lines = before
    for number, change in enumerate(changes, 1):
        lines = _changed(lines, change, number)
    if lines == before:
        raise NoSource("diff-no-change", "the blocks leave the program as it was", f"change something, {_WHOLE}")
    return "\n".join(lines) + "\n"


def _changed(lines: list[str], change: Change, number: int) -> list[str]:
    if not any(line.strip() for line in change.search):
        raise NoSource(
            "diff-empty-search",
            f"block {number} has nothing to search for",
            "to insert lines, search for the line before them and repeat it among the new ones",
        )
    places = _places(lines, change.search)
    if len(places) == 1:
        start = places[0]
        return [*lines[:start], *change.replace, *lines[start + len(change.search) :]]
    if places:
        raise _ambiguous(number, len(places))
    return _loosely_changed(lines, change, number)


def _loosely_changed(lines: list[str], change: Change, number: int) -> list[str]:
    """As `_changed`, by lines that agree but for their white space; empty ones at either end do not count."""
    search, replace = _trimmed(change.search), _trimmed(change.replace)
    places = _places([_plain(line) for line in lines], [_plain(line) for line in search])
    if not places:
        raise _no_match(lines, search, number)
    if len(places) > 1:
        raise _ambiguous(number, len(places))
    start = places[0]
    new = _indented(replace, _indent(search[0]), _indent(lines[start]))
    return [*lines[:start], *new, *lines[start + len(search) :]]


def _places(lines: Sequence[str], search: Sequence[str]) -> list[int]:
    count = len(search)
    wanted = list(search)
    return [start for start in range(len(lines) - count + 1) if list(lines[start : start + count]) == wanted]


def _trimmed(lines: Sequence[str]) -> list[str]:
    filled = [index for index, line in enumerate(lines) if line.strip()]
    return list(lines[filled[0] : filled[-1] + 1]) if filled else []


def _plain(line: str) -> str:
    return " ".join(line.split())


def _indent(line: str) -> str:
    return line[: len(line) - len(line.lstrip())]


def _indented(lines: Sequence[str], old: str, new: str) -> list[str]:
    """The lines with another indentation than the old one; one that lies further left stays where it can."""
    moved: list[str] = []
    for line in lines:
        if not line.strip():
            moved.append("")
        elif line.startswith(old):
            moved.append(new + line.removeprefix(old))
        else:
            moved.append(new[: max(0, len(new) - len(old) + len(_indent(line)))] + line.lstrip())
    return moved


def _no_match(lines: Sequence[str], search: Sequence[str], number: int) -> NoSource:
    """Names the first line that is not in the program, with the one most like it, or else that the order differs."""
    known = {_plain(line) for line in lines}
    missing = next((line for line in search if _plain(line) and _plain(line) not in known), None)
    if missing is None:
        return NoSource(
            "diff-no-match",
            f"the lines that block {number} searches for do not stand together in this order",
            f"copy consecutive lines as they are, {_WHOLE}",
        )
    near = difflib.get_close_matches(missing.strip(), [line.strip() for line in lines if line.strip()], 1, 0.6)
    meant = f"; the nearest line is `{_quoted(near[0])}`" if near else ""
    return NoSource(
        "diff-no-match",
        f"block {number} searches for `{_quoted(missing.strip())}`, which is not in the program{meant}",
        f"copy the lines as they are, abbreviate nothing, {_WHOLE}",
    )


def _quoted(line: str) -> str:
    return line if len(line) <= _LONGEST_QUOTE else f"{line[:_LONGEST_QUOTE]}..."


def _ambiguous(number: int, count: int) -> NoSource:
    return NoSource(
        "diff-ambiguous",
        f"the lines that block {number} searches for occur {count} times",
        f"search for more lines, so that they occur once, {_WHOLE}",
    )


def _malformed(number: int, what: str) -> NoSource:
    return NoSource(
        "diff-malformed",
        f"block {number} {what}",
        f"write a line <<<<<<< SEARCH, the old lines, a line =======, the new lines, a line >>>>>>> REPLACE, {_WHOLE}",
    )
