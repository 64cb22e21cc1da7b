"""A run's file is there whole or not at all, wherever the process that makes it is killed."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from vulcan.store.runs import FILE, LOCK, create_store, open_store, run_directories

# In a child for each line that the making of a store consists of: that child is killed as it comes to this line.
KILLED_AT_EACH_LINE = """
import json, os, signal, sys
from pathlib import Path
from vulcan.store import file
from vulcan.store.runs import LOCK, create_store

runs, own = Path(sys.argv[1]), {file.__file__}

def killed_at(last):
    passed = 0
    def step(frame, kind, argument):
        nonlocal passed
        if frame.f_code.co_filename not in own:
            return None
        passed += kind == "line"
        if passed == last:
            os.kill(os.getpid(), signal.SIGKILL)
        return step
    sys.settrace(step)

ends = []
while not ends or ends[-1] != 0:
    run = runs / f"run-{len(ends):03}"
    run.mkdir(parents=True)
    (run / LOCK).touch()
    child = os.fork()
    if child == 0:
        killed_at(len(ends) + 1)
        create_store(run)
        os._exit(0)
    ends.append(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
print(json.dumps(ends))
"""


@pytest.fixture(scope="module")
def killed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory of runs; the making of each was killed at another line, but of the last."""
    runs = tmp_path_factory.mktemp("killed") / "runs"
    done = subprocess.run(
        [sys.executable, "-c", KILLED_AT_EACH_LINE, runs], text=True, capture_output=True, check=True, timeout=120
    )
    ends = json.loads(done.stdout)
    assert ends == [-9] * (len(ends) - 1) + [0]
    assert len(ends) > 20
    return runs


def test_a_file_is_there_whole_or_not_at_all(killed: Path) -> None:
    there = run_directories(killed)
    for run in there:
        with closing(open_store(run)) as store:
            store.check()
            assert list(store.events()) == []
    assert 1 < len(there) < len(list(killed.iterdir()))  # it was killed before and after the file had its name
    left = {file.name for run in killed.iterdir() if run not in there for file in run.iterdir()}
    assert {LOCK, f"{FILE}.new"} <= left <= {LOCK, *(f"{FILE}.new{ending}" for ending in ("", "-wal", "-shm"))}


def test_what_is_left_of_one_that_was_killed_does_not_disturb_the_next(killed: Path, tmp_path: Path) -> None:
    half_made = [run / f"{FILE}.new" for run in killed.iterdir() if (run / f"{FILE}.new").is_file()]
    assert len({new.stat().st_size for new in half_made}) > 1  # some are empty, and some almost made
    for number, new in enumerate(half_made):
        run = tmp_path / str(number)
        run.mkdir()
        shutil.copy(new, run)
        with closing(create_store(run)) as store:
            assert list(store.events()) == []
        assert {file.name for file in run.iterdir()} == {FILE}


def test_a_disk_that_is_full_at_the_very_beginning_leaves_nothing_behind(tmp_path: Path) -> None:
    """A run that does not exist yet is not said to be one to go on with."""
    make = f"from pathlib import Path; from vulcan.store import SQLiteStore; SQLiteStore(Path({FILE!r}), create=True)"
    limited = f"import resource, signal; resource.setrlimit(resource.RLIMIT_FSIZE, (9000, -1)); {make}"
    done = subprocess.run([sys.executable, "-c", limited], cwd=tmp_path, text=True, capture_output=True, check=False)
    assert f"cannot use the run's file {FILE}: disk" in done.stderr.splitlines()[-1]
    assert done.stderr.splitlines()[-1].endswith("then start again")
    assert list(tmp_path.iterdir()) == []
