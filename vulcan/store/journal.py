"""The journal: a second record of what cannot be computed again, from which a damaged store is rebuilt.

It is an append-only file next to a run's store, with the rows of the log that hold searches, replies, questions,
instructions and stops, one JSON object per line. Each line ends with its own checksum and is written by a single
`write`, right after the store has the row: so a journal that knows a row which the store does not have, or has
otherwise, shows that the store is damaged, or of another search.
"""

from __future__ import annotations

import errno
import hashlib
import json
import os
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from shlex import quote
from typing import Any

from vulcan.errors import UserError
from vulcan.files import replace_file, sync_directory
from vulcan.store.base import arrival_key
from vulcan.store.decode import MalformedRow, parse_fields
from vulcan.store.events import JOURNALED, CallRecord, Entry, RunStarted
from vulcan.store.rows import PromptReader, Row, check_depth, without_prompt

_CHECKSUM = b', "checksum": "'
_CHECKSUM_DIGITS = 16
_TAIL = 1 << 20  # bytes at the end of a journal in which its last line is looked for
_KINDS = {kind.__name__ for kind in JOURNALED}


def journal_of(path: Path) -> Path:
    """Return the path of the journal of a run's file."""
    return path.with_name(f"{path.name}.replies.jsonl")


def is_journaled(row: Row) -> bool:
    return row.kind in _KINDS


@dataclass
class SavedEntries:
    """What can be saved of a run's records: each entry with the row that it had, and its time, once."""

    _found: dict[object, tuple[int, str, Entry, bool]] = field(default_factory=dict)

    def add(self, row: Row, reader: PromptReader) -> bool:
        """Add the entry of a row, and return whether all of it is there. Raises MalformedRow."""
        whole = True
        try:
            entry = reader.decode(row.kind, row.data)
        except MalformedRow:
            if row.kind != CallRecord.__name__:
                raise
            entry, whole = without_prompt(row.data), False  # the reply may have been paid for
        if isinstance(entry, JOURNALED):
            self._add(row.id, row.time, entry, whole)
        return whole

    def _add(self, row: int, time: str, entry: Entry, whole: bool) -> None:
        key = arrival_key(entry) or json.dumps([type(entry).__name__, repr(entry)])
        if key not in self._found or (whole and not self._found[key][3]):
            self._found[key] = (row, time, entry, whole)

    def add_missing(self, others: SavedEntries) -> None:
        """Add what only the others have, or have whole."""
        for row, time, entry, whole in others._found.values():
            self._add(row, time, entry, whole)

    def of(self, *kinds: type[Entry]) -> list[tuple[str, Entry]]:
        """Return the entries of these kinds in order, with their times."""
        found = sorted((each for each in self._found.values() if isinstance(each[2], kinds)), key=lambda each: each[0])
        return [(time, entry) for _, time, entry, _ in found]

    @property
    def search(self) -> Entry | None:
        """The first search; None where it is lost."""
        return next((entry for _, entry in self.of(RunStarted)), None)


@dataclass
class JournalContent(SavedEntries):
    """The content of a journal: `digests` has that of each row.

    `damaged` counts the lines that are not as they were written; `torn` is true if an incomplete line follows the last.
    """

    digests: dict[int, bytes] = field(default_factory=dict)
    damaged: int = 0
    torn: bool = False


def line_of(row: Row) -> bytes:
    """Serialize a row to a journal line."""
    head = json.dumps({"row": row.id, "time": row.time, "kind": row.kind, "digest": row.digest.hex()})
    return signed(f'{head.removesuffix("}")}, "data": {row.data}}}'.encode())


def signed(line: bytes) -> bytes:
    """Return the journal line for a JSON object: with its checksum appended."""
    text = line.removesuffix(b"}")
    return text + _CHECKSUM + _checksum(text) + b'"}\n'


def _checksum(text: bytes) -> bytes:
    return hashlib.sha256(text).hexdigest()[:_CHECKSUM_DIGITS].encode()


