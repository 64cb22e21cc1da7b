"""The journal of replies: an append-only file next to a run's store, from which a damaged store is rebuilt.

It has one JSON object per line: first the search, then model replies and proposals handed out through `ask`, as they
happen. Each line ends with its own checksum, is written by a single `write`, and is on disk before its content is used.
A truncated or modified line is therefore detected, and does not affect the others.
"""

from __future__ import annotations

import errno
import hashlib
import json
import math
import os
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from shlex import quote
from typing import Any

from vulcan.errors import UserError
from vulcan.store.decode import MalformedRow, decode_event, decode_recorded_call
from vulcan.store.events import CallRecord, Event, RunStarted

Turn = tuple[int, int]
"""A proposal, and the turn of its chat."""

_CHECKSUM = b', "checksum": "'
_CHECKSUM_DIGITS = 16


def journal_of(path: Path) -> Path:
    """Return the path of the journal of a run's file."""
    return path.with_name(f"{path.name}.replies.jsonl")


@dataclass
class JournalEntries:
    """All data of a run that cannot be recomputed, each entry with its time; the first one of a key wins.

    `damaged` counts the lines that are not as they were written. `length` is the offset after the last whole line, and
    `torn` is true if an incomplete line follows it.
    """

    searches: list[tuple[str, RunStarted]] = field(default_factory=list)
    calls: dict[Turn, tuple[str, CallRecord]] = field(default_factory=dict)
    questions: dict[Turn, str] = field(default_factory=dict)
    damaged: int = 0
    length: int = 0
    torn: bool = False

    def add_search(self, time: str, search: RunStarted) -> None:
        """Add a search. A repetition of the last one was left by a process killed before using it, and is ignored."""
        if not self.searches or self.searches[-1][1] != search:
            self.searches.append((time, search))

    def add_call(self, time: str, call: CallRecord) -> None:
        self.calls.setdefault((call.proposal, call.turn), (time, call))

    def add_missing(self, others: JournalEntries) -> None:
        """Add the entries that only the others have."""
        self.searches = self.searches or others.searches
        self.calls = {**others.calls, **self.calls}
        self.questions = {**others.questions, **self.questions}

    def lines(self) -> Iterator[bytes]:
        """Serialize the entries to the lines of a journal."""
        for time, search in self.searches:
            yield line_of(time, search)
        for time, key in sorted((time, key) for key, time in self.questions.items()):
            yield line_of(time, key)
        for time, call in self.calls.values():
            yield line_of(time, call)


def line_of(time: str, entry: RunStarted | CallRecord | Turn) -> bytes:
    """Serialize one entry to a journal line."""
    match entry:
        case RunStarted():
            plain: dict[str, Any] = {"kind": "search", "time": time, **asdict(entry)}
        case CallRecord():
            plain = {"kind": "reply", "time": time, **asdict(entry)}
        case (proposal, turn):
            plain = {"kind": "asked", "time": time, "proposal": proposal, "turn": turn}
    return signed(json.dumps(plain, allow_nan=False).encode())


def signed(line: bytes) -> bytes:
    """Return the journal line for a JSON object: with its checksum appended."""
    text = line.removesuffix(b"}")
    return text + _CHECKSUM + _checksum(text) + b'"}\n'


def _checksum(text: bytes) -> bytes:
    return hashlib.sha256(text).hexdigest()[:_CHECKSUM_DIGITS].encode()


def read_journal(path: Path) -> JournalEntries:
    """Read a journal; empty if there is none. Raises UserError where it cannot be read."""
    entries = JournalEntries()
    try:
        with path.open("rb") as file:
            for line in file:
                if not line.endswith(b"\n"):
                    entries.torn = True
                    break
                entries.length += len(line)
                try:
                    _add_line(entries, line)
                except MalformedRow:
                    entries.damaged += 1
    except FileNotFoundError:
        pass
    except OSError as error:
        raise UserError(f"cannot read the journal of replies {path}: {error.strerror}") from error
    return entries


