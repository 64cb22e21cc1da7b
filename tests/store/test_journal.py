"""The journal of replies: what is in it is durable and whole, and damage to a line is confined to it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from contextlib import closing
from pathlib import Path
from unittest.mock import patch

import pytest
from awkward_events import CALLS

from vulcan.errors import UserError
from vulcan.store import SQLiteStore
from vulcan.store.events import CallRecord, RunStarted, WinnerChosen
from vulcan.store.journal import Journal, journal_of, line_of, read_journal
from vulcan.store.runs import FILE

STARTED = RunStarted({"task": "x", "seed": 1}, "0")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A run with a reply of every kind, and something that was asked."""
    path = tmp_path / FILE
    with closing(SQLiteStore(path, create=True)) as store:
        store.append(STARTED)
        store.record_question(1, 0)
        for call in CALLS:
            store.record_call(call)
        store.append(WinnerChosen(1, "train"))
    return path


def test_each_line_is_an_object_and_the_first_says_what_the_search_is(path: Path) -> None:
    lines = [json.loads(line) for line in journal_of(path).read_text(encoding="utf-8").splitlines()]
    assert [line["kind"] for line in lines] == ["search", "asked", *["reply"] * len(CALLS)]
    assert lines[0]["config"] == STARTED.config
    assert all(line["checksum"] for line in lines)


def test_a_journal_reads_as_it_was_written(path: Path) -> None:
    entries = read_journal(journal_of(path))
    assert [search for _, search in entries.searches] == [STARTED]
    assert [call for _, call in entries.calls.values()] == list(CALLS)
    assert list(entries.questions) == [(1, 0)]
    assert b"".join(entries.lines()) == journal_of(path).read_bytes()
    assert (entries.damaged, entries.torn) == (0, False)


def test_no_byte_can_be_changed_unnoticed(path: Path) -> None:
    journal = journal_of(path)
    whole, entries = journal.read_bytes(), read_journal(journal)
    for place in range(0, len(whole), 7):
        journal.write_bytes(whole[:place] + bytes([whole[place] ^ 1]) + whole[place + 1 :])
        found = read_journal(journal)
        assert found.damaged + found.torn >= 1
        assert found.damaged <= 2  # a line, or two where what parts them is changed
        assert set(found.calls.values()) <= set(entries.calls.values())
        assert len(entries.calls) - len(found.calls) <= 2


@pytest.mark.parametrize("share", [0.2, 0.5, 0.99])
def test_a_line_whose_writing_was_cut_off_is_taken_away_and_the_next_one_is_whole(path: Path, share: float) -> None:
    journal = journal_of(path)
    extra = line_of("2026-01-01", CallRecord(77, 0, (), "y", "m", "stop", 1, 1, 0.5, 1.0))
    with journal.open("ab") as file:
        file.write(extra[: int(len(extra) * share)])
    with closing(SQLiteStore(path)) as store:
        store.record_question(78, 0)
    entries = read_journal(journal)
    assert (entries.damaged, entries.torn, list(entries.questions)) == (0, False, [(1, 0), (78, 0)])
    assert [call for _, call in entries.calls.values()] == list(CALLS)


def test_a_reply_is_in_the_journal_and_on_disk_before_the_file_has_it(path: Path) -> None:
    done: list[str] = []
    with closing(SQLiteStore(path)) as store:
        store._db.set_trace_callback(done.append)
        real = os.fsync

        def synced(file: int) -> None:
            real(file)
            done.append("fsync")

        with patch("os.fsync", synced):
            store.record_call(CallRecord(77, 0, (), "y", "m", "stop", 1, 1, 0.5, 1.0))
    assert done.index("fsync") < done.index("BEGIN IMMEDIATE")


def test_where_there_is_no_room_the_journal_stays_as_it_was(path: Path) -> None:
    before = journal_of(path).read_bytes()
    write = (
        "import resource, sys; from pathlib import Path; from vulcan.store.journal import Journal; "
        f"resource.setrlimit(resource.RLIMIT_FSIZE, ({len(before) + 10}, -1)); "
        "Journal(Path(sys.argv[1])).append(b'x' * 99 + bytes([10]))"
    )
    done = subprocess.run([sys.executable, "-c", write, journal_of(path)], capture_output=True, text=True, check=False)
    said = done.stderr.splitlines()[-1]
    assert "cannot write the journal of replies" in said
    assert "see that the disk works and has room, then continue with `vulcan resume" in said
    assert journal_of(path).read_bytes() == before


def test_a_journal_of_another_search_is_set_aside_and_nothing_of_it_is_used(path: Path, tmp_path: Path) -> None:
    other = tmp_path / "other" / FILE
    other.parent.mkdir()
    with closing(SQLiteStore(other, create=True)) as store:
        store.append(RunStarted({"task": "another"}, "0"))
        store.record_call(CallRecord(77, 0, (), "y", "m", "stop", 1, 1, 0.5, 1.0))
    journal_of(other).rename(journal_of(path))
    with closing(SQLiteStore(path)) as store:
        problem = store.recover()
        assert problem is not None
        assert "is of another search; it is written again from run.db" in problem
        assert store.call(77, 0) is None
    assert len(read_journal(journal_of(path)).calls) == len(CALLS)


def test_a_journal_that_cannot_be_read_is_told_in_a_line(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="cannot read the journal of replies"):
        read_journal(tmp_path)
    with pytest.raises(UserError, match="cannot write the journal of replies"):
        Journal(tmp_path).append(b"x")
