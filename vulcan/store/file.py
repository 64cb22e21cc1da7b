"""The SQLite file of a run: its form, and connections to it.

A file may come from anyone, and what its schema holds is executed: views, triggers and generated columns. One whose
schema is not ours is damaged. Queries of any other are limited by its size, because its pages may refer to each other
in a circle.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing, suppress
from functools import cache
from itertools import repeat
from pathlib import Path
from typing import Any, Literal

from vulcan.errors import UserError
from vulcan.store.decode import MalformedRow

FORMAT = 3

SCHEMA = """
CREATE TABLE texts (hash TEXT PRIMARY KEY, text TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE events (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    time TEXT NOT NULL, kind TEXT NOT NULL, data TEXT NOT NULL, digest BLOB NOT NULL
);
CREATE VIEW calls AS SELECT
    data ->> 'proposal' AS proposal, data ->> 'turn' AS turn, data ->> 'reply' AS reply, data ->> 'model' AS model,
    data ->> 'finish' AS finish, data ->> 'tokens_in' AS tokens_in, data ->> 'tokens_out' AS tokens_out,
    data ->> 'dollars' AS dollars, data ->> 'seconds' AS seconds, data ->> 'by' AS answered_by, time
    FROM events WHERE kind = 'CallRecord';
CREATE VIEW proposals AS SELECT
    data ->> 'proposal' AS id, data ->> 'round' AS round, data ->> 'operator' AS operator,
    data -> 'parents' AS parents, data ->> 'seed' AS seed, data ->> 'model' AS model, data ->> 'island' AS island,
    data ->> 'form' AS form, time
    FROM events WHERE kind = 'CandidateProposed';
CREATE VIEW candidates AS SELECT
    data ->> 'candidate' AS id, data ->> 'proposal' AS proposal, data ->> 'turn' AS turn,
    data ->> 'verdict' AS verdict, data ->> 'score' AS score, data ->> 'of' AS duplicate_of,
    data ->> 'origin' AS origin, data ->> 'derived_from' AS derived_from, data -> 'rungs' AS rungs,
    data ->> 'signature' AS signature, data -> 'warnings' AS warnings,
    data ->> 'operations' AS operations, data ->> 'fingerprint' AS fingerprint, data -> 'rules' AS rules,
    data ->> 'feedback' AS feedback, text AS source, time
    FROM events JOIN texts ON hash = data ->> 'source' WHERE kind = 'CandidateJudged';
CREATE VIEW verdicts AS SELECT verdict, count(*) AS candidates FROM candidates GROUP BY verdict;
CREATE VIEW scores AS
    SELECT data ->> 'candidate' AS candidate, coalesce(data ->> 'split', 'train') AS split,
        pair.value ->> 0 AS instance, metric.key AS metric, metric.value AS value
    FROM events, json_each(data, '$.metrics') AS pair, json_each(pair.value -> 1) AS metric
    WHERE kind IN ('CandidateJudged', 'FinalistScored');
CREATE VIEW baselines AS
    SELECT data ->> 'policy' AS policy, data ->> 'kind' AS kind, data ->> 'split' AS split,
        data ->> 'score' AS score, pair.value ->> 0 AS instance, metric.key AS metric, metric.value AS value
    FROM events, json_each(data, '$.metrics') AS pair, json_each(pair.value -> 1) AS metric
    WHERE events.kind = 'BaselineMeasured';
"""


NO_SHARED_MEMORY = frozenset({sqlite3.SQLITE_IOERR_SHMMAP, sqlite3.SQLITE_IOERR_SHMOPEN, sqlite3.SQLITE_IOERR_SHMSIZE})
"""Errors of a write-ahead log on a disk that is full, or a file system (9p, some NFS) that maps no shared memory."""

_PATIENCE = 10.0  # seconds that a lock is waited for
_STEPS = 100_000  # between two checks of the limit of a query
_STEPS_PER_BYTE = 20  # a row has more bytes than reading it takes steps, divided by this
_NAMES_A_FILE = bytes.fromhex("d9d505f920a163d7")  # the end of a rollback journal that has the path of another file


def make_file(path: Path) -> None:
    """Create an empty store, renamed to its path only once complete, so that a kill leaves no partial file.

    It has a write-ahead log, so that readers and the writer do not wait for each other, and a rollback journal where
    the file system cannot do that. Raises UserError where the file cannot be created, and sqlite3.Error, such as on a
    full disk; then there is none.
    """
    new = path.with_name(f"{path.name}.new")
    try:
        _remove(new)
        with closing(_open(new)) as db:
            db.execute("PRAGMA journal_mode = MEMORY")  # an incomplete file is never reused
            db.execute("PRAGMA query_only = OFF")
            db.executescript(f"BEGIN; {SCHEMA} PRAGMA user_version = {FORMAT}; COMMIT;")
            db.execute("PRAGMA journal_mode = WAL")  # now, because this statement does not wait for a lock
        try:
            _open(new).close()
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode not in NO_SHARED_MEMORY:
                raise
            use_rollback_journal(new)
        new.replace(path)
    except OSError as error:
        raise UserError(f"cannot make the run's file {path}: {error.strerror}") from error
    finally:
        with suppress(OSError):
            _remove(new)


def _remove(path: Path) -> None:
    for ending in ("", "-wal", "-shm", "-journal"):
        path.with_name(path.name + ending).unlink(missing_ok=True)


def use_rollback_journal(path: Path) -> None:
    """Apply a file's write-ahead log, and use none from now on."""
    with closing(_open(path, locks="exclusive")) as db:  # which needs no shared memory
        db.execute("PRAGMA query_only = OFF")
        db.execute("PRAGMA journal_mode = DELETE")


def _open(path: Path, *, locks: Literal["normal", "exclusive", "none"] = "normal") -> sqlite3.Connection:
    address = f"{path.absolute().as_uri()}?immutable=1" if locks == "none" else str(path)
    db = sqlite3.connect(address, uri=locks == "none", check_same_thread=False, isolation_level=None, timeout=_PATIENCE)
    try:
        if locks == "exclusive":
            db.execute("PRAGMA locking_mode = EXCLUSIVE")
        db.execute("PRAGMA synchronous = EXTRA")  # a rollback journal is as durable as a log
        db.execute("PRAGMA trusted_schema = OFF")
        db.execute("PRAGMA query_only = ON")
        db.execute("PRAGMA schema_version").fetchone()  # which opens all that reading needs
    except BaseException:
        db.close()
        raise
    return db


def connect(path: Path) -> tuple[sqlite3.Connection, bool]:
    """Connect to a file for reading; also return whether it is read without a lock. Raises sqlite3.Error, MalformedRow.

    SQLite needs files beside a file with a write-ahead log even to read it. Where they cannot be created (in a
    directory that cannot be written, on a full disk, without shared memory), there is no writer.
    """
    journal = path.with_name(f"{path.name}-journal")
    if journal.is_file() and journal.read_bytes()[-8:] == _NAMES_A_FILE:  # SQLite would delete that one
        raise MalformedRow("its rollback journal names another file")
    log = path.with_name(f"{path.name}-wal")
    has_log = log.exists()
    if has_log or os.access(path.parent, os.W_OK):
        try:
            return _open(path), False
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode not in NO_SHARED_MEMORY:
                raise
        if has_log and log.stat().st_size > 0:  # readers of a full disk leave an empty one
            use_rollback_journal(path)
            return _open(path), False
    return _open(path, locks="none"), True


def read(db: sqlite3.Connection, path: Path, query: str, values: Sequence[object] = ()) -> Iterator[Any]:
    """Yield the rows of a query, which are no more than the file holds. Raises sqlite3.Error and MalformedRow."""
    left = _size(path)
    steps = repeat(0, 10 + left * _STEPS_PER_BYTE // _STEPS)
    db.set_progress_handler(steps.__next__, _STEPS)  # not in Python, where a signal's exception would be lost
    try:
        with closing(db.execute(query, values)) as cursor:
            for row in cursor:
                left -= len(row) + sum(len(value) for value in row if isinstance(value, (str, bytes)))
                if left < 0:
                    raise MalformedRow("more rows than it has room for")
                yield row
    except sqlite3.OperationalError as error:
        if getattr(error, "sqlite_errorcode", 0) == sqlite3.SQLITE_INTERRUPT:
            raise MalformedRow("a table without an end") from error
        raise
    finally:
        db.set_progress_handler(None, 0)


def _size(path: Path) -> int:
    """Return the size of a file with its log, and some more, as it may be growing."""
    files = (path, path.with_name(f"{path.name}-wal"))
    return sum(file.stat().st_size for file in files if file.exists()) + (1 << 20)


def check_schema(db: sqlite3.Connection, path: Path) -> None:
    """Raise MalformedRow where tables and views of a file are not those that `make_file` creates."""
    if different := _declared() ^ set(read(db, path, _OBJECTS)):
        names = sorted({str(name)[:40] for _, name, _, _ in different})
        raise MalformedRow(f"{names[0]!r} is not as Vulcan declares it")


_OBJECTS = "SELECT type, name, tbl_name, sql FROM sqlite_schema"


@cache
def _declared() -> frozenset[Any]:
    with closing(sqlite3.connect(":memory:")) as db:
        db.executescript(SCHEMA)
        return frozenset(db.execute(_OBJECTS))
