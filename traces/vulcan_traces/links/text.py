"""Text of a link trace, as readers see it."""

from __future__ import annotations

import lzma
import re
import zipfile
import zlib
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from vulcan.errors import UserError
from vulcan_traces.parsing.source import Source, decompressed

_LINES_LOOKED_AT = 1000
_CONTROL = re.compile(rb"[\x00-\x08\x0b-\x1f\x7f]")
_UTF8_MARK = b"\xef\xbb\xbf"
_DAMAGED = (
    OSError,
    EOFError,
    ValueError,
    RuntimeError,
    MemoryError,
    zlib.error,
    lzma.LZMAError,
    zipfile.BadZipFile,
)
"""Exceptions of `zipfile` for damaged, encrypted or unsupported archives."""


@dataclass(frozen=True)
class Text:
    """The whole content of a file, decompressed, without a mark of UTF-8."""

    path: Path
    content: bytes

    @cached_property
    def first_lines(self) -> tuple[bytes, ...]:
        """Up to 1,000 non-blank lines from the start, stripped."""
        stripped = (line.strip() for line in self.content.split(b"\n", _LINES_LOOKED_AT)[:_LINES_LOOKED_AT])
        return tuple(line for line in stripped if line)

    @cached_property
    def is_text(self) -> bool:
        """True if the first lines are there and have no control characters."""
        return bool(self.first_lines) and not any(_CONTROL.search(line) for line in self.first_lines)

    def malformed(self, line: int, why: str) -> UserError:
        """Return the error for a bad line, numbered from 1."""
        return UserError(f"{self.path}, line {line}: {why}")


def read_text(path: Path) -> Text:
    """Return the content of a file, or of one within a zip archive. Raises UserError where there is none."""
    archive = next((parent for parent in path.parents if parent.suffix == ".zip" and parent.is_file()), None)
    if archive is None:
        Source(path).check()
        content = b"".join(decompressed(path))
    else:
        content = _member(archive, path.relative_to(archive).as_posix())
    content = content.removeprefix(_UTF8_MARK)
    if not content.strip():
        raise UserError(f"{path}: the trace is empty")
    return Text(path, content)


def _member(archive: Path, name: str) -> bytes:
    try:
        with zipfile.ZipFile(archive) as opened:
            return opened.read(name)
    except KeyError:
        raise UserError(f"{archive}: there is no {name} in this archive") from None
    except _DAMAGED as error:
        raise UserError(f"{archive}: cannot be read: {error}") from error
