"""Text of a link trace, as readers see it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from vulcan.errors import UserError
from vulcan_traces.parsing.source import Source

_MAX = 1 << 26
_COMMENTS = re.compile(rb"(?:[ \t]*#[^\n]*\n)+")


@dataclass(frozen=True)
class Text:
    """The whole content of a file, decompressed, without the lines at its start that begin with `#`."""

    source: Source
    content: bytes
    comment_lines: int

    @property
    def path(self) -> Path:
        return self.source.path

    @property
    def first_lines(self) -> tuple[bytes, ...]:
        """The first non-blank lines, stripped."""
        return self.source.first_lines[self.comment_lines :]

    @property
    def is_text(self) -> bool:
        """True if the first lines are there and have no control characters."""
        return self.source.is_text and bool(self.first_lines)

    def malformed(self, line: int, why: str) -> UserError:
        """Return the error for a bad line of the content, numbered from 1."""
        return self.source.malformed("line", self.comment_lines + line, why)


def read_text(path: Path) -> Text:
    """Return the content of a file, or of one within a zip archive. Raises UserError where there is none."""
    source = Source(path)
    source.check()
    content = source.text(_MAX)
    comments = _COMMENTS.match(content)
    start = comments.end() if comments else 0
    if not content[start:].strip():
        raise UserError(f"{path}: the trace is empty")
    return Text(source, content[start:], content.count(b"\n", 0, start))
