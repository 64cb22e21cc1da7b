"""The store of a run on disk: one SQLite file.

Events are rows of one table, in order; replies of models are rows of another, because they may arrive in any order;
long texts are stored once, by their hash. Data that cannot be recomputed is written to a journal first.
"""

from __future__ import annotations

import hashlib
import json
import logging
import os
import sqlite3
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import asdict
from pathlib import Path
from shlex import quote
from typing import Any

from vulcan.errors import UserError
from vulcan.store.base import now
from vulcan.store.decode import STORED_BY_HASH, MalformedRow, decode_call, decode_event
from vulcan.store.events import CallRecord, Event, RunStarted, kind_of
from vulcan.store.file import FORMAT, check_schema, connect, make_file, read, use_rollback_journal
from vulcan.store.journal import Journal, JournalEntries, journal_of, line_of, read_journal

log = logging.getLogger(__name__)

_LONGEST_PATH = 500

# SQLITE_ERROR means a missing table, because the queries are valid. Without a code: a text is not UTF-8
_DAMAGE = frozenset({sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_ERROR})


COLUMNS_OF_CALL = "proposal, turn, messages, reply, model, finish, tokens_in, tokens_out, dollars, seconds, answered_by"
"""Columns in the order of the fields of a `CallRecord`."""


class DamagedRun(UserError):
    """A run's file is damaged; `vulcan repair` rebuilds it from the journal of replies."""

    def __init__(self, path: Path, what: object) -> None:
        self.what = str(what)
        directory = quote(str(path.parent))
        super().__init__(
            f"the run's file {path} is damaged: {what}; `vulcan repair {directory}` rebuilds it from its replies"
        )


