"""Repair of a run with a damaged file.

A damaged store is rebuilt from the journal of replies: a resumed search takes the replies in its store before it asks
a model, and recomputes the rest as the undisturbed one did. Where the journal is damaged too, whatever SQLite can still
read of the store fills its gaps.
"""

from __future__ import annotations

import shutil
import sqlite3
from contextlib import closing, suppress
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from vulcan.errors import UserError
from vulcan.store.decode import MalformedRow, decode_call, decode_event
from vulcan.store.events import RunStarted
from vulcan.store.file import check_schema, connect, read
from vulcan.store.journal import Journal, JournalEntries, Turn, free_name, journal_of, read_journal
from vulcan.store.sqlite import COLUMNS_OF_CALL, DamagedRun, SQLiteStore, hash


@dataclass(frozen=True, slots=True)
class RepairReport:
    """A file of a run that was rewritten: what was wrong with it, and the number of replies now in the run.

    `backup` is the new path of the damaged file, if there was one. `lines_lost` counts the unreadable lines of the
    journal. `replies_left_out` counts, for a run answered through `ask` and `tell`, the replies after the first one
    that is lost: these questions are asked again. They stay in the damaged files.
    """

    file: Path
    damage: str
    backup: Path | None
    replies: int
    lines_lost: int
    replies_left_out: int = 0


def repair(file: Path) -> RepairReport | None:
    """Rebuild a run's file from its journal, or the journal from the file, whichever is damaged.

    None if neither is. Raises UserError where the search itself is lost, or the disk cannot be written; then the run's
    file is unchanged.
    """
    damage, left = _examine(file)
    entries = read_journal(journal_of(file))
    lost = entries.damaged + entries.torn
    if damage is None:
        with closing(SQLiteStore(file)) as store:
            problem, replies = store.recover(), store.call_totals()[0]
        return None if problem is None else RepairReport(journal_of(file), problem, None, replies, lost)
    is_whole = bool(entries.searches) and not lost
    entries.add_missing(left)
    if not entries.searches:
        raise UserError(f"nothing can be saved of {file}: what says which search it was is lost; start it again")
    found = len(entries.calls)
    if entries.questions and not is_whole:
        _drop_after_gap(entries)
    try:
        kept_as = _replace(file, entries)
        if not is_whole:
            journal = Journal(journal_of(file))
            journal.set_aside()
            journal.rewrite(entries.lines())
    except OSError as error:
        raise UserError(f"cannot write the run's file {file}: {error.strerror}") from error
    return RepairReport(file, damage, kept_as, len(entries.calls), lost, found - len(entries.calls))


def _replace(file: Path, entries: JournalEntries) -> Path | None:
    """Replace a damaged store by one with these entries, and return the new path of the damaged one."""
    new = file.with_name(f"{file.name}.new")
    new.unlink(missing_ok=True)
    try:
        with closing(SQLiteStore(new, create=True)) as store:
            store.restore(
                entries.searches,
                entries.calls.values(),
                ((time, *key) for key, time in entries.questions.items()),
            )
        backup = None
        if file.exists():
            backup = free_name(file)
            log = _with_suffix(file, "-wal")
            if log.exists():  # belongs to the damaged file: SQLite would apply its pages to the new one
                log.rename(_with_suffix(backup, "-wal"))
            _with_suffix(file, "-shm").unlink(missing_ok=True)
            file.rename(backup)
        new.rename(file)
    finally:
        for ending in ("", "-wal", "-shm"):
            _with_suffix(new, ending).unlink(missing_ok=True)
    return backup


def _drop_after_gap(entries: JournalEntries) -> None:
    """Remove what was asked after the first missing reply, so that no reply answers a different question."""
    asked: dict[Turn, str] = {}
    times = {**{key: time for key, (time, _) in entries.calls.items()}, **entries.questions}
    previous: int | None = None
    for key in sorted(times):
        proposal, turn = key
        follows = turn == 0 and previous in (None, proposal - 1)
        if not (follows or (proposal, turn - 1) in asked):
            break
        asked[key] = times[key]
        previous = proposal
        if key not in entries.calls:
            break
    entries.questions = asked
    entries.calls = {key: entry for key, entry in entries.calls.items() if key in asked}


def _examine(file: Path) -> tuple[str | None, JournalEntries]:
    """Return the damage of a run's file, None if there is none, and the readable entries of a damaged one.

    Works on a copy: SQLite would apply the write-ahead log to the file itself.
    """
    if not file.exists():
        return "it is missing", JournalEntries()
    if file.stat().st_size == 0:
        return "it is empty", JournalEntries()
    with TemporaryDirectory(prefix="vulcan-repair-") as directory:
        copy = Path(directory) / file.name
        try:
            for ending in ("", "-wal"):
                if _with_suffix(file, ending).is_file():
                    shutil.copy2(_with_suffix(file, ending), _with_suffix(copy, ending))
        except OSError as error:
            raise UserError(f"cannot copy the run's file {file} to {directory}: {error.strerror}") from error
        try:
            with closing(SQLiteStore(copy)) as store:
                store.check()
        except DamagedRun as error:
            return error.what, _readable(copy)
        except UserError as error:
            raise UserError(str(error).replace(str(copy), str(file))) from error
    return None, JournalEntries()


def _with_suffix(file: Path, ending: str) -> Path:
    return file.with_name(file.name + ending)


def _readable(file: Path) -> JournalEntries:
    """Return what SQLite can still read of a damaged file: the rows of each table before its first fault."""
    entries = JournalEntries()
    with suppress(sqlite3.Error, MalformedRow), closing(connect(file)[0]) as db:
        check_schema(db, file)

        def text_of(key: str) -> str:
            for (text,) in _rows(db, file, "SELECT text FROM texts WHERE hash = ?", key):
                if isinstance(text, str) and hash(text) == key:
                    return text
            raise MalformedRow("a text is gone")

        for time, data in _rows(db, file, "SELECT time, data FROM events WHERE kind = 'Started' ORDER BY id"):
            with suppress(MalformedRow):
                event = decode_event("Started", data, text_of)
                assert isinstance(event, RunStarted)
                entries.add_search(str(time), event)
        for time, *row in _rows(db, file, f"SELECT time, {COLUMNS_OF_CALL} FROM calls"):
            with suppress(MalformedRow):
                entries.add_call(str(time), decode_call(row, text_of))
        for time, proposal, turn in _rows(db, file, "SELECT time, proposal, turn FROM asked"):
            if isinstance(proposal, int) and isinstance(turn, int):
                entries.questions[proposal, turn] = str(time)
    return entries


def _rows(db: sqlite3.Connection, file: Path, query: str, *values: str) -> list[tuple[Any, ...]]:
    """Return the rows of a query before its first fault."""
    rows = []
    with suppress(sqlite3.Error, UnicodeDecodeError, MalformedRow):
        for row in read(db, file, query, values):
            rows.append(row)
    return rows
