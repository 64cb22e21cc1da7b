"""The views by which a run's file is asked with SQL."""

from __future__ import annotations

import json
from contextlib import closing
from pathlib import Path

import pytest
from awkward_events import EVENTS, FLOATS, TEXT, rows

from vulcan.store import SQLiteStore

AS_SQL_SHOWS_IT = TEXT.partition("\x00")[0]
"""SQLite's JSON functions end a text at its first NUL; reading events back does not go through them."""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A run's file with every kind of event in it."""
    path = tmp_path / "run.db"
    with closing(SQLiteStore(path, create=True)) as store:
        store.append(*EVENTS)
    return path


def test_view_proposals(path: Path) -> None:
    columns = "id, round, operator, parents, seed, model, island, form"
    assert rows(path, f"SELECT {columns} FROM proposals ORDER BY id") == [
        (1, 0, "seed", "[]", 0, "", 0, "full"),
        (2, 1, "mutate", "[1,1]", 2**63 - 1, "a model", 3, "diff"),
        (3, 1, "advice", "[]", 5, "a model", 0, "full"),
    ]


def test_view_candidates(path: Path) -> None:
    columns = "id, proposal, turn, verdict, score, duplicate_of, operations, fingerprint, rules, feedback, source"
    assert rows(path, f"SELECT {columns} FROM candidates ORDER BY id") == [
        (1, 1, 0, "scored", 1 / 3, None, 17, "f" * 64, "[]", "", TEXT),
        (2, 2, 0, "rejected", None, None, None, None, '["no-code-block","while"]', AS_SQL_SHOWS_IT, ""),
        (3, 2, 1, "duplicate", None, 1, 17, "f" * 64, "[]", "", TEXT),
        (4, 2, 2, "timeout", None, None, 0, "e", "[]", "took 1 s", "def f():\n    return 0\n"),
        (5, 2, 3, "no-reply", None, None, None, None, "[]", "gave up", ""),
        (6, 1, 0, "scored", 0.1, None, 1, "d", "[]", "", TEXT),
    ]
    columns = "id, origin, derived_from, rungs, signature"
    found = rows(path, f"SELECT {columns} FROM candidates WHERE id IN (1, 2, 6) ORDER BY id")
    assert [(*row[:3], json.loads(str(row[3])), row[4]) for row in found] == [
        (1, "seed", None, [["R=0.1", 0.1], ["R=0.3", -1 / 7]], "ab"), (2, "model", None, [], None),
        (6, "tuned", 1, [], None),
    ]  # fmt: skip


def test_view_verdicts(path: Path) -> None:
    assert sorted(rows(path, "SELECT verdict, candidates FROM verdicts")) == [
        ("duplicate", 1), ("no-reply", 1), ("rejected", 1), ("scored", 2), ("timeout", 1),
    ]  # fmt: skip


def test_view_scores(path: Path) -> None:
    found = rows(path, "SELECT candidate, split, instance, metric, value FROM scores")
    expected = [
        (1, split, instance, metric, value)
        for split in ("train", "test")
        for instance, metrics in (("b@10%", FLOATS), ("a", {AS_SQL_SHOWS_IT: 1.0}))
        for metric, value in metrics.items()
    ]
    assert sorted(found, key=repr) == sorted(expected, key=repr)


def test_view_baselines(path: Path) -> None:
    found = rows(path, "SELECT policy, kind, split, score, instance, metric, value FROM baselines")
    assert len(found) == len(FLOATS) + 1
    assert ("lru", "baseline", "train", 0.1 + 0.2, "b@10%", "third", 1 / 3) in found
    assert ("lru", "baseline", "train", 0.1 + 0.2, "a", AS_SQL_SHOWS_IT, 1.0) in found
