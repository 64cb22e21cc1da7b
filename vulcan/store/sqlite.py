"""A run on disk: one SQLite file.

Events are rows of one table, in order; answers of models are rows of another, for they may arrive in any order; long
texts are kept once, by their hash. The views `proposals`, `candidates`, `scores`, `baselines` and `verdicts` spread the
events out for whoever asks with SQL.
"""

from __future__ import annotations

import hashlib
import json
import sqlite3
import threading
from collections.abc import Iterator
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, get_type_hints

from vulcan.errors import UserError
from vulcan.store.events import EVENTS, CallRecord, Event

FORMAT = 1

_SCHEMA = """
CREATE TABLE texts (hash TEXT PRIMARY KEY, text TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE events (id INTEGER PRIMARY KEY, time TEXT NOT NULL, kind TEXT NOT NULL, data TEXT NOT NULL);
CREATE TABLE calls (
    proposal INTEGER NOT NULL, turn INTEGER NOT NULL, time TEXT NOT NULL,
    messages TEXT NOT NULL REFERENCES texts, reply TEXT NOT NULL REFERENCES texts,
    model TEXT NOT NULL, finish TEXT NOT NULL,
    tokens_in INTEGER, tokens_out INTEGER, dollars REAL, seconds REAL NOT NULL,
    PRIMARY KEY (proposal, turn)
) WITHOUT ROWID;
CREATE VIEW proposals AS SELECT
    data ->> 'proposal' AS id, data ->> 'round' AS round, data ->> 'operator' AS operator,
    data -> 'parents' AS parents, data ->> 'seed' AS seed, time
    FROM events WHERE kind = 'Proposed';
CREATE VIEW candidates AS SELECT
    data ->> 'candidate' AS id, data ->> 'proposal' AS proposal, data ->> 'turn' AS turn,
    data ->> 'verdict' AS verdict, data ->> 'score' AS score, data ->> 'of' AS duplicate_of,
    data ->> 'operations' AS operations, data ->> 'fingerprint' AS fingerprint, data -> 'rules' AS rules,
    data ->> 'feedback' AS feedback, text AS source, time
    FROM events JOIN texts ON hash = data ->> 'source' WHERE kind = 'Judged';
CREATE VIEW verdicts AS SELECT verdict, count(*) AS candidates FROM candidates GROUP BY verdict;
CREATE VIEW scores AS
    SELECT data ->> 'candidate' AS candidate, coalesce(data ->> 'split', 'train') AS split,
        pair.value ->> 0 AS instance, metric.key AS metric, metric.value AS value
    FROM events, json_each(data, '$.metrics') AS pair, json_each(pair.value -> 1) AS metric
    WHERE kind IN ('Judged', 'Confirmed');
CREATE VIEW baselines AS
    SELECT data ->> 'policy' AS policy, data ->> 'kind' AS kind, data ->> 'split' AS split,
        data ->> 'score' AS score, pair.value ->> 0 AS instance, metric.key AS metric, metric.value AS value
    FROM events, json_each(data, '$.metrics') AS pair, json_each(pair.value -> 1) AS metric
    WHERE events.kind = 'BaselineMeasured';
"""

_KEPT_BY_HASH = {"Judged": ("source",)}


