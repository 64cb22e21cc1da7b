"""A mistake of the user's ends in one line and exit code 2 (1 for a rejected policy), and leaves nothing behind."""

from __future__ import annotations

from pathlib import Path

import pytest
from console import LRU, MOOD_TASK, ZIPF, Console, Result, one_line

CACHE = ("search", "--task", "cache_eviction", "--executor", "local", "--workers", "1")
MOOD = ("search", "--task", MOOD_TASK, "--executor", "local", "--workers", "1", "--budget-candidates", "1")
EVAL = ("eval", "lru.py", "--task", "cache_eviction", "--trace", ZIPF)

MISTAKES: dict[str, tuple[tuple[str, ...], str]] = {
    "unknown task": (("search", "--task", "cache_evicton"), "did you mean 'cache_eviction'?"),
    "no task": (("search",), "--task"),
    "missing trace": ((*CACHE, "--trace", "/nonexistent"), "/nonexistent"),
    "cache size 0": ((*CACHE, "--trace", ZIPF, "--cache-size", "0"), "0"),
    "one cache size twice": ((*CACHE, "--trace", ZIPF, "--cache-size", "5%", "--cache-size", "5%"), "two instances"),
    "budget that is no number": ((*MOOD[:-1], "few"), "--budget-candidates"),
    "missing policy": (("eval", "none.py", "--task", "cache_eviction"), "cannot read the policy none.py"),
    "no such run": (("show", "nosuchrun"), "no run 'nosuchrun'"),
    "run that is no run": (("show", "notrun"), "run.db"),
    "no such command": (("serach",), "No such command 'serach'"),
    "no such option": (("runs", "--jsn"), "--jsn"),
    "argument too many": (("tasks", "--json", "extra"), "extra"),
    "misspelt option of a task": ((*CACHE, "--cache-sise", "10%"), "did you mean '--cache-size'?"),
    "option that is near no other": ((*CACHE, "--job-hours", "3"), "no option --job-hours (`vulcan task show"),
    "dashes are nothing in common": ((*MOOD, "--trace", "x"), "no option --trace (`vulcan task show"),
    "table where counts of pages are due": (
        ("search", "--task", "memory_tiering", "--trace", "bad.csv"), "not an .npz file of page counts"
    ),
    "option of a task without its value": ((*MOOD, "--weight"), "--weight needs a value"),
    "option of a task given twice": ((*MOOD, "--weight", "1", "--weight", "2"), "--weight is given twice"),
    "flag of a task with a value": ((*MOOD, "--hurry=yes"), "--hurry takes no value"),
    "setting that is no number": ((*MOOD, "--weight", "much"), "--weight 'much' is not a number"),
    "word that belongs to nothing": ((*MOOD, "now"), "'now' is not expected here"),
    "trace with a malformed line": ((*CACHE, "--trace", "bad.csv", "--columns", "time=1,id=2"), "bad.csv, line 3"),
    "runs directory that is a file": ((*MOOD, "--runs-dir", "lru.py/runs"), "name another place with --runs-dir"),
    "no such part": ((*EVAL, "--part", "tset"), "part 'tset'"),
    "candidate that is no number": (("show", "run", "best"), "'candidate': a whole number is expected"),
    "output in a directory that is not there": (
        ("export", "lru.py", "--task", "cache_eviction", "-o", "no/such/out.py"), "there is no directory no/such"
    ),
}  # fmt: skip


FILES = ["bad.csv", "empty", "junk.vscsi", "lru.py", "notrun"]


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory where all the mistakes are made."""
    place = tmp_path_factory.mktemp("mistakes")
    (place / "junk.vscsi").write_bytes(bytes(range(7, 256)) * 5)
    (place / "bad.csv").write_text("1,a\n2,b\nthree\n4,d\n")
    (place / "lru.py").write_text(LRU)
    (place / "empty").mkdir()
    (place / "notrun").mkdir()
    (place / "notrun" / "run.db").write_text("no database, but a file of that name" * 100)
    return place


def nothing_is_left_in(place: Path) -> bool:
    left = sorted(path.name for path in place.iterdir())
    return left == FILES and [path.name for path in (place / "notrun").iterdir()] == ["run.db"]


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_is_told_in_one_line(place: Path, mistake: str) -> None:
    command, says = MISTAKES[mistake]
    line = one_line(Console(place)(*command))
    assert line.startswith("vulcan: ")
    assert says in line
    assert nothing_is_left_in(place)


def test_a_rejected_policy_is_exit_code_1(vulcan: Console) -> None:
    (vulcan.directory / "bad.py").write_text("def priority(now, obj, cache, ghost):\n    return obj.colour\n")
    checked = vulcan("check", "bad.py", "--task", "cache_eviction")
    assert checked.returncode == 1
    assert checked.stderr == ""
    assert checked.stdout.startswith("rejected: bad.py\n")
    line = one_line(vulcan("eval", "bad.py", "--task", "cache_eviction", "--trace", ZIPF, "--json"), code=1)
    assert line.startswith("rejected: line ") and "colour" in line


def test_a_policy_that_fails_on_the_evaluator_is_exit_code_1(vulcan: Console) -> None:
    source = "def decide(load, room):\n    if load + room == 0:\n        return 104\n    return load\n"
    (vulcan.directory / "bad.py").write_text(source)
    line = one_line(vulcan("eval", "bad.py", "--task", MOOD_TASK), code=1)
    assert line == "failed: light: LookupError: no such mood"


def test_an_unknown_candidate_of_a_run(vulcan: Console) -> None:
    run = vulcan.search("--budget-candidates", "1")["run"]
    assert one_line(vulcan("show", run, "99")) == f"vulcan: {run} has no candidate 99: they go from 1 to 3"
    assert "has no policy of number 99" in one_line(vulcan("export", run, "--candidate", "99"))
    assert "cannot write lru.py/x.py" in one_line(_export_into_a_file(vulcan, run))
    assert "wasm" in one_line(vulcan("export", run, "--format", "wasm"))


def _export_into_a_file(vulcan: Console, run: str) -> Result:
    (vulcan.directory / "lru.py").write_text(LRU)
    return vulcan("export", run, "-o", "lru.py/x.py")


def test_a_damaged_run_does_not_hide_the_others(vulcan: Console) -> None:
    good = vulcan.search("--budget-candidates", "1")["run"]
    bad = vulcan.directory / "runs" / "bad"
    bad.mkdir()
    (bad / "run.db").write_text("nothing" * 999)
    result = vulcan("runs")
    assert result.returncode == 0
    assert Path(good).name in result.stdout
    assert result.stderr == (
        "vulcan: the run's file runs/bad/run.db is damaged: file is not a database; "
        "`vulcan repair runs/bad` rebuilds it from its replies\n"
    )
