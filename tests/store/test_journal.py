"""The journal of replies: what is in it is durable and whole, and damage to a line is confined to it."""

from __future__ import annotations

import os
import sqlite3
from contextlib import closing
from pathlib import Path
from unittest.mock import patch

import pytest
from awkward_events import CALLS

from vulcan.errors import UserError
from vulcan.store import SQLiteStore
from vulcan.store.events import ENTRIES, CallRecord, Entry, QuestionAsked, RunStarted, WinnerChosen
from vulcan.store.journal import Journal, SavedEntries, journal_of, read_journal
from vulcan.store.recovery import repair
from vulcan.store.runs import FILE
from vulcan.store.sqlite import DamagedRun

STARTED = RunStarted({"task": "x", "seed": 1}, "0")
CALL = CallRecord(77, 0, (), "y", "m", "stop", 1, 1, 0.5, 1.0)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A run with a reply of every kind, and something that was asked."""
    path = tmp_path / FILE
    with closing(SQLiteStore(path, create=True)) as store:
        store.append(STARTED)
        store.record(QuestionAsked(1, 0))
        for call in CALLS:
            store.record(call)
        store.append(WinnerChosen(1, "train"))
    return path


def entries_of(content: SavedEntries) -> list[Entry]:
    return [entry for _, entry in content.of(*ENTRIES.values())]


def test_a_journal_reads_as_it_was_written(path: Path) -> None:
    content = read_journal(journal_of(path))
    assert entries_of(content) == [STARTED, QuestionAsked(1, 0), *CALLS]
    assert (content.damaged, content.torn) == (0, False)


@pytest.mark.parametrize("share", [0.2, 0.5, 0.99])
def test_a_line_whose_writing_was_cut_off_is_taken_away_and_the_next_one_is_whole(path: Path, share: float) -> None:
    journal = journal_of(path)
    extra = journal.read_bytes().splitlines(keepends=True)[-1]
    with journal.open("ab") as file:
        file.write(extra[: int(len(extra) * share)])
    with closing(SQLiteStore(path)) as store:
        store.record(QuestionAsked(78, 0))
    content = read_journal(journal)
    assert (content.damaged, content.torn) == (0, False)
    assert entries_of(content) == [STARTED, QuestionAsked(1, 0), *CALLS, QuestionAsked(78, 0)]


def test_a_reply_is_in_the_journal_after_the_file_has_it(path: Path) -> None:
    """What the journal knows and the file does not is therefore lost from the file."""
    done: list[str] = []
    with closing(SQLiteStore(path)) as store:
        store.recover()
        store._db.set_trace_callback(done.append)
        real = os.fsync

        def synced(file: int) -> None:
            real(file)
            done.append("fsync")

        with patch("os.fsync", synced):
            store.record(CALL)
    assert done.index("COMMIT") < done.index("fsync")


@pytest.mark.parametrize("lines", [0, 1, 3])
def test_what_a_killed_process_did_not_write_to_it_is_appended(path: Path, lines: int) -> None:
    journal = journal_of(path)
    whole = journal.read_bytes().splitlines(keepends=True)
    journal.write_bytes(b"".join(whole[: len(whole) - lines]))
    with closing(SQLiteStore(path)) as store:
        assert store.recover() is None
    assert journal.read_bytes() == b"".join(whole)


def test_the_file_that_lacks_what_the_journal_knows_is_damaged(path: Path) -> None:
    """As where a write-ahead log was lost: an earlier state of the file, or none of its rows, is sound by itself."""
    for keep in ("1000000", "3", "0"):
        with closing(sqlite3.connect(path)) as db:
            db.execute("DELETE FROM events WHERE id > ?", (int(keep),))
            db.execute("UPDATE sqlite_sequence SET seq = ?", (int(keep),))
            db.commit()
        with closing(SQLiteStore(path)) as store:
            if keep == "1000000":
                continue
            with pytest.raises(DamagedRun, match=r"is gone, and its journal goes on; `vulcan repair"):
                list(store.events())
    done = repair(path)
    assert done is not None
    assert done.replies == len(CALLS)
    with closing(SQLiteStore(path)) as store:
        assert sorted(store.calls(), key=CALLS.index) == list(CALLS)


def test_two_processes_that_write_to_one_run_are_told(path: Path) -> None:
    """As where the lock of the run was removed."""
    with closing(SQLiteStore(path)) as one, closing(SQLiteStore(path)) as other:
        one.append(WinnerChosen(1, "train"))
        other.append(WinnerChosen(2, "train"))
        with pytest.raises(UserError, match="another process writes to"):
            one.append(WinnerChosen(3, "train"))


def test_a_journal_that_is_removed_while_it_is_written_to_is_an_error(path: Path) -> None:
    with closing(SQLiteStore(path)) as store:
        store.record(CALL)
        journal_of(path).unlink()
        with pytest.raises(UserError, match=r"was removed or replaced .* `vulcan resume .*writes it again"):
            store.record(QuestionAsked(78, 0))


def test_a_journal_that_cannot_be_read_is_told_in_a_line(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="cannot read the journal of replies"):
        read_journal(tmp_path)
    with pytest.raises(UserError, match="cannot write the journal of replies"):
        Journal(tmp_path).append(b"x")