_MAX_DEPTH = 64
"""Nested objects and arrays in a line; what a run records has a few."""


def _finite(text: str) -> float:
    """Return a number of JSON. Raises ValueError where it is infinite, or none: it could not be written again."""
    number = float(text)
    if not math.isfinite(number):
        raise ValueError(f"{text[:20]} is no finite number")
    return number


def _is_deep(value: object) -> bool:
    """Return whether objects and arrays are nested more deeply than any that is written."""
    level = [value]
    for _ in range(_MAX_DEPTH):
        level = [
            part
            for one in level
            if isinstance(one, dict | list)
            for part in (one.values() if isinstance(one, dict) else one)
        ]
        if not level:
            return False
    return True


def _add_line(entries: JournalEntries, line: bytes) -> None:
    text, _, checksum = line.rpartition(_CHECKSUM)
    if checksum != _checksum(text) + b'"}\n':
        raise MalformedRow("a line that is not as it was written")
    try:
        plain: dict[str, Any] = json.loads(text + b"}", parse_float=_finite, parse_constant=_finite)
    except (ValueError, RecursionError) as error:
        raise MalformedRow("a line that is not JSON") from error
    if _is_deep(plain):
        raise MalformedRow("a line that is nested too deeply")
    match plain:
        case {"kind": "search", "time": str(time), **fields}:
            event: Event = decode_event("Started", json.dumps(fields), str)
            assert isinstance(event, RunStarted)
            entries.add_search(time, event)
        case {"kind": "reply", "time": str(time), **fields}:
            entries.add_call(time, decode_recorded_call(fields))
        case {"kind": "asked", "time": str(time), "proposal": int(proposal), "turn": int(turn)}:
            entries.questions.setdefault((proposal, turn), time)
        case _:
            raise MalformedRow("a line of no known kind")


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
                    _sync_directory(self.path.parent)
            end = os.fstat(self._file).st_size
            if os.write(self._file, data) != len(data):  # a short write: the disk is full
                os.ftruncate(self._file, end)
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            os.fsync(self._file)
        except OSError as error:
            raise self._unwritable(error) from error

    def cut_off(self, length: int) -> None:
        """Truncate the journal after its last whole line."""
        try:
            os.truncate(self.path, length)
        except OSError as error:
            raise self._unwritable(error) from error

    def rewrite(self, lines: Iterable[bytes]) -> None:
        """Replace the journal, if any, by a new one."""
        self.close()
        new = self.path.with_name(f"{self.path.name}.new")
        try:
            with new.open("wb") as file:
                file.writelines(lines)
                file.flush()
                os.fsync(file.fileno())
            new.replace(self.path)
            _sync_directory(self.path.parent)
        except OSError as error:
            new.unlink(missing_ok=True)
            raise self._unwritable(error) from error

    def set_aside(self) -> None:
        """Rename a journal that is damaged, or of another search, so that it is not read again."""
        self.close()
        try:
            if self.path.exists():
                self.path.rename(free_name(self.path))
        except OSError as error:
            raise self._unwritable(error) from error

    def close(self) -> None:
        if self._file is not None:
            os.close(self._file)
            self._file = None

    def _unwritable(self, error: OSError) -> UserError:
        return UserError(
            f"cannot write the journal of replies {self.path}: {error.strerror}; see that the disk works and has room, "
            f"then continue with `vulcan resume {quote(str(self.path.parent))}`"
        )


def _sync_directory(directory: Path) -> None:
    """Sync a directory, so that the name of a new file is on disk like its content."""
    opened = os.open(directory, os.O_RDONLY)
    try:
        os.fsync(opened)
    finally:
        os.close(opened)


def free_name(path: Path) -> Path:
    """Return an unused path for a damaged file."""
    number = 1
    while (name := path.with_name(f"{path.name}.damaged-{number}")).exists():
        number += 1
    return name
