"""A run whose file is damaged is repaired, and goes on to the end that it would have come to."""

from __future__ import annotations

import json
import os
import random
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest
from console import Console, one_line
from whole_runs import Runs, held

from vulcan.errors import UserError
from vulcan.store import SQLiteStore
from vulcan.store.events import CandidateProposed, Event, RunStopped
from vulcan.store.recovery import damage_of, repair
from vulcan.store.runs import CONTROL, FILE
from vulcan.store.sqlite_pages import rows_left

PAGE = 4096
Damage = Callable[[bytearray, random.Random], None]


def cut(file: bytearray, rng: random.Random) -> None:
    """The end is gone, as after a crash of the system."""
    del file[rng.randrange(2 * PAGE, len(file)) :]


def zeroed(file: bytearray, rng: random.Random) -> None:
    """A few pages are nothing but zeros."""
    for _ in range(3):
        start = rng.randrange(1, len(file) // PAGE) * PAGE
        file[start : start + PAGE] = bytes(PAGE)


def garbled(file: bytearray, rng: random.Random) -> None:
    """Some sectors hold something else."""
    for _ in range(3):
        start = rng.randrange(0, len(file) // 512) * 512
        file[start : start + 512] = rng.randbytes(512)


def beheaded(file: bytearray, rng: random.Random) -> None:
    """The first page is gone, and with it what says which tables there are and where."""
    file[:PAGE] = bytes(PAGE)


def shuffled(file: bytearray, rng: random.Random) -> None:
    """Two pages stand in each other's place."""
    one, other = (n * PAGE for n in rng.sample(range(1, len(file) // PAGE), 2))
    file[one : one + PAGE], file[other : other + PAGE] = file[other : other + PAGE], file[one : one + PAGE]


def damaged(run: Path, damage: Damage, seed: int, name: str = FILE) -> None:
    file = bytearray((run / name).read_bytes())
    damage(file, random.Random(seed))
    (run / name).write_bytes(file)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("damage", [cut, zeroed, garbled, beheaded, shuffled])
def test_a_damaged_run_is_repaired_and_ends_as_it_would_have(
    runs: Runs, tmp_path: Path, damage: Damage, seed: int
) -> None:
    run = runs.copied(tmp_path / "run")
    damaged(run, damage, seed)
    before = (run / FILE).read_bytes()
    done = repair(run / FILE)
    if done is not None:  # else the damage was where there was nothing
        assert done.kept_as.read_bytes() == before
        assert 1 <= done.saved.events <= done.saved.events_seen
    assert damage_of(run / FILE) is None
    assert repair(run / FILE) is None
    runs.go_on(run)
    assert held(run) == runs.held


def test_all_that_is_in_a_sound_file_is_found_in_its_pages(runs: Runs) -> None:
    """The reader of pages agrees with SQLite, row for row."""
    found = set(rows_left(runs.whole / FILE))
    with closing(sqlite3.connect(runs.whole / FILE)) as db:
        events = db.execute("SELECT id, time, kind, data FROM events").fetchall()
        texts = db.execute("SELECT hash, text FROM texts").fetchall()
        calls = db.execute("SELECT * FROM calls").fetchall()
    assert {(row.key, *row.values[1:]) for row in found if row.key and row.values[0] is None} == set(events)
    assert {row.values for row in found if row.key is None and len(row.values) == 2} == set(texts)
    assert {row.values for row in found if row.key is None and len(row.values) == 12} == set(calls)
    assert len(events) > 60
    assert max(len(text) for _, text in texts) > 2 * PAGE  # it goes on in several other pages


LEFT_IN_LOG = """
import os, sys
from contextlib import closing
from pathlib import Path
from vulcan.store import SQLiteStore
with closing(SQLiteStore(Path(sys.argv[1]))) as whole:
    events, calls = list(whole.events()), list(whole.calls())
store = SQLiteStore(Path(sys.argv[2]), create=True)
store.append(*events[:20])
for call in calls[:10]:
    store.keep_call(call)
store._db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
store._db.execute("PRAGMA wal_autocheckpoint = 0")
for event in events[20:40]:
    store.append(event)
for call in calls[10:]:
    store.keep_call(call)
os._exit(0)
"""


def test_what_is_only_in_the_write_ahead_log_is_saved_too(runs: Runs, tmp_path: Path) -> None:
    """As a search leaves it that was killed: the later half is in the log alone, whose end is torn off."""
    run = tmp_path / "run"
    run.mkdir()
    shutil.copy(runs.whole / CONTROL, run / CONTROL)
    subprocess.run([sys.executable, "-c", LEFT_IN_LOG, runs.whole / FILE, run / FILE], check=True)
    log = run / f"{FILE}-wal"
    size = log.stat().st_size
    assert size > 20 * PAGE
    os.truncate(log, size - 5 * PAGE)
    most = 0
    for page in range(1, (run / FILE).stat().st_size // PAGE):
        copy = Path(shutil.copytree(run, tmp_path / f"{page}"))
        file = bytearray((copy / FILE).read_bytes())
        file[page * PAGE : (page + 1) * PAGE] = bytes(PAGE)
        (copy / FILE).write_bytes(file)
        if (done := repair(copy / FILE)) is None:
            continue  # the page stands in the log anew, and what is torn off was never committed
        assert done.kept_as.with_name(done.kept_as.name + "-wal").stat().st_size == size - 5 * PAGE
        assert not (copy / f"{FILE}-wal").exists()
        assert done.saved.events_seen == 40
        if done.saved.events > most:
            most = done.saved.events
            runs.go_on(copy)
            assert held(copy) == runs.held
    assert most > 20


def test_an_answer_that_is_lost_is_asked_for_again(runs: Runs, tmp_path: Path) -> None:
    """The events behind it are not kept either, for they were made from it."""
    run = runs.copied(tmp_path / "run")
    with closing(sqlite3.connect(run / FILE)) as db:
        proposal, text = db.execute(
            "SELECT proposal, reply FROM calls GROUP BY reply HAVING count(*) = 1 ORDER BY proposal LIMIT 1 OFFSET 3"
        ).fetchone()
        db.execute("DELETE FROM texts WHERE hash = ?", (text,))
        db.commit()
    with pytest.raises(UserError, match=r"is damaged: a text is gone; `vulcan repair .*` saves what can be read"):
        held(run)
    done = repair(run / FILE)
    assert done is not None
    assert done.saved.calls_lost == 1
    with closing(SQLiteStore(run / FILE)) as store:
        asked = [event.proposal for event in store.events() if isinstance(event, CandidateProposed)]
    assert max(asked) == proposal - 1
    runs.go_on(run)
    assert held(run) == runs.held


def test_a_damaged_control_is_repaired_as_well(runs: Runs, vulcan: Console) -> None:
    """A search that was killed while its control ran."""
    run = runs.copied(vulcan.directory / "runs" / "mine")
    with closing(sqlite3.connect(run / FILE)) as db:
        db.execute("DELETE FROM events WHERE kind IN ('Controlled', 'Stopped')")
        db.commit()
    damaged(run, cut, 1, CONTROL)
    document = vulcan.document("repair", "mine")
    assert [Path(repaired["file"]).name for repaired in document["repaired"]] == [CONTROL]
    runs.go_on(run)
    assert held(run) == runs.held


def test_the_command_says_what_was_saved_and_how_to_go_on(runs: Runs, vulcan: Console) -> None:
    run = runs.copied(vulcan.directory / "runs" / "mine")
    damaged(run, cut, 3)
    again = one_line(vulcan("show", "mine"))
    assert "is damaged: " in again
    assert "`vulcan repair runs/mine` saves what can be read" in again
    said = vulcan.good("repair", "mine").stdout.splitlines()
    assert said[0].startswith("runs/mine/run.db was damaged: ")
    assert said[-2].endswith("the damaged file is kept as runs/mine/run.db.damaged-1")
    assert said[-1] == "Go on with `vulcan resume runs/mine`."
    assert vulcan.good("repair", "mine").stdout == "nothing is wrong with runs/mine\n"
    assert vulcan.document("repair", "mine") == {"run": "runs/mine", "repaired": []}
    assert json.loads(vulcan.good("show", "mine", "--json").stdout)["state"] == "open"


def test_a_run_of_which_only_the_beginning_is_left_is_searched_again(runs: Runs, tmp_path: Path) -> None:
    run = runs.copied(tmp_path / "run")
    (run / FILE).write_bytes(b"")
    done = repair(run / FILE)
    assert done is not None
    assert (done.damage, done.saved.events, done.saved.calls) == ("it is empty", 1, 0)
    runs.go_on(run)
    assert held(run) == runs.held


@pytest.mark.parametrize(
    ("content", "says"), [(b"", "nothing can be saved"), (b"no run at all\n" * 999, "nothing can be saved")]
)
def test_where_nothing_can_be_saved_nothing_is_changed(vulcan: Console, content: bytes, says: str) -> None:
    run = vulcan.directory / "runs" / "mine"
    run.mkdir(parents=True)
    (run / FILE).write_bytes(content)
    assert says in one_line(vulcan("repair", "mine"))
    assert {path.name for path in run.iterdir()} == {FILE, "run.lock"}
    assert (run / FILE).read_bytes() == content


def test_a_run_that_is_searched_in_is_not_repaired(runs: Runs, vulcan: Console) -> None:
    from vulcan.store.runs import lock_run

    run = runs.copied(vulcan.directory / "runs" / "mine")
    with lock_run(run):
        assert "another process is searching in" in one_line(vulcan("repair", "mine"))


def test_a_run_that_was_answered_by_hand_goes_on_from_what_is_left(tmp_path: Path) -> None:
    """What was asked behind the first gap is asked anew: no answer stands for another question."""
    from vulcan.store.events import CallRecord, CandidateJudged, InstancesPrepared, RunStarted

    def call(number: int) -> CallRecord:
        return CallRecord(number, 0, (("user", f"question {number}"),), f"answer {number}", "me", "stop", 1, 1, None, 1)

    path = tmp_path / FILE
    events: list[Event] = [RunStarted({"task": "x"}, "0"), InstancesPrepared(())]
    for number in (1, 2, 3):
        judged = CandidateJudged(number, number, 0, f"source {number}", "f", "scored", "", (), 1, 1, None, 1.0, ())
        events += [CandidateProposed(number, 1, "initial", (), 0, "ask"), judged]
    with closing(SQLiteStore(path, create=True)) as store:
        store.append(*events, RunStopped("interrupted"))
        for number in (1, 2, 3, 4, 5, 6):
            store.keep_asked(number, 0)
            if number != 4:
                store.keep_call(call(number))
    with closing(sqlite3.connect(path)) as db:
        db.execute("DELETE FROM asked WHERE proposal = 5")
        db.execute("DELETE FROM calls WHERE proposal = 5")
        db.execute("UPDATE events SET data = '{' WHERE id = 8")
        db.commit()
    done = repair(path)
    assert done is not None
    with closing(SQLiteStore(path)) as store:
        assert list(store.events()) == events[:6]
        assert list(store.asked()) == [(1, 0), (2, 0), (3, 0), (4, 0)]
        assert [replace(c, seconds=1) for c in store.calls()] == [call(1), call(2), call(3)]
