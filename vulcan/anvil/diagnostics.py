"""Violations and warnings shown in their source context, for people and for the model that has to fix them."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence

from vulcan.documents.policy import Remark

_WIDTH = 100
_BEFORE = 60
_TAB = "    "
_CUT = "..."


def explain(source: str, findings: Sequence[Remark]) -> str:
    """Format each violation or warning with its source line, a caret under its column, and a hint."""
    return "\n".join(line for finding in findings for line in explained(source, finding))


def explained(source: str, finding: Remark) -> list[str]:
    """Return the lines that explain one violation or warning."""
    made = [f"line {finding.line}, column {finding.column}: [{finding.rule}] {finding.message}"]
    text, caret = excerpt(source, finding.line, finding.column)
    if text.strip():
        made += [_TAB + text, _TAB + " " * caret + "^"]
    return [*made, f"  hint: {finding.hint}"]


def excerpt(source: str, line: int, column: int) -> tuple[str, int]:
    """Return a source line, cut to the context of the column, and the terminal cells before the column.

    Tabs become spaces, and unprintable characters become question marks.
    """
    text = _line(source, line)
    start = max(0, min(column - 1, len(text)) - _BEFORE)
    start = 0 if start <= len(_CUT) else start
    shown = text[start : start + _WIDTH]
    head, tail = shown[: column - 1 - start], shown[column - 1 - start :]
    before = (_CUT if start else "") + _printable(head)
    after = _printable(tail) + (_CUT if start + _WIDTH < len(text) else "")
    return (before + after).rstrip(), sum(map(_cells, before))


def _line(source: str, line: int) -> str:
    """Return one line without splitting the rest of a source that may be very large."""
    start = 0
    for _ in range(line - 1):
        end = _END.search(source, start)
        if end is None:
            return ""
        start = end.end()
    end = _END.search(source, start)
    return source[start : end.start() if end else len(source)]


_END = re.compile("\r\n|\r|\n")


def _printable(text: str) -> str:
    return "".join(_TAB if c == "\t" else c if c.isprintable() else "?" for c in text)


def _cells(character: str) -> int:
    if unicodedata.combining(character):
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1
