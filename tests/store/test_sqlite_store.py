"""What is particular to a run on disk."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
import tempfile
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest
from awkward_events import CALLS, EVENTS, rows

from vulcan.errors import UserError
from vulcan.store import SQLiteStore, sqlite
from vulcan.store.events import CandidateProposed, RunStarted, WinnerChosen
from vulcan.store.sqlite import FORMAT

WRITER = """
import sys
from pathlib import Path
from vulcan.store import SQLiteStore
from vulcan.store.events import CallRecord, CandidateJudged, CandidateProposed

store = SQLiteStore(Path(sys.argv[1]), create=True)
for n in range(1, 1_000_000):
    proposed = CandidateProposed(n, 1, "initial", (), n, "m")
    source = f"source {n}" * 50
    judged = CandidateJudged(n, n, 0, source, str(n), "scored", "", (), 1, 1, None, n / 7, (("a", {"x": n / 3}),))
    store.append(proposed, judged)
    store.record(CallRecord(n, 0, (("user", "hello"),), f"reply {n}", "m", "stop", n, n, None, 0.5))
    print(n, flush=True)
"""

STRANGER = """
import os, sys
from pathlib import Path
from vulcan.store import SQLiteStore
import vulcan.store.decode

if os.geteuid() == 0:
    os.setuid(65534)
print(len(list(SQLiteStore(Path(sys.argv[1])).events())))
"""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "run.db"


def filled(path: Path) -> None:
    with closing(SQLiteStore(path, create=True)) as store:
        store.append(*EVENTS)
        for call in CALLS:
            store.record(call)


def one_line(caught: pytest.ExceptionInfo[UserError], path: Path) -> str:
    message = str(caught.value)
    assert "\n" not in message
    assert str(path) in message
    return message


# What is written stays


def test_reading_a_run_changes_nothing_on_disk(path: Path) -> None:
    """Such as a recorded run under version control."""
    filled(path)
    rows(path, "PRAGMA journal_mode = DELETE")
    before = {file.name: file.read_bytes() for file in path.parent.iterdir()}
    with closing(SQLiteStore(path)) as store:
        assert list(store.events()) == list(EVENTS)
    assert {file.name: file.read_bytes() for file in path.parent.iterdir()} == before


@pytest.mark.parametrize("mode", ["WAL", "DELETE"])
def test_a_run_in_a_directory_that_cannot_be_written_is_read(mode: str) -> None:
    """Such as a colleague's, or one in an archive."""
    with tempfile.TemporaryDirectory() as directory:  # pytest's own is closed to other users
        path = Path(directory) / "run.db"
        filled(path)
        rows(path, f"PRAGMA journal_mode = {mode}")
        Path(directory).chmod(0o555)
        read = subprocess.run([sys.executable, "-c", STRANGER, str(path)], check=False, capture_output=True, text=True)
        assert (read.stdout, read.stderr) == (f"{len(EVENTS)}\n", "")
        Path(directory).chmod(0o755)


@pytest.mark.parametrize("acknowledged", [1, 40])
def test_nothing_that_was_acknowledged_is_lost_when_the_writer_is_killed(path: Path, acknowledged: int) -> None:
    writer = subprocess.Popen([sys.executable, "-c", WRITER, str(path)], stdout=subprocess.PIPE, text=True)
    assert writer.stdout is not None
    last = 0
    while last < acknowledged:
        last = int(writer.stdout.readline())
    writer.kill()
    last = max([last, *map(int, writer.stdout.read().split())])
    assert writer.wait() == -9
    writer.stdout.close()
    with closing(SQLiteStore(path)) as store:
        events = list(store.events())
        calls = list(store.calls())
    judged, proposed = events[1::2], [e for e in events if isinstance(e, CandidateProposed)]
    assert len(events) % 2 == 0  # an append is there as a whole or not at all
    assert [p.proposal for p in proposed] == list(range(1, len(proposed) + 1))
    assert len(proposed) in (last, last + 1)
    assert [j.score for j in judged] == [n / 7 for n in range(1, len(judged) + 1)]  # type: ignore[union-attr]
    assert [c.reply for c in calls][:last] == [f"reply {n}" for n in range(1, last + 1)]


def test_a_search_reads_no_reply_that_it_wrote_itself(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with closing(SQLiteStore(path, create=True)) as store:
        store.record(CALLS[0])
        monkeypatch.setattr(sqlite, "read", None)
        for call in CALLS:
            store.record(call)
            assert store.call(call.proposal, call.turn) == call
        assert store.call(0, 99) is None
    monkeypatch.undo()
    with closing(SQLiteStore(path)) as store:
        assert [store.call(call.proposal, call.turn) for call in CALLS] == list(CALLS)


def test_an_append_that_fails_half_way_leaves_nothing(path: Path) -> None:
    with closing(SQLiteStore(path, create=True)) as store:
        store.append(WinnerChosen(1, "train"))
        with pytest.raises(ValueError, match="JSON"):
            store.append(WinnerChosen(2, "train"), RunStarted({"limit": float("inf")}, "0"))
        assert list(store.events()) == [WinnerChosen(1, "train")]
        store.append(WinnerChosen(3, "train"))
        assert list(store.events()) == [WinnerChosen(1, "train"), WinnerChosen(3, "train")]


# What is no run


def nothing(path: Path) -> None:
    pass


def text(path: Path) -> None:
    path.write_text("this is no database\n" * 100)


def empty(path: Path) -> None:
    path.touch()


def another_database(path: Path) -> None:
    with closing(sqlite3.connect(path)) as db:
        db.execute("CREATE TABLE t (x)")


def of_the_future(path: Path) -> None:
    filled(path)
    with closing(sqlite3.connect(path)) as db:
        db.execute("CREATE TABLE more (x)")
        db.execute(f"PRAGMA user_version = {FORMAT + 1}")


def of_no_format(path: Path) -> None:
    filled(path)
    with closing(sqlite3.connect(path)) as db:
        db.execute(f"PRAGMA user_version = {FORMAT + 1}")


def directory(path: Path) -> None:
    path.mkdir()


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (nothing, "holds no run: there is no run.db in it"),
        (directory, "holds no run"),
        (text, "file is not a database"),
        (empty, "is damaged: it is empty; `vulcan repair "),
        (another_database, f"is of format 0, and this Vulcan reads format {FORMAT}"),
        (of_no_format, f"is damaged: it is of format {FORMAT}, and says {FORMAT + 1}; `vulcan repair "),
        (of_the_future, f"is of format {FORMAT + 1}, and this Vulcan reads format {FORMAT}"),
    ],
)
def test_what_is_no_run_is_told_in_a_line_and_left_as_it_was(
    path: Path, make: Callable[[Path], None], says: str
) -> None:
    make(path)
    before = {file.name: file.is_file() and file.read_bytes() for file in path.parent.iterdir()}
    with pytest.raises(UserError) as caught:
        SQLiteStore(path)
    assert says in one_line(caught, path.parent)
    assert {file.name: file.is_file() and file.read_bytes() for file in path.parent.iterdir()} == before


def test_a_run_is_not_made_twice_in_one_place(path: Path) -> None:
    filled(path)
    with pytest.raises(UserError, match="already exists"):
        SQLiteStore(path, create=True)
    with closing(SQLiteStore(path)) as store:
        assert list(store.events()) == list(EVENTS)


def test_a_place_that_cannot_be_written_is_told_in_a_line(tmp_path: Path) -> None:
    with pytest.raises(UserError) as caught:
        SQLiteStore(tmp_path / "missing" / "run.db", create=True)
    assert "unable to open" in one_line(caught, tmp_path / "missing" / "run.db")
