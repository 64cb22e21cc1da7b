"""Repair of a run with a damaged file.

A damaged store is rebuilt from the journal of replies: a resumed search takes the replies in its store before it asks
a model, and recomputes the rest as the undisturbed one did. Where the journal is damaged too, whatever SQLite can still
read of the store fills its gaps.
"""

from __future__ import annotations

import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing, suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from vulcan.documents.run import RepairedFile
from vulcan.errors import UserError
from vulcan.store.base import Store, Turn, turn_of
from vulcan.store.decode import MalformedRow
from vulcan.store.events import CallRecord, Entry, InstructionTaken, QuestionAsked, RunStarted
from vulcan.store.file import check_schema, connect, read
from vulcan.store.journal import (
    Journal,
    JournalContent,
    SavedEntries,
    free_name,
    is_journaled,
    journal_of,
    read_journal,
)
from vulcan.store.rows import FIRST, PromptReader, Row
from vulcan.store.sqlite import DamagedRun, SQLiteStore


def repair(file: Path, check: Callable[[Store], None] = lambda _: None) -> RepairedFile | None:
    """Rebuild a run's file from its journal, or the journal from the file, whichever is damaged.

    `check` raises DamagedRun for a store that is as it was written, and contradicts itself. None if nothing is damaged.
    Raises UserError where the search itself is lost, or the disk cannot be written; then the run's file is unchanged.
    """
    journal = journal_of(file)
    content = read_journal(journal)
    damage, rows = _examine(file, check)
    saved = _saved(rows)
    if damage is None:
        digests = {row.id: row.digest for row in rows}
        agree = all(digests.get(row) == digest for row, digest in content.digests.items())
        if agree or content.search is None or saved.search not in (None, content.search):
            aside, fault = None, ""
            if not agree:
                aside, fault = Journal(journal).set_aside(), f"the journal of replies {journal} is of another search; "
            with closing(SQLiteStore(file)) as store:
                fault += store.recover() or ""
            lost = content.damaged + content.torn
            return RepairedFile(str(journal), fault, _text(aside), len(saved.of(CallRecord)), lost) if fault else None
        damage = "its journal goes on behind its end"
    return _rebuild(file, damage, content, saved)


def _text(path: Path | None) -> str | None:
    return None if path is None else str(path)


def _rebuild(file: Path, damage: str, content: JournalContent, saved: SavedEntries) -> RepairedFile:
    """Replace a run's file and its journal by new ones with what is left in the two."""
    lost = content.damaged + content.torn
    is_whole = content.search is not None and not lost
    if content.search is None or saved.search in (None, content.search):
        content.add_missing(saved)
    if content.search is None:
        raise UserError(f"nothing can be saved of {file}: what says which search it was is lost; start it again")
    entries = content.of(RunStarted, CallRecord, QuestionAsked, InstructionTaken)
    calls = len(content.of(CallRecord))
    if content.of(QuestionAsked) and not is_whole:
        entries = _before_gap(entries)
    try:
        backup = _replace(file, entries, is_whole)
    except OSError as error:
        raise UserError(f"cannot write the run's file {file}: {error.strerror}") from error
    left = sum(isinstance(entry, CallRecord) for _, entry in entries)
    return RepairedFile(str(file), damage, _text(backup), left, lost, calls - left)


def _replace(file: Path, entries: list[tuple[str, Entry]], is_whole: bool) -> Path | None:
    """Replace a damaged store by one with these entries, and return the new path of the damaged one."""
    new = file.with_name(f"{file.name}.new")
    leftovers = [new, journal_of(new), *(_with_suffix(new, ending) for ending in ("-wal", "-shm"))]
    try:
        for path in leftovers:
            path.unlink(missing_ok=True)
        with closing(SQLiteStore(new, create=True)) as store:
            store.restore(entries)
        backup = None
        if file.exists():
            backup = free_name(file)
            log = _with_suffix(file, "-wal")
            if log.exists():  # belongs to the damaged file: SQLite would apply its pages to the new one
                log.rename(_with_suffix(backup, "-wal"))
            _with_suffix(file, "-shm").unlink(missing_ok=True)
            file.rename(backup)
        new.rename(file)
        if not is_whole:
            Journal(journal_of(file)).set_aside()
        journal_of(new).replace(journal_of(file))
    finally:
        for path in leftovers:
            path.unlink(missing_ok=True)
    return backup


def _before_gap(entries: list[tuple[str, Entry]]) -> list[tuple[str, Entry]]:
    """Leave out what was asked after the first missing reply, so that no reply answers a different question."""
    answered = {turn_of(entry) for _, entry in entries if isinstance(entry, CallRecord)}
    asked: set[Turn] = set()
    previous: int | None = None
    for turn in sorted({turn_of(entry) for _, entry in entries if isinstance(entry, CallRecord | QuestionAsked)}):
        follows = turn[1] == 0 and previous in (None, turn[0] - 1)
        if not (follows or (turn[0], turn[1] - 1) in asked):
            break
        asked.add(turn)
        previous = turn[0]
        if turn not in answered:
            break
    return [
        (time, entry)
        for time, entry in entries
        if not isinstance(entry, CallRecord | QuestionAsked) or turn_of(entry) in asked
    ]


def _examine(file: Path, check: Callable[[Store], None]) -> tuple[str | None, list[Row]]:
    """Return the damage of a run's file, None if there is none, and its readable rows.

    Works on a copy: SQLite would apply the write-ahead log to the file itself.
    """
    if not file.exists():
        return "it is missing", []
    if file.stat().st_size == 0:
        return "it is empty", []
    with TemporaryDirectory(prefix="vulcan-repair-") as directory:
        copy = Path(directory) / file.name
        try:
            for ending in ("", "-wal"):
                if _with_suffix(file, ending).is_file():
                    shutil.copy2(_with_suffix(file, ending), _with_suffix(copy, ending))
        except OSError as error:
            raise UserError(f"cannot copy the run's file {file} to {directory}: {error.strerror}") from error
        damage = None
        try:
            with closing(SQLiteStore(copy)) as store:
                store.check()
                check(store)
        except DamagedRun as error:
            damage = error.what
        except UserError as error:
            raise UserError(str(error).replace(str(copy), str(file))) from error
        return damage, _readable(copy)


def _with_suffix(file: Path, ending: str) -> Path:
    return file.with_name(file.name + ending)


def _readable(file: Path) -> list[Row]:
    """Return the rows that SQLite can still read of a file, and that are as they were written."""
    rows: list[Row] = []
    with suppress(sqlite3.Error, MalformedRow), closing(connect(file)[0]) as db:
        check_schema(db, file)
        with suppress(sqlite3.Error, UnicodeDecodeError, MalformedRow):
            for row in read(db, file, "SELECT id, time, kind, data, digest FROM events ORDER BY id"):
                rows.append(Row(*row))
    digests: dict[Any, Any] = {0: FIRST, **{row.id: row.digest for row in rows}}
    return [row for row in rows if isinstance(digests.get(row.id - 1), bytes) and row.follows(digests[row.id - 1])]


def _saved(rows: list[Row]) -> SavedEntries:
    """Return what cannot be computed again of the rows of a file."""
    saved, reader = SavedEntries(), PromptReader({row.id: row.data for row in rows}.get)
    for row in filter(is_journaled, rows):
        with suppress(MalformedRow):
            saved.add(row, reader)
    return saved
