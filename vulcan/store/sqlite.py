"""The store of a run on disk: one SQLite file.

The log is one table. Each row has a digest of itself and of all rows before it, which every reader checks; long texts
are stored once, by their hash. A journal beside the file has what cannot be computed again.
"""

from __future__ import annotations

import hashlib
import json
import logging
import sqlite3
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import asdict
from pathlib import Path
from shlex import quote
from typing import Any, cast, get_args

from vulcan import __version__
from vulcan.errors import UserError
from vulcan.store.base import E, Numbered, Store, Turn, arrival_key, turn_of
from vulcan.store.decode import STORED_BY_HASH, MalformedRow, decode_entry, parse_fields
from vulcan.store.events import ENTRIES, JOURNALED, Arrival, CallRecord, Entry, RunStarted
from vulcan.store.file import FORMAT, check_schema, connect, make_file, read, use_rollback_journal
from vulcan.store.journal import Journal, identity, is_journaled, journal_of, last_mark, line_of, read_journal
from vulcan.store.rows import FIRST, PromptPacker, PromptReader, Row, chained, plain_fields

log = logging.getLogger(__name__)

_ENVIRONMENT = frozenset(
    {
        sqlite3.SQLITE_FULL,
        sqlite3.SQLITE_IOERR,
        sqlite3.SQLITE_READONLY,
        sqlite3.SQLITE_BUSY,
        sqlite3.SQLITE_LOCKED,
        sqlite3.SQLITE_CANTOPEN,
        sqlite3.SQLITE_PERM,
        sqlite3.SQLITE_NOMEM,
        sqlite3.SQLITE_PROTOCOL,
    }
)
"""Errors of SQLite that are not of the file. All others are, because the queries are valid."""

_REMEDIES = {
    sqlite3.SQLITE_FULL: "make room",
    sqlite3.SQLITE_IOERR: "see that the disk works and has room",
    sqlite3.SQLITE_READONLY: "see that it can be written",
    sqlite3.SQLITE_BUSY: "another program holds it: end that",
    sqlite3.SQLITE_LOCKED: "another program holds it: end that",
}

_COLUMNS = "id, time, kind, data, digest"
_ARRIVALS = {arrival.__name__ for arrival in get_args(Arrival)}
RECENT = 256
"""Replies remembered besides: a search looks each up again when its candidate is judged."""

_SETS_ASIDE = "sets that aside, and writes one of this search"


class DamagedRun(UserError):
    """A run's file is damaged; `vulcan repair` rebuilds it from the journal of replies."""

    def __init__(self, path: Path | None, what: object, repair: str = "rebuilds it from its replies") -> None:
        self.what = str(what)
        file, run = ("run", "RUN") if path is None else (f"run's file {path}", quote(str(path.parent)))
        super().__init__(f"the {file} is damaged: {what}; `vulcan repair {run}` {repair}")


