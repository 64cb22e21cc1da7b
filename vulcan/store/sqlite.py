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
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, get_type_hints

from vulcan.errors import UserError
from vulcan.store.events import EVENTS, CallRecord, Event

FORMAT = 2

_SCHEMA = """
CREATE TABLE texts (hash TEXT PRIMARY KEY, text TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE events (id INTEGER PRIMARY KEY, time TEXT NOT NULL, kind TEXT NOT NULL, data TEXT NOT NULL);
CREATE TABLE calls (
    proposal INTEGER NOT NULL, turn INTEGER NOT NULL, time TEXT NOT NULL,
    messages TEXT NOT NULL REFERENCES texts, reply TEXT NOT NULL REFERENCES texts,
    model TEXT NOT NULL, finish TEXT NOT NULL,
    tokens_in INTEGER, tokens_out INTEGER, dollars REAL, seconds REAL NOT NULL, answered_by TEXT NOT NULL,
    PRIMARY KEY (proposal, turn)
) WITHOUT ROWID;
CREATE TABLE asked (
    proposal INTEGER NOT NULL, turn INTEGER NOT NULL, time TEXT NOT NULL, PRIMARY KEY (proposal, turn)
) WITHOUT ROWID;
CREATE VIEW proposals AS SELECT
    data ->> 'proposal' AS id, data ->> 'round' AS round, data ->> 'operator' AS operator,
    data -> 'parents' AS parents, data ->> 'seed' AS seed, data ->> 'model' AS model, data ->> 'island' AS island,
    data ->> 'form' AS form, time
    FROM events WHERE kind = 'Proposed';
CREATE VIEW candidates AS SELECT
    data ->> 'candidate' AS id, data ->> 'proposal' AS proposal, data ->> 'turn' AS turn,
    data ->> 'verdict' AS verdict, data ->> 'score' AS score, data ->> 'of' AS duplicate_of,
    data ->> 'origin' AS origin, data ->> 'derived_from' AS derived_from, data -> 'rungs' AS rungs,
    data ->> 'signature' AS signature, data -> 'warnings' AS warnings,
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

_KEPT_BY_HASH = {"Judged": ("source",), "Controlled": ("source",), "Advised": ("text",)}


class SQLiteStore:
    """See `vulcan.store.store.Store`. May be used from several threads."""

    def __init__(self, path: Path, *, create: bool = False) -> None:
        """Open a run's file, or make it. Raises UserError where that cannot be done, or it is no run's file."""
        self.path = path
        self._lock = threading.Lock()
        if not create and not path.is_file():
            raise UserError(f"{path.parent} holds no run: there is no {path.name} in it")
        with ExitStack() as on_failure, self._faults():
            self._db = sqlite3.connect(path, check_same_thread=False, isolation_level=None)
            on_failure.callback(self._db.close)
            self._db.execute("PRAGMA busy_timeout = 10000")
            if not create:
                self._check_format()  # before anything is written to a file that may not be ours
            self._db.execute("PRAGMA journal_mode = WAL")
            if create:
                self._db.executescript(f"BEGIN; {_SCHEMA} PRAGMA user_version = {FORMAT}; COMMIT;")
            on_failure.pop_all()

    def _check_format(self) -> None:
        found = self._db.execute("PRAGMA user_version").fetchone()[0]
        if found != FORMAT:
            raise UserError(f"{self.path} is of format {found}, and this Vulcan reads format {FORMAT}")

    @contextmanager
    def _faults(self) -> Iterator[None]:
        """What SQLite cannot do (no run's file, a damaged one, a full disk) is for the user to mend."""
        try:
            yield
        except sqlite3.Error as error:
            raise UserError(f"cannot use the run's file {self.path}: {error}") from error

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        """All of the block or nothing of it; on disk when it is left."""
        with self._lock, self._faults():
            self._db.execute("BEGIN IMMEDIATE")
            try:
                yield
                self._db.execute("COMMIT")
            except BaseException:
                if self._db.in_transaction:  # a full disk has ended it already
                    self._db.execute("ROLLBACK")
                raise

    def _rows(self, query: str, values: Sequence[object] = ()) -> list[Any]:
        with self._lock, self._faults():
            return self._db.execute(query, values).fetchall()

    def append(self, *events: Event) -> None:
        with self._transaction():
            for event in events:
                self._insert(event)

    def _insert(self, event: Event) -> None:
        kind = type(event).__name__
        data = asdict(event)
        for name in _KEPT_BY_HASH.get(kind, ()):
            data[name] = self._text(data[name])
        self._db.execute(
            "INSERT INTO events (time, kind, data) VALUES (?, ?, ?)", (_now(), kind, json.dumps(data, allow_nan=False))
        )

    def events(self) -> Iterator[Event]:
        for kind, data in self._rows("SELECT kind, data FROM events ORDER BY id"):
            yield self._event(kind, json.loads(data))

    def _event(self, kind: str, data: dict[str, Any]) -> Event:
        for name in _KEPT_BY_HASH.get(kind, ()):
            data[name] = self._read_text(data[name])
        hints = get_type_hints(EVENTS[kind])
        return EVENTS[kind](**{name: _as_declared(value, hints[name]) for name, value in data.items()})

    def begun(self) -> str:
        """When the first event was appended, in ISO 8601; an empty string where there is none."""
        ((first,),) = self._rows("SELECT min(time) FROM events")
        return str(first or "")

    def keep_call(self, call: CallRecord) -> None:
        with self._transaction():
            self._db.execute(
                "INSERT OR IGNORE INTO calls VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                (
                    call.proposal, call.turn, _now(), self._text(json.dumps(call.messages)), self._text(call.reply),
                    call.model, call.finish, call.tokens_in, call.tokens_out, call.dollars, call.seconds, call.by,
                ),
            )  # fmt: skip

    def call(self, proposal: int, turn: int) -> CallRecord | None:
        return next(self._calls("WHERE proposal = ? AND turn = ?", (proposal, turn)), None)

    def calls(self) -> Iterator[CallRecord]:
        return self._calls("ORDER BY proposal, turn", ())

    def _calls(self, condition: str, values: tuple[int, ...]) -> Iterator[CallRecord]:
        rows = self._rows(
            "SELECT proposal, turn, messages, reply, model, finish, tokens_in, tokens_out, dollars, seconds, "
            f"answered_by FROM calls {condition}",
            values,
        )
        for proposal, turn, messages, reply, *rest in rows:
            chat = tuple((role, content) for role, content in json.loads(self._read_text(messages)))
            yield CallRecord(proposal, turn, chat, self._read_text(reply), *rest)

    def keep_asked(self, proposal: int, turn: int) -> None:
        with self._transaction():
            self._db.execute("INSERT OR IGNORE INTO asked VALUES (?, ?, ?)", (proposal, turn, _now()))

    def asked(self) -> Iterator[tuple[int, int]]:
        yield from self._rows("SELECT proposal, turn FROM asked ORDER BY proposal, turn")

    def _text(self, text: str) -> str:
        key = hashlib.sha256(text.encode("utf-8", errors="surrogatepass")).hexdigest()
        self._db.execute("INSERT OR IGNORE INTO texts VALUES (?, ?)", (key, text))
        return key

    def _read_text(self, key: str) -> str:
        ((text,),) = self._rows("SELECT text FROM texts WHERE hash = ?", (key,))
        return str(text)

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