def read_journal(path: Path) -> JournalContent:
    """Read a journal; empty if there is none. Raises UserError where it cannot be read."""
    content, data = JournalContent(), dict[int, str]()
    reader = PromptReader(data.get)
    try:
        with path.open("rb") as file:
            for line in file:
                if not line.endswith(b"\n"):
                    content.torn = True
                    break
                try:
                    row = _parse(line)
                    data[row.id] = row.data
                    content.damaged += not content.add(row, reader)
                    content.digests[row.id] = row.digest
                except MalformedRow:
                    content.damaged += 1
    except FileNotFoundError:
        pass
    except OSError as error:
        raise UserError(f"cannot read the journal of replies {path}: {error.strerror}") from error
    return content


def last_mark(path: Path) -> tuple[int, bytes] | None:
    """Return the row and the digest that the last whole line of a journal names; None if there is none."""
    with suppress(OSError), path.open("rb") as file:
        file.seek(max(0, file.seek(0, os.SEEK_END) - _TAIL))
        for line in reversed(file.read().split(b"\n")[:-1]):
            with suppress(MalformedRow):
                row = _parse(line + b"\n")
                return row.id, row.digest
    return None


def _parse(line: bytes) -> Row:
    text, _, checksum = line.rpartition(_CHECKSUM)
    if checksum != _checksum(text) + b'"}\n':
        raise MalformedRow("a line that is not as it was written")
    plain: dict[str, Any] = parse_fields(text + b"}")
    check_depth(plain)
    match plain:
        case {"row": int(row), "time": str(time), "kind": str(kind), "digest": str(digest), "data": dict(data)}:
            with suppress(ValueError):
                return Row(row, time, kind, json.dumps(data), bytes.fromhex(digest))
    raise MalformedRow("a line of no known form")


class Journal:
    """The writer of a run's journal."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._file: int | None = None

    def append(self, *lines: bytes) -> None:
        """Append lines durably. Raises UserError where that fails; then none of them is written."""
        data = b"".join(lines)
        try:
            if self._file is None:
                is_new = not self.path.exists()
                flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW
                self._file = os.open(self.path, flags, 0o666)
                if is_new:
                    sync_directory(self.path.parent)
            status = os.fstat(self._file)
            if identity(self.path) != (status.st_dev, status.st_ino):
                raise UserError(
                    f"the journal of replies {self.path} was removed or replaced while it was in use; "
                    f"{_continue(self.path)}, which writes it again"
                )
            if os.write(self._file, data) != len(data):  # a short write: the disk is full
                os.ftruncate(self._file, status.st_size)
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            os.fsync(self._file)
        except OSError as error:
            raise self._unwritable(error) from error

    def rewrite(self, lines: Iterable[bytes]) -> None:
        """Replace the journal, if any, by a new one."""
        self.close()
        try:
            replace_file(self.path, b"".join(lines))
        except OSError as error:
            raise self._unwritable(error) from error

    def set_aside(self) -> Path | None:
        """Rename a journal that is damaged, or of another search, so that it is not read again; return its new path."""
        self.close()
        try:
            return self.path.rename(free_name(self.path)) if self.path.exists() else None
        except OSError as error:
            raise self._unwritable(error) from error

    def close(self) -> None:
        if self._file is not None:
            os.close(self._file)
            self._file = None

    def _unwritable(self, error: OSError) -> UserError:
        return UserError(
            f"cannot write the journal of replies {self.path}: {error.strerror}; see that the disk works and has room, "
            f"then {_continue(self.path)}"
        )


def _continue(path: Path) -> str:
    return f"continue with `vulcan resume {quote(str(path.parent))}`"


def identity(path: Path) -> tuple[int, int] | None:
    """Return what tells a file from another one at its path; None if there is none."""
    try:
        status = path.stat()
    except OSError:
        return None
    return status.st_dev, status.st_ino


def free_name(path: Path) -> Path:
    """Return an unused path for a damaged file."""
    number = 1
    while (name := path.with_name(f"{path.name}.damaged-{number}")).exists():
        number += 1
    return name
