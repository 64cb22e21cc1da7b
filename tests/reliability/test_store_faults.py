"""A disk that is full, or cannot be written, and a store that another program keeps locked."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path

import pytest
from console import Console
from whole_runs import Runs

from vulcan.errors import UserError
from vulcan.store import SQLiteStore
from vulcan.store.events import RunStarted
from vulcan.store.runs import FILE


@contextmanager
def mounted(place: Path, options: str) -> Iterator[None]:
    """A file system of its own in memory; the test is skipped where nobody may mount one."""
    place.mkdir(exist_ok=True)
    command = ["mount", "-t", "tmpfs", "-o", options, "none", str(place)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        pytest.skip(f"nothing can be mounted here: {done.stderr.strip()}")
    try:
        yield
    finally:
        subprocess.run(["umount", "-l", str(place)], check=True)


def remount(place: Path, options: str) -> None:
    subprocess.run(["mount", "-o", f"remount,{options}", str(place)], check=True)


def test_a_finished_run_on_a_full_disk_is_shown_again_and_again(vulcan: Console, runs: Runs) -> None:
    full = vulcan.directory / "full"
    with mounted(full, "size=8m"):
        runs.copied(full / "mine")
        with suppress(OSError), (full / "rest").open("wb", buffering=0) as rest:
            while rest.write(bytes(4096)):
                pass
        before = vulcan.good("runs", "--runs-dir", full).stdout
        assert "mine" in before
        assert vulcan.good("show", full / "mine").stdout == vulcan.good("show", full / "mine").stdout
        assert vulcan.good("runs", "--runs-dir", full).stdout == before


HOLDS = """
import sqlite3, sys, time
db = sqlite3.connect(sys.argv[1], isolation_level=None)
db.execute("BEGIN IMMEDIATE")
print("held", flush=True)
sys.stdin.readline()
"""


@contextmanager
def locked(path: Path) -> Iterator[subprocess.Popen[str]]:
    command = [sys.executable, "-c", HOLDS, str(path)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "held\n"
        yield holder
        holder.kill()


def test_a_store_that_stays_locked_is_told_in_a_line_and_nothing_is_half_written(tmp_path: Path) -> None:
    path = tmp_path / FILE
    with closing(SQLiteStore(path, create=True)) as store, locked(path):
        store._db.execute("PRAGMA busy_timeout = 100")
        with pytest.raises(UserError, match=r"database is locked; .*: end that, then start again"):
            store.append(RunStarted({"task": "x"}, "0"))
        assert list(store.events()) == []  # who only reads is not kept waiting