class SQLiteStore:
    """See `vulcan.store.store.Store`. May be used from several threads."""

    def __init__(self, path: Path, *, create: bool = False) -> None:
        """Open a run's file, or make it. Raises UserError where that cannot be done, or it is no run's file."""
        self.path = path
        self._lock = threading.Lock()
        if not create and not path.is_file():
            raise UserError(f"{path.parent} holds no run: there is no {path.name} in it")
        try:
            self._db = sqlite3.connect(path, check_same_thread=False, isolation_level=None)
            self._db.execute("PRAGMA journal_mode = WAL")
            self._db.execute("PRAGMA busy_timeout = 10000")
            if create:
                self._db.executescript(f"BEGIN; {_SCHEMA} PRAGMA user_version = {FORMAT}; COMMIT;")
            found = self._db.execute("PRAGMA user_version").fetchone()[0]
        except sqlite3.Error as error:
            raise UserError(f"cannot open the run's file {path}: {error}") from error
        if found != FORMAT:
            raise UserError(f"{path} is of format {found}, and this Vulcan reads format {FORMAT}")

    def append(self, *events: Event) -> None:
        with self._lock:
            self._db.execute("BEGIN IMMEDIATE")
            try:
                for event in events:
                    self._insert(event)
            except BaseException:
                self._db.execute("ROLLBACK")
                raise
            self._db.execute("COMMIT")

    def _insert(self, event: Event) -> None:
        kind = type(event).__name__
        data = asdict(event)
        for name in _KEPT_BY_HASH.get(kind, ()):
            data[name] = self._text(data[name])
        self._db.execute(
            "INSERT INTO events (time, kind, data) VALUES (?, ?, ?)", (_now(), kind, json.dumps(data, allow_nan=False))
        )

    def events(self) -> Iterator[Event]:
        with self._lock:
            rows = self._db.execute("SELECT kind, data FROM events ORDER BY id").fetchall()
        for kind, data in rows:
            yield self._event(kind, json.loads(data))

    def _event(self, kind: str, data: dict[str, Any]) -> Event:
        for name in _KEPT_BY_HASH.get(kind, ()):
            data[name] = self._read_text(data[name])
        hints = get_type_hints(EVENTS[kind])
        return EVENTS[kind](**{name: _as_declared(value, hints[name]) for name, value in data.items()})

    def begun(self) -> str:
        """When the first event was appended, in ISO 8601; an empty string where there is none."""
        with self._lock:
            row = self._db.execute("SELECT min(time) FROM events").fetchone()
        return str(row[0] or "")

    def keep_call(self, call: CallRecord) -> None:
        with self._lock:
            self._db.execute("BEGIN IMMEDIATE")
            try:
                self._db.execute(
                    "INSERT OR IGNORE INTO calls VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                    (
                        call.proposal, call.turn, _now(), self._text(json.dumps(call.messages)), self._text(call.reply),
                        call.model, call.finish, call.tokens_in, call.tokens_out, call.dollars, call.seconds,
                    ),
                )  # fmt: skip
            except BaseException:
                self._db.execute("ROLLBACK")
                raise
            self._db.execute("COMMIT")

    def call(self, proposal: int, turn: int) -> CallRecord | None:
        return next(self._calls("WHERE proposal = ? AND turn = ?", (proposal, turn)), None)

    def calls(self) -> Iterator[CallRecord]:
        return self._calls("ORDER BY proposal, turn", ())

    def _calls(self, condition: str, values: tuple[int, ...]) -> Iterator[CallRecord]:
        with self._lock:
            rows = self._db.execute(
                "SELECT proposal, turn, messages, reply, model, finish, tokens_in, tokens_out, dollars, seconds "
                f"FROM calls {condition}",
                values,
            ).fetchall()
        for proposal, turn, messages, reply, *rest in rows:
            chat = tuple((role, content) for role, content in json.loads(self._read_text(messages)))
            yield CallRecord(proposal, turn, chat, self._read_text(reply), *rest)

    def _text(self, text: str) -> str:
        key = hashlib.sha256(text.encode("utf-8", errors="surrogatepass")).hexdigest()
        self._db.execute("INSERT OR IGNORE INTO texts VALUES (?, ?)", (key, text))
        return key

    def _read_text(self, key: str) -> str:
        with self._lock:
            row = self._db.execute("SELECT text FROM texts WHERE hash = ?", (key,)).fetchone()
        return str(row[0])

    def close(self) -> None:
        with self._lock:
            self._db.close()


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds")


def _as_declared(value: Any, declared: Any) -> Any:
    """JSON knows no tuples: lists become tuples again where the event declares one."""
    if isinstance(value, list) and "tuple" in str(declared).lower():
        return tuple(tuple(v) if isinstance(v, list) else v for v in value)
    return value
