"""File of a trace, link or log as readers see it: decompressed, and text as UTF-8."""

from __future__ import annotations

import codecs
import hashlib
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from vulcan.errors import UserError
from vulcan.inputs import open_regular
from vulcan_traces.parsing.compression import archive_of, decompressed

_HEAD = 1 << 20
_BLOCK = 1 << 22
_MAX_LINE = 1 << 20
_LINES_LOOKED_AT = 1000
_TAR_MAGIC_AT, _TAR_MAGIC = 257, b"ustar"
_UTF8_MARK = b"\xef\xbb\xbf"
_UTF16_MARKS = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
_CONTROL = re.compile(rb"[\x00-\x08\x0b-\x1f\x7f]")


@dataclass(frozen=True)
class Source:
    """A file, plain or compressed, and whether its malformed lines are skipped (and counted) or are
    errors."""

    path: Path
    skip_bad_lines: bool = False

    def check(self) -> None:
        """Raises UserError where there is no such file, nothing in it, or a tar archive."""
        try:
            open_regular(archive_of(self.path) or self.path).close()
        except (FileNotFoundError, NotADirectoryError):
            where = "" if self.path.is_absolute() else f" in {Path.cwd()}"
            raise UserError(f"no trace at {self.path}: there is no such file{where}") from None
        except IsADirectoryError:
            raise UserError(f"{self.path} is a directory; name a trace file") from None
        except OSError as error:
            raise UserError(f"{str(self.path)!r} cannot be read: {error.strerror}") from error
        if not self.head:
            raise UserError(f"{self.path}: the trace is empty")
        if self.head.startswith(_TAR_MAGIC, _TAR_MAGIC_AT):
            raise UserError(f"{self.path}: a tar archive; extract the file that is meant")

    @cached_property
    def head(self) -> bytes:
        """The first MiB of the decompressed content."""
        head = b""
        for chunk in decompressed(self.path):
            head += chunk
            if len(head) >= _HEAD:
                break
        return head[:_HEAD]

    @property
    def is_whole(self) -> bool:
        """True if the head is all there is."""
        return len(self.head) < _HEAD

    @cached_property
    def first_lines(self) -> tuple[bytes, ...]:
        """Up to 1,000 non-blank lines from the start, stripped."""
        lines = b"".join(self._text([self.head])).split(b"\n", _LINES_LOOKED_AT)
        whole = lines if self.is_whole and len(lines) <= _LINES_LOOKED_AT else lines[:-1]
        stripped = [line.strip() for line in whole]
        return tuple(line for line in stripped if line)

    @cached_property
    def is_text(self) -> bool:
        """True if the first lines are there and have no control characters."""
        return bool(self.first_lines) and not any(_CONTROL.search(line) for line in self.first_lines)

    def sha256(self) -> str:
        """Return the digest of the file's bytes on disk, in hex; of an archive's and the file's name in it."""
        archive = archive_of(self.path)
        try:
            with open_regular(archive or self.path) as file:
                digest = hashlib.file_digest(file, "sha256")
            if archive is not None:
                digest.update(self.path.relative_to(archive).as_posix().encode())
            return digest.hexdigest()
        except OSError as error:
            raise UserError(f"{self.path}: cannot be read: {error.strerror or error}") from error

    def malformed(self, kind: str, number: int, why: str) -> UserError:
        """Return the error for a bad line or record, numbered from 1."""
        return UserError(f"{self.path}, {kind} {number}: {why}")

    def text(self, limit: int) -> bytes:
        """Return the whole text, of at most `limit` bytes, as `line_blocks` has it. Raises UserError."""
        text = bytearray()
        for chunk in self._text(decompressed(self.path)):
            text += chunk
            if len(text) > limit:
                raise UserError(f"{self.path}: more than {limit:,} bytes of text; use a part of it")
        return bytes(text)

    def _text(self, chunks: Iterable[bytes]) -> Iterator[bytes]:
        """Yield the content as UTF-8 without its mark, with lines that end in line feeds.

        UTF-16 is known by its mark. Lines end in carriage returns alone where the head has no line feed.
        """
        is_start = True
        if self.head.startswith(_UTF16_MARKS):
            chunks = self._from_utf16(chunks)
        ends_in_returns = b"\r" in self.head and b"\n" not in self.head
        for chunk in chunks:
            plain = chunk.removeprefix(_UTF8_MARK) if is_start else chunk
            yield plain.replace(b"\r", b"\n") if ends_in_returns else plain
            is_start = False

    def _from_utf16(self, chunks: Iterable[bytes]) -> Iterator[bytes]:
        decoder = codecs.getincrementaldecoder("utf-16")(errors="replace")
        for chunk in chunks:
            yield decoder.decode(chunk).encode("utf-8", "replace")

    def line_blocks(self) -> Iterator[tuple[int, bytes]]:
        """Blocks of whole lines with the number, from 1, of the first line of each."""
        number = 1
        pending: list[bytes] = []
        pending_bytes = 0
        for chunk in self._text(decompressed(self.path)):
            pending.append(chunk)
            pending_bytes += len(chunk)
            if pending_bytes < _BLOCK:
                continue
            text = b"".join(pending)
            cut = text.rfind(b"\n") + 1
            block, rest = text[:cut], text[cut:]
            if len(rest) > _MAX_LINE:
                raise self.malformed("line", number + block.count(b"\n"), "longer than 1 MiB; is this text?")
            if block:
                yield number, block
                number += block.count(b"\n")
            pending, pending_bytes = [rest], len(rest)
        if text := b"".join(pending):
            yield number, text