class SQLiteStore(Store):
    """A store in an SQLite file. Thread-safe."""

    def __init__(self, path: Path, *, create: bool = False) -> None:
        """Open a run's file, or create it. Raises UserError where that fails, or it is not a run's file."""
        self.path = path
        self._lock = threading.Lock()  # of the connection
        self._recording = threading.RLock()  # of file and journal together, and of what is known of them
        self._journal: Journal | None = None  # set once it agrees with the file
        self._last: tuple[int, bytes] | None = None  # row and digest, of what this process has written
        self._arrived: dict[object, int] = {}  # the row of each arrival, by its key, up to the row `_indexed`
        self._indexed = 0
        self._recent: dict[Turn, CallRecord] = {}  # the latest replies that this process has written
        self._packer = PromptPacker()
        self._reader = PromptReader(lambda number: self._row(number).data)
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
            self._file = identity(path)
            on_failure.pop_all()

    def _check_format(self) -> None:
        number = self._db.execute("PRAGMA user_version").fetchone()[0]
        if number == 0 and self._db.execute("SELECT count(*) FROM sqlite_schema").fetchone()[0] == 0:
            raise DamagedRun(self.path, "it is empty")
        try:
            check_schema(self._db, self.path)
        except MalformedRow:
            if number == FORMAT:
                raise
            raise UserError(f"{self.path} is of format {number}, and this Vulcan reads format {FORMAT}") from None
        if number != FORMAT:
            raise DamagedRun(self.path, f"it is of format {FORMAT}, and says {number}")

    @contextmanager
    def _faults(self) -> Iterator[None]:
        """Convert errors of SQLite (not a run's file, damage, a full disk) to a UserError."""
        try:
            yield
        except sqlite3.Error as error:
            code = getattr(error, "sqlite_errorcode", 0) & 0xFF  # the higher bits are the extended code
            if code not in _ENVIRONMENT:
                raise DamagedRun(self.path, " ".join(str(error).split())) from error
            again = f"continue with `vulcan resume {quote(str(self.path.parent))}`" if self._begun else "start again"
            remedy = f"; {_REMEDIES[code]}, then {again}" if code in _REMEDIES else ""
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
                if identity(self.path) != self._file:
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

    # Writing

    def restore(self, entries: Iterable[tuple[str, Entry]]) -> None:
        with self._recording:
            new = self._new(entries)
            if any(isinstance(entry, JOURNALED) for _, entry in new) and (problem := self.recover()):
                log.warning("%s", problem)
            rows: list[Row] = []
            try:
                self._write(lambda: rows.extend(self._insert(new)))
                self._last = (rows[-1].id, rows[-1].digest) if rows else self._last
                if rows and rows[0].id == self._indexed + 1:
                    self._index(rows)
                if lines := [line_of(row) for row in rows if is_journaled(row)]:
                    assert self._journal is not None
                    self._journal.append(*lines)
                self._recent |= {turn_of(entry): entry for _, entry in new if isinstance(entry, CallRecord)}
                while len(self._recent) > RECENT:
                    del self._recent[next(iter(self._recent))]
            except BaseException:  # what was written before an interruption is looked up
                self._last, self._packer = None, PromptPacker()
                self._close_journal()
                raise

    def _new(self, entries: Iterable[tuple[str, Entry]]) -> list[tuple[str, Entry]]:
        """Return the entries without arrivals that are in the log."""
        keyed = [(arrival_key(entry) or number, (time, entry)) for number, (time, entry) in enumerate(entries)]
        known = self._arrivals() if any(isinstance(key, tuple) for key, _ in keyed) else {}
        new: dict[object, tuple[str, Entry]] = {}
        for key, entry in keyed:
            if key not in known:
                new.setdefault(key, entry)
        return list(new.values())

    def _insert(self, entries: Iterable[tuple[str, Entry]]) -> Iterator[Row]:
        last = self._db.execute("SELECT id, digest FROM events ORDER BY id DESC LIMIT 1").fetchone() or (0, FIRST)
        if self._last not in (None, last):
            raise UserError(f"another process writes to {self.path}: end it, then `vulcan resume` continues the run")
        for time, entry in entries:
            data = self._data(entry, last[0] + 1)
            row = Row(last[0] + 1, time, type(entry).__name__, data, chained(last[1], time, type(entry).__name__, data))
            self._db.execute(f"INSERT INTO events ({_COLUMNS}) VALUES (?, ?, ?, ?, ?)", row)
            last = row.id, row.digest
            yield row

    def _data(self, entry: Entry, row: int) -> str:
        fields = self._packer.fields_of(entry, row) if isinstance(entry, CallRecord) else plain_fields(entry)
        if name := STORED_BY_HASH.get(type(entry).__name__):
            fields[name] = self._stored(fields[name])
        return json.dumps(fields, allow_nan=False, default=asdict)

    def _stored(self, text: str) -> str:
        key = hash(text)
        self._db.execute("INSERT OR IGNORE INTO texts VALUES (?, ?)", (key, text))
        return key

    def recover(self) -> str | None:
        """Give the journal what a killed process did not write to it.

        A missing or damaged journal is written again, and a damaged one is set aside.
        """
        with self._recording:
            if self._journal is not None:
                return None
            journal, rows = Journal(journal_of(self.path)), [row for row in self._log() if is_journaled(row)]
            there, content = journal.path.exists(), read_journal(journal.path)
            whole = [content.digests.get(row.id) == row.digest for row in rows]
            problem = None
            if rows and not there:
                problem = "is missing"
            elif rows and content.damaged:
                journal.set_aside()
                problem = f"has {content.damaged} damaged line{'s' * (content.damaged > 1)}"
            elif whole != sorted(whole, reverse=True):
                problem = "lacks what the run holds"
            if problem is not None:
                problem = f"the journal of replies {journal.path} {problem}; it is written again from {self.path.name}"
            if problem is not None or content.torn or not all(whole):
                journal.rewrite(map(line_of, rows))
            self._journal = journal
        return problem

    # Reading

    def _log(self, after: int = 0) -> list[Row]:
        """Return the rows of the log after a row. Raises DamagedRun where they are not as they were written."""
        mark = None if after else last_mark(journal_of(self.path))  # before the file, which is written first
        count = self._rows("SELECT seq FROM sqlite_sequence")
        rows = [Row(*row) for row in self._rows(f"SELECT {_COLUMNS} FROM events WHERE id >= ? ORDER BY id", (after,))]
        digest = FIRST
        if after:
            if not rows or rows[0].id != after:
                raise DamagedRun(self.path, f"event {after} is gone")
            digest = rows.pop(0).digest
        for expected, row in enumerate(rows, after + 1):
            if row.id != expected:
                raise DamagedRun(self.path, f"event {expected} is gone")
            if not row.follows(digest):
                raise DamagedRun(self.path, f"event {expected} is not as it was written")
            digest = row.digest
        last = after + len(rows)
        if len(count) > 1 or (count and not isinstance(count[0][0], int)) or last < (count[0][0] if count else 0):
            raise DamagedRun(self.path, f"what follows event {last} is gone")
        if mark is not None:
            if mark[0] > last:
                raise DamagedRun(self.path, f"what follows event {last} is gone, and its journal goes on")
            if mark[0] < 1 or rows[mark[0] - 1].digest != mark[1]:
                raise DamagedRun(self.path, "the journal of replies beside it is of another search", _SETS_ASIDE)
        return rows

    def entries(self, *kinds: type[E], after: int = 0) -> Iterator[Numbered[E]]:
        names = {kind.__name__ for kind in kinds}
        rows = [row for row in self._log(after) if row.kind in names or row.kind not in ENTRIES]
        return ((row.id, row.time, cast("E", self._decode(row))) for row in rows)

    def _decode(self, row: Row) -> Entry:
        try:
            with self._faults():
                if (name := STORED_BY_HASH.get(row.kind)) is None:
                    return self._reader.decode(row.kind, row.data)
                fields = parse_fields(row.data)
                if isinstance(fields.get(name), str):
                    fields[name] = self._text(fields[name])
                return decode_entry(row.kind, fields)
        except DamagedRun as error:
            if isinstance(error.__cause__, MalformedRow) and (version := self._version()) not in (None, __version__):
                raise UserError(
                    f"{self.path} was written by Vulcan {version}, and this is {__version__}, which knows "
                    f"{error.what}: read it with that version"
                ) from error
            raise

    def _version(self) -> str | None:
        """Return the version that began the run, or continued it last."""
        found = self._rows("SELECT data FROM events WHERE kind = ? ORDER BY id DESC LIMIT 1", (RunStarted.__name__,))
        with self._faults():
            version = parse_fields(found[0][0]).get("version") if found else None
        return " ".join(version.split())[:40] if isinstance(version, str) else None

    def _text(self, key: str) -> str:
        found = self._rows("SELECT text FROM texts WHERE hash = ?", (key,))
        if not found:
            raise DamagedRun(self.path, "a text is gone")
        text = found[0][0]
        if not isinstance(text, str) or hash(text) != key:
            raise DamagedRun(self.path, "a text is not as it was written")
        return text

    def _row(self, number: int) -> Row:
        """Return a row of the log. Raises DamagedRun where it is not as it was written."""
        query = f"SELECT {_COLUMNS} FROM events WHERE id IN (?, ?) ORDER BY id"
        rows = [Row(*row) for row in self._rows(query, (number - 1, number))]
        before = rows[0].digest if len(rows) > 1 else FIRST
        if not rows or rows[-1].id != number or not rows[-1].follows(before):
            raise DamagedRun(self.path, f"event {number} is not as it was written")
        return rows[-1]

    def call(self, proposal: int, turn: int) -> CallRecord | None:
        if (recent := self._recent.get((proposal, turn))) is not None:
            return recent
        row = self._arrivals().get((CallRecord, proposal, turn))
        return None if row is None else cast("CallRecord", self._decode(self._row(row)))

    def _arrivals(self) -> dict[object, int]:
        """Return the row of every reply, question and instruction by its key."""
        with self._recording, self._faults():
            if self._last is None or self._last[0] != self._indexed:  # a run has one writer
                self._index(self._log(self._indexed))
            return self._arrived

    def _index(self, rows: Iterable[Row]) -> None:
        for row in rows:
            match ENTRIES.get(row.kind), parse_fields(row.data) if row.kind in _ARRIVALS else {}:
                case kind, {"proposal": proposal, "turn": turn}:
                    self._arrived[kind, proposal, turn] = row.id
                case kind, {"id": identity}:
                    self._arrived[kind, identity] = row.id
            self._indexed = row.id

    def check(self) -> None:
        """Read everything. Raises DamagedRun where that fails, or SQLite reports damage."""
        found = self._rows("PRAGMA integrity_check(1)")[0][0]
        if found != "ok":
            raise DamagedRun(self.path, " ".join(str(found).split()))
        for key, text in self._rows("SELECT hash, text FROM texts"):
            if not isinstance(text, str) or key != hash(text):
                raise DamagedRun(self.path, "a text is not as it was written")
        for _ in self.entries(*ENTRIES.values()):
            pass

    def close(self) -> None:
        self._close_journal()
        with self._lock:
            self._db.close()

    def _close_journal(self) -> None:
        with self._recording:
            if self._journal is not None:
                self._journal.close()
            self._journal = None


def hash(text: str) -> str:
    """Return the key of a text in the table `texts`."""
    return hashlib.sha256(text.encode("utf-8", errors="surrogatepass")).hexdigest()