class SQLiteStore:
    """A store in an SQLite file; see `vulcan.store.base.Store`. Thread-safe."""

    def __init__(self, path: Path, *, create: bool = False) -> None:
        """Open a run's file, or create it. Raises UserError where that fails, or it is not a run's file."""
        self.path = path
        self._lock = threading.Lock()
        self._recovering = threading.Lock()
        self._journal: Journal | None = None  # set once it agrees with the file
        if not path.exists() and journal_of(path).exists():
            raise DamagedRun(path, "it is missing")
        if not create and not path.is_file():
            raise UserError(f"{path.parent} holds no run: there is no {path.name} in it")
        if create and path.exists():
            raise UserError(f"cannot use the run's file {path}: it already exists")
        self._begun = not create
        with ExitStack() as on_failure, self._faults():
            if create:
                make_file(path)
            self._db, self._unlocked = connect(path)
            on_failure.callback(self._db.close)
            self._check_format()
            self._file = _identity(path)
            on_failure.pop_all()

    def _check_format(self) -> None:
        found = self._db.execute("PRAGMA user_version").fetchone()[0]
        if found == 0 and self._db.execute("SELECT count(*) FROM sqlite_schema").fetchone()[0] == 0:
            raise DamagedRun(self.path, "it is empty")
        if found != FORMAT:
            raise UserError(f"{self.path} is of format {found}, and this Vulcan reads format {FORMAT}")
        check_schema(self._db, self.path)

    @contextmanager
    def _faults(self) -> Iterator[None]:
        """Convert errors of SQLite (not a run's file, damage, a full disk) to a UserError."""
        try:
            yield
        except sqlite3.Error as error:
            code = getattr(error, "sqlite_errorcode", 0) & 0xFF  # the higher bits are the extended code
            if code in _DAMAGE or (not code and isinstance(error, sqlite3.OperationalError)):
                raise DamagedRun(self.path, error) from error
            remedy = _remedy(code, self.path, self._begun)
            raise UserError(f"cannot use the run's file {self.path}: {error}{remedy}") from error
        except (MalformedRow, UnicodeDecodeError) as error:  # SQLite's own message may quote damaged data
            raise DamagedRun(self.path, error) from error

    def _write(self, changes: Callable[[], None]) -> None:
        """Apply the changes in one transaction, on disk on return.

        An interruption (Ctrl-C, SIGTERM) may come between any two steps, and the store is written to once more after
        it. This is therefore no context manager, whose transaction would stay open if it came between entry and block.
        """
        with self._lock, self._faults():
            try:
                self._roll_back()
                if self._unlocked:
                    self._lock_file()
                self._db.execute("PRAGMA query_only = OFF")
                self._db.execute("BEGIN IMMEDIATE")
                if _identity(self.path) != self._file:
                    raise DamagedRun(self.path, "it was removed or replaced while it was in use")
                changes()
                self._db.execute("COMMIT")
                self._begun = True
            except BaseException:
                self._roll_back()
                raise

    def _lock_file(self) -> None:
        """Connect anew to a file that was read without a lock, for lack of shared memory, to write to it."""
        use_rollback_journal(self.path)
        self._db.close()
        self._db, self._unlocked = connect(self.path)

    def _roll_back(self) -> None:
        """Roll back a transaction left by a full disk or a second interruption."""
        if self._db.in_transaction:
            self._db.execute("ROLLBACK")

    def _rows(self, query: str, values: Sequence[object] = ()) -> list[Any]:
        with self._lock, self._faults():
            return list(read(self._db, self.path, query, values))

    def append(self, *events: Event) -> None:
        time = now()
        if searches := [line_of(time, event) for event in events if isinstance(event, RunStarted)]:
            self._record(*searches)
        self._write(lambda: self._append(events, time))

    def _append(self, events: Iterable[Event], time: str) -> None:
        for event in events:
            self._insert(event, time)

    def _record(self, *lines: bytes) -> None:
        """Append to the journal, which must be on disk before the file is."""
        if problem := self.recover():
            log.warning("%s", problem)
        with self._recovering:
            assert self._journal is not None
            self._journal.append(*lines)

    def recover(self) -> str | None:
        """Reconcile the file with its journal: a killed process may have left replies in the journal alone.

        A missing or damaged journal is rewritten, and a damaged one is set aside.
        """
        with self._recovering:
            if self._journal is not None:
                return None
            journal = Journal(journal_of(self.path))
            found, searches = read_journal(journal.path), self._searches()
            problem = None
            if searches and found.searches and searches[0][1] != found.searches[0][1]:
                problem = "is of another search"
                journal.set_aside()
            elif searches:
                self._import_journal(found)
                problem = self._fault_of(found, journal)
            if problem is not None:
                journal.rewrite(self._entries().lines())
                problem = f"the journal of replies {journal.path} {problem}; it is written again from {self.path.name}"
            elif found.torn:
                journal.cut_off(found.length)
            self._journal = journal
        return problem

    def _import_journal(self, journal: JournalEntries) -> None:
        """Import the entries that only the journal has."""
        calls, asked = set(self._rows("SELECT proposal, turn FROM calls")), set(self.questions())
        new_calls = [entry for key, entry in journal.calls.items() if key not in calls]
        new_asked = [(time, *key) for key, time in journal.questions.items() if key not in asked]
        if new_calls or new_asked:
            self._restore((), new_calls, new_asked)

    def _fault_of(self, found: JournalEntries, journal: Journal) -> str | None:
        """Describe the fault of the journal, if any; a damaged one is set aside."""
        if found.damaged:
            journal.set_aside()
            return f"has {found.damaged} damaged line{'s' * (found.damaged > 1)}"
        if not journal.path.exists():
            return "is missing"
        calls, asked = set(self._rows("SELECT proposal, turn FROM calls")), set(self.questions())
        if not (found.searches and calls <= found.calls.keys() and asked <= found.questions.keys()):
            return "lacks what the run holds"
        return None

    def _entries(self) -> JournalEntries:
        """Return all entries that belong in the journal."""
        entries = JournalEntries(self._searches())
        times = {
            (proposal, turn): time for proposal, turn, time in self._rows("SELECT proposal, turn, time FROM calls")
        }
        for call in self.calls():
            entries.add_call(times[call.proposal, call.turn], call)
        entries.questions = {(p, turn): time for p, turn, time in self._rows("SELECT proposal, turn, time FROM asked")}
        return entries

    def _searches(self) -> list[tuple[str, RunStarted]]:
        rows = self._rows("SELECT time, kind, data FROM events WHERE kind = 'Started' ORDER BY id")
        found = [(time, self._event(kind, data)) for time, kind, data in rows]
        return [(time, event) for time, event in found if isinstance(event, RunStarted)]

    def _insert(self, event: Event, time: str) -> None:
        kind = kind_of(event)
        data = asdict(event)
        for name in STORED_BY_HASH.get(kind, ()):
            data[name] = self._text(data[name])
        self._db.execute(
            "INSERT INTO events (time, kind, data) VALUES (?, ?, ?)",
            (time, kind, json.dumps(data, allow_nan=False)),
        )

    def events(self) -> Iterator[Event]:
        return (event for _, _, event in self.numbered())

    def numbered(self, after: int = 0) -> Iterator[tuple[int, str, Event]]:
        rows = self._rows("SELECT id, time, kind, data FROM events WHERE id > ? ORDER BY id", (after,))
        return ((row, time, self._event(kind, data)) for row, time, kind, data in rows)

    def _event(self, kind: str, data: str) -> Event:
        with self._faults():
            return decode_event(kind, data, self._read_text)

    def check(self) -> None:
        """Read everything. Raises DamagedRun where that fails, or SQLite reports damage."""
        found = self._rows("PRAGMA integrity_check(1)")[0][0]
        if found != "ok":
            raise DamagedRun(self.path, " ".join(str(found).split()))
        for key, text in self._rows("SELECT hash, text FROM texts"):
            if key != hash(text):
                raise DamagedRun(self.path, "a text is not as it was written")
        for expected, (row, _, _) in enumerate(self.numbered(), 1):
            if row != expected:
                raise DamagedRun(self.path, f"event {expected} is gone")
        for _ in self.calls():
            pass

    def started_at(self) -> str:
        ((first,),) = self._rows("SELECT min(time) FROM events")
        return str(first or "")

    def record_call(self, call: CallRecord) -> None:
        time = now()
        self._record(line_of(time, call))
        self._write(lambda: self._insert_call(call, time))

    def _insert_call(self, call: CallRecord, time: str) -> None:
        self._db.execute(
            "INSERT OR IGNORE INTO calls VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (
                call.proposal,
                call.turn,
                time,
                self._text(json.dumps(call.messages)),
                self._text(call.reply),
                call.model,
                call.finish,
                call.tokens_in,
                call.tokens_out,
                call.dollars,
                call.seconds,
                call.by,
            ),
        )

    def call(self, proposal: int, turn: int) -> CallRecord | None:
        return next(self._calls("WHERE proposal = ? AND turn = ?", (proposal, turn)), None)

    def calls(self) -> Iterator[CallRecord]:
        return self._calls("ORDER BY proposal, turn", ())

    def call_totals(self) -> tuple[int, int, int, float, int]:
        sums = "count(*), total(tokens_in), total(tokens_out), total(dollars), total(dollars IS NULL)"
        ((calls, tokens_in, tokens_out, dollars, unpriced),) = self._rows(f"SELECT {sums} FROM calls")
        return calls, int(tokens_in), int(tokens_out), dollars, int(unpriced)

    def answered_by(self, first: int) -> dict[tuple[int, int], str]:
        rows = self._rows("SELECT proposal, turn, model FROM calls WHERE proposal >= ?", (first,))
        return {(proposal, turn): model for proposal, turn, model in rows}

    def spent_by(self, first: int) -> dict[tuple[int, int], tuple[int, float]]:
        sums = "ifnull(tokens_in, 0) + ifnull(tokens_out, 0), ifnull(dollars, 0.0)"
        rows = self._rows(f"SELECT proposal, turn, {sums} FROM calls WHERE proposal >= ?", (first,))
        return {(proposal, turn): (tokens, dollars) for proposal, turn, tokens, dollars in rows}

    def _calls(self, condition: str, values: tuple[int, ...]) -> Iterator[CallRecord]:
        rows = self._rows(f"SELECT {COLUMNS_OF_CALL} FROM calls {condition}", values)
        for row in rows:
            with self._faults():
                call = decode_call(row, self._read_text)
            yield call

    def record_question(self, proposal: int, turn: int) -> None:
        time = now()
        self._record(line_of(time, (proposal, turn)))
        self._write(lambda: self._insert_question(proposal, turn, time))

    def _insert_question(self, proposal: int, turn: int, time: str) -> None:
        self._db.execute("INSERT OR IGNORE INTO asked VALUES (?, ?, ?)", (proposal, turn, time))

    def questions(self) -> Iterator[tuple[int, int]]:
        yield from self._rows("SELECT proposal, turn FROM asked ORDER BY proposal, turn")

    def restore(
        self,
        events: Iterable[tuple[str, Event]],
        calls: Iterable[tuple[str, CallRecord]],
        questions: Iterable[tuple[str, int, int]],
    ) -> None:
        self._restore(events, calls, questions)
        with self._recovering:
            if self._journal is not None:
                self._journal.rewrite(self._entries().lines())

    def _restore(
        self,
        events: Iterable[tuple[str, Event]],
        calls: Iterable[tuple[str, CallRecord]],
        questions: Iterable[tuple[str, int, int]],
    ) -> None:
        def changes() -> None:
            for time, event in events:
                self._insert(event, time)
            for time, call in calls:
                self._insert_call(call, time)
            for time, proposal, turn in questions:
                self._insert_question(proposal, turn, time)

        self._write(changes)

    def _text(self, text: str) -> str:
        key = hash(text)
        self._db.execute("INSERT OR IGNORE INTO texts VALUES (?, ?)", (key, text))
        return key

    def _read_text(self, key: str) -> str:
        found = self._rows("SELECT text FROM texts WHERE hash = ?", (key,))
        if not found:
            raise DamagedRun(self.path, "a text is gone")
        text = str(found[0][0])
        if hash(text) != key:
            raise DamagedRun(self.path, "a text is not as it was written")
        return text

    def close(self) -> None:
        with self._recovering:
            if self._journal is not None:
                self._journal.close()
        with self._lock:
            self._db.close()


def hash(text: str) -> str:
    """Return the key of a text in the table `texts`."""
    return hashlib.sha256(text.encode("utf-8", errors="surrogatepass")).hexdigest()


def _identity(path: Path) -> tuple[int, int] | None:
    """Return what tells a file from another one at its path; None if there is none."""
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_dev, found.st_ino


def _remedy(code: int, path: Path, begun: bool) -> str:
    """Return the remedy for an error of SQLite, where one is known."""
    again = f"continue with `vulcan resume {quote(str(path.parent))}`" if begun else "start again"
    match code:
        case sqlite3.SQLITE_FULL:
            return f"; make room, then {again}"
        case sqlite3.SQLITE_IOERR:
            return f"; see that the disk works and has room, then {again}"
        case sqlite3.SQLITE_READONLY:
            return f"; see that it can be written, then {again}"
        case sqlite3.SQLITE_BUSY | sqlite3.SQLITE_LOCKED:
            return f"; another program holds it: end that, then {again}"
        case sqlite3.SQLITE_CANTOPEN if len(os.fsencode(path.absolute())) > _LONGEST_PATH:
            return f"; its path is longer than SQLite takes ({_LONGEST_PATH} bytes): choose a shorter --runs-dir"
    return ""
