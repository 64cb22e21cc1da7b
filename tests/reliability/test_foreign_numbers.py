"""A run that somebody wrote: its log is sound, and a value in it is none that Vulcan computes.

Every value of a run is changed to what its type admits, or does not, and each command then shows the run or refuses it
in a line. At each commit a seeded sample of the values; with `VULCAN_FAULTS=all` each of them.
"""

from __future__ import annotations

import json
import os
import random
import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from forked_commands import MOOD, Commands, commands

from vulcan.store.journal import journal_of
from vulcan.store.rows import FIRST, chained
from vulcan.store.runs import FILE

ALL = os.environ.get("VULCAN_FAULTS") == "all"
SAMPLE = 10
SEARCH = (
    "search", "--task", MOOD, "--objective", "calm", "--budget-candidates", "6", "--seed", "3", "--tune", "8",
    "--simplify", "2", "--finalists", "2", "--executor", "local", "--workers", "1", "--quiet",
)  # fmt: skip
COMMANDS = (
    ("show", "mine"),
    ("show", "mine", "1", "--json"),
    ("report", "mine", "-o", "report.html", "--force"),
    ("export", "mine", "--list"),
    ("runs",),
    ("resume", "mine", "--executor", "local", "--workers", "1", "--quiet"),
)
OTHERS: dict[type, tuple[Any, ...]] = {
    int: (10**400, -(10**400), 10**25, -1, 0, 1.5),
    float: (10**400, 1e308, -1e308, 5e-324, 0.0, 7),
    str: ("", "another", "\ud800", "\x1b[2J", "x" * 5000),
    list: ([],),
    bool: (None,),
    type(None): (0, "", []),
}

pytestmark = pytest.mark.faults


@pytest.fixture(scope="module")
def forks() -> Iterator[Commands]:
    with commands(*SEARCH) as found:
        yield found


@pytest.fixture(scope="module")
def place(forks: Commands, tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("foreign")
    ended = forks.run(*SEARCH, directory=str(place))
    assert ended.code == 0, ended.said
    (run,) = (place / "runs").iterdir()
    run.rename(place / "whole")
    return place


Steps = tuple[str | int, ...]


def values(of: Any, steps: Steps = ()) -> Iterator[tuple[Steps, Any]]:
    """Every value inside a JSON value, with the way to it."""
    if steps:
        yield steps, of
    inside = of.items() if isinstance(of, dict) else enumerate(of) if isinstance(of, list) else ()
    for step, value in inside:
        yield from values(value, (*steps, step))


def changed(rows: list[tuple[Any, ...]], number: int, steps: Steps, value: object) -> list[tuple[Any, ...]]:
    """The rows, in one of which a value is another, and all digests are right."""
    fields = json.loads(rows[number][3])
    place = fields
    for step in steps[:-1]:
        place = place[step]
    place[steps[-1]] = value
    result, digest = list(rows[:number]), rows[number - 1][4] if number else FIRST
    edited = (*rows[number][:3], json.dumps(fields))
    for identity, time, kind, data in [edited, *(row[:4] for row in rows[number + 1 :])]:
        digest = chained(digest, time, kind, data)
        result.append((identity, time, kind, data, digest))
    return result


def test_no_value_of_a_run_makes_a_command_raise(forks: Commands, place: Path) -> None:
    with closing(sqlite3.connect(place / "whole" / FILE)) as db:
        rows = db.execute("SELECT id, time, kind, data, digest FROM events ORDER BY id").fetchall()
    rng = random.Random(33)
    every = [
        (number, steps, rng.choice(OTHERS[type(value)]))
        for number, row in enumerate(rows)
        for steps, value in values(json.loads(row[3]))
        if type(value) in OTHERS
    ]
    tried = every if ALL else rng.sample(every, SAMPLE)
    wrong: dict[str, str] = {}
    for number, steps, value in tried:
        run = place / "runs" / "mine"
        shutil.rmtree(run, ignore_errors=True)
        shutil.copytree(place / "whole", run)
        journal_of(run / FILE).unlink()
        with closing(sqlite3.connect(run / FILE)) as db, db:
            db.execute("DELETE FROM events")
            db.executemany("INSERT INTO events VALUES (?, ?, ?, ?, ?)", changed(rows, number, steps, value))
        for words in COMMANDS:
            ended = forks.run(*words, directory=str(place), seconds=60.0)
            if ended.code not in (0, 2) or "Traceback" in ended.said:
                wrong[f"{rows[number][2]} {steps} {value!r:.20}: {words[0]}"] = f"{ended.code}: {ended.said[-800:]}"
    print(f"{len(tried)} of {len(every)} values changed, and {len(tried) - len(wrong)} were held")
    assert not wrong, "\n".join(f"{what}: {how}" for what, how in wrong.items())
