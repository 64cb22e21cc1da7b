"""A run whose file or journal is damaged is repaired, and goes on to the end that it would have come to."""

from __future__ import annotations

import json
import random
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest
from console import Console, one_line
from effort import slow
from whole_runs import Runs, held

from vulcan.store.file import make_file
from vulcan.store.journal import journal_of, read_journal
from vulcan.store.recovery import repair
from vulcan.store.runs import FILE
from vulcan.store.sqlite import DamagedRun

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


DAMAGES = (cut, zeroed, garbled, beheaded, shuffled)


@pytest.mark.parametrize("seed", [0, *map(slow, (1, 2, 3))])
@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_run_is_repaired_and_ends_as_it_would_have(
    runs: Runs, tmp_path: Path, damage: Damage, seed: int
) -> None:
    run = runs.copied(tmp_path / "run")
    damaged(run, damage, seed)
    before, replies = (run / FILE).read_bytes(), len(runs.calls)
    done = repair(run / FILE)
    if done is not None:  # else the damage was where there was nothing
        assert done.kept_as is not None
        assert Path(done.kept_as).read_bytes() == before
        assert (done.replies, done.lines_lost, done.replies_left_out) == (replies, 0, 0)
    assert repair(run / FILE) is None
    asked = runs.go_on(run)
    assert asked == 0
    assert held(run) == runs.held


def test_replies_are_taken_from_wherever_they_are_left_where_both_are_damaged(runs: Runs, tmp_path: Path) -> None:
    run = runs.copied(tmp_path / "run")
    journal = journal_of(run / FILE)
    lines = journal.read_bytes().splitlines(keepends=True)
    lines[3] = lines[3].replace(b"Record", b"Recrod", 1)
    lines[7] = b"?\n"
    journal.write_bytes(b"".join(lines))
    with closing(sqlite3.connect(run / FILE)) as db:  # one of the two replies is left in the file
        proposal, turn = list(runs.calls)[6]
        where = "kind = 'CallRecord' AND data ->> 'proposal' = ? AND data ->> 'turn' = ?"
        db.execute(f"DELETE FROM events WHERE {where}", (proposal, turn))
        db.commit()
    done = repair(run / FILE)
    assert done is not None
    assert (done.replies, done.lines_lost) == (len(runs.calls) - 1, 2)
    assert Path(f"{journal}.damaged-1").read_bytes() == b"".join(lines)
    assert read_journal(journal).damaged == 0
    assert runs.go_on(run) == 1
    assert held(run) == runs.held


@pytest.mark.parametrize("what", ["missing", "damaged", "gap", "another"])
def test_a_journal_is_written_again_from_a_sound_run(runs: Runs, tmp_path: Path, what: str) -> None:
    run = runs.copied(tmp_path / "run")
    journal = journal_of(run / FILE)
    whole = journal.read_bytes()
    lines = journal.read_bytes().splitlines(keepends=True)
    match what:
        case "missing":
            journal.unlink()
        case "damaged":
            journal.write_bytes(b"".join([*lines[:2], b"x" * 50 + b"\n", *lines[3:]]))
        case "gap":
            journal.write_bytes(b"".join([*lines[:3], *lines[4:]]))
        case "another":
            (other := tmp_path / "other").mkdir()
            Runs.recorded(other, runs.executor, seed=5)
            journal.write_bytes(journal_of(other / FILE).read_bytes())
            with pytest.raises(DamagedRun, match=r"of another search; .* sets that aside"):
                held(run)
    done = repair(run / FILE)
    assert done is not None
    assert (done.file, done.replies) == (str(journal), len(runs.calls))
    assert "\n" not in done.damage
    assert journal.read_bytes() == whole
    assert Path(f"{journal}.damaged-1").exists() == (what in ("damaged", "another"))
    assert repair(run / FILE) is None
    assert held(run) == runs.held


def test_a_run_that_lost_its_write_ahead_log_is_damaged_and_no_reply_is_lost(runs: Runs, vulcan: Console) -> None:
    """As of a copy of the two files of a search that was killed: until it ends, the file has its schema alone."""
    run = runs.copied(vulcan.directory / "runs" / "mine")
    (run / FILE).unlink()
    make_file(run / FILE)
    for command in ("show", "report", "export", "resume"):
        line = one_line(vulcan(command, "mine"))
        assert "is damaged: what follows event 0 is gone, and its journal goes on; `vulcan repair runs/mine`" in line
    (one,) = vulcan.document("repair", "mine")["repaired"]
    assert one["replies"] == len(runs.calls)
    assert runs.go_on(run) == 0
    assert held(run) == runs.held


def test_the_command_says_what_was_saved_and_how_to_go_on(runs: Runs, vulcan: Console) -> None:
    run = runs.copied(vulcan.directory / "runs" / "mine")
    damaged(run, cut, 3)
    again = one_line(vulcan("show", "mine"))
    assert "is damaged: " in again
    assert "`vulcan repair runs/mine` rebuilds it from its replies" in again
    said = vulcan.good("repair", "mine").stdout.splitlines()
    assert said[0].startswith("runs/mine/run.db was damaged: ")
    assert said[1] == f"  replies: {len(runs.calls)} in the run now; 0 lines of the journal cannot be read"
    assert said[2] == "  the damaged file is kept as runs/mine/run.db.damaged-1"
    assert said[3:] == ["Continue with `vulcan resume runs/mine`."]
    assert vulcan.good("repair", "mine").stdout == "nothing is wrong with runs/mine\n"
    assert vulcan.document("repair", "mine") == {"run": "runs/mine", "repaired": []}
    assert json.loads(vulcan.good("show", "mine", "--json").stdout)["state"] == "open"


@pytest.mark.parametrize("content", [b"", b"no run at all\n" * 999])
def test_where_nothing_can_be_saved_nothing_is_changed(vulcan: Console, content: bytes) -> None:
    run = vulcan.directory / "runs" / "mine"
    run.mkdir(parents=True)
    (run / FILE).write_bytes(content)
    assert "nothing can be saved" in one_line(vulcan("repair", "mine"))
    assert {path.name for path in run.iterdir()} == {FILE, "run.lock"}
    assert (run / FILE).read_bytes() == content
