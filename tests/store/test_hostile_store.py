"""Files of a run that someone else wrote: SQLite executes what their schema holds."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from vulcan.errors import UserError
from vulcan.store import SQLiteStore
from vulcan.store.events import RunStarted
from vulcan.store.recovery import repair
from vulcan.store.runs import FILE
from vulcan.store.sqlite import DamagedRun

ENDLESS = "WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r)"
HOSTILE = {
    "view": "ALTER TABLE events RENAME TO other; "
    f"CREATE VIEW events AS {ENDLESS} "
    "SELECT n AS id, 'x' AS time, 'CandidateJudged' AS kind, '{}' AS data, x'00' AS digest FROM r",
    "calls": f"DROP VIEW calls; CREATE VIEW calls AS {ENDLESS} SELECT n AS proposal FROM r",
    "generated": "ALTER TABLE events ADD COLUMN more AS (hex(zeroblob(100000000)))",
    "trigger": "CREATE TRIGGER t AFTER INSERT ON events BEGIN DELETE FROM events; END",
    "index": "CREATE INDEX i ON events (hex(data))",
    "text": "DROP TABLE texts; CREATE TABLE texts (hash TEXT, text TEXT)",
}


@pytest.fixture
def file(tmp_path: Path) -> Path:
    with closing(SQLiteStore(tmp_path / FILE, create=True)) as store:
        store.append(RunStarted({"task": "x"}, "0"))
    (tmp_path / f"{FILE}.replies.jsonl").unlink()
    return tmp_path / FILE


@pytest.mark.parametrize("change", HOSTILE.values(), ids=HOSTILE)
def test_a_schema_that_is_not_ours_is_damage(file: Path, change: str) -> None:
    with closing(sqlite3.connect(file)) as db:
        db.executescript(change)
    with pytest.raises(DamagedRun, match="not as Vulcan declares it"):
        SQLiteStore(file)
    with pytest.raises(UserError, match="nothing can be saved"):
        repair(file)


def circle(file: Path) -> None:
    """Replace the root of `events` by inner pages that refer to each other's one leaf many times, level upon level."""
    with closing(sqlite3.connect(file)) as db:
        (root,) = db.execute("SELECT rootpage FROM sqlite_schema WHERE name = 'events'").fetchone()
    content = bytearray(file.read_bytes())
    size, count = 4096, len(content) // 4096
    leaf = content[(root - 1) * size : root * size]
    levels = 8

    def inner(child: int) -> bytes:
        cells = 300
        cell = child.to_bytes(4, "big") + b"\x01"
        start = size - 5 * cells
        head = b"\x05\0\0" + cells.to_bytes(2, "big") + start.to_bytes(2, "big") + b"\0" + child.to_bytes(4, "big")
        pointers = b"".join((start + 5 * n).to_bytes(2, "big") for n in range(cells))
        return (head + pointers).ljust(start, b"\0") + cell * cells

    content[(root - 1) * size : root * size] = inner(count + 1)
    for level in range(1, levels):
        content += inner(count + level + 1)
    content += leaf
    content[28:32] = (len(content) // size).to_bytes(4, "big")
    file.write_bytes(content)


READ: dict[str, Callable[[SQLiteStore], object]] = {
    "events": lambda store: list(store.events()),
    "started": SQLiteStore.started_at,
    "check": SQLiteStore.check,
}


@pytest.mark.parametrize("read", READ.values(), ids=READ)
def test_pages_that_refer_to_each_other_have_an_end(file: Path, read: Callable[[SQLiteStore], object]) -> None:
    circle(file)
    with closing(SQLiteStore(file)) as store, pytest.raises(DamagedRun):
        read(store)


def test_a_file_that_is_only_read_cannot_be_written_by_a_query(file: Path) -> None:
    with closing(SQLiteStore(file)) as store, pytest.raises(UserError, match="readonly"):
        store._rows("DELETE FROM events RETURNING id")
