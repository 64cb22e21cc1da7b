"""The tables and views of a run's file, and how a file that has them comes to be."""

from __future__ import annotations

import sqlite3
from contextlib import closing, suppress
from pathlib import Path

from vulcan.errors import UserError

FORMAT = 2

SCHEMA = """
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


def make_file(path: Path) -> None:
    """An empty store, under its name only once it is whole and on disk: who is killed before leaves none behind.

    Raises UserError where the file cannot be made, and sqlite3.Error, such as on a full disk; then there is none.
    """
    new = path.with_name(f"{path.name}.new")
    try:
        new.unlink(missing_ok=True)
        with closing(sqlite3.connect(new, isolation_level=None)) as db:
            db.execute("PRAGMA journal_mode = MEMORY")  # what is half made is never gone on with
            db.executescript(f"BEGIN; {SCHEMA} PRAGMA user_version = {FORMAT}; COMMIT;")
        new.replace(path)
    except OSError as error:
        raise UserError(f"cannot make the run's file {path}: {error.strerror}") from error
    finally:
        with suppress(OSError):
            new.unlink(missing_ok=True)
