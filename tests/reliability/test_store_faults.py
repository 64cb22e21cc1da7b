"""A disk that is full, or cannot be written, and a store that another program keeps locked."""

from __future__ import annotations

import resource
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest
from chat_server import ChatServer
from console import Console
from disturbed import RESUME, SEARCH, Model, contents, only_run
from edited_log import configured
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


@pytest.mark.slow
def test_a_search_that_may_write_no_more_bytes_goes_on_when_it_may(vulcan: Console, calm: list[Any]) -> None:
    """The same by a limit of the process, which needs no file system of its own."""
    model = Model(9)
    with ChatServer(model) as server:
        search = vulcan.start(*SEARCH, "--api-base", server.url)
        assert model.halted.wait(120)
        run = only_run(vulcan)
        largest = max(path.stat().st_size for path in run.iterdir())
        resource.prlimit(search.pid, resource.RLIMIT_FSIZE, (largest, resource.RLIM_INFINITY))
        model.goes_on.set()
        server._closing.set()  # those that wait are answered by nobody, and ask again
        _, errors = search.communicate(timeout=240)
    assert search.returncode == 2, errors
    assert "Traceback" not in errors
    with ChatServer(Model()) as server:
        change_address(run, server.url)
        vulcan.good("resume", run, *RESUME, VULCAN_API_BASE=server.url)
    assert contents(run) == calm


def change_address(run: Path, url: str) -> None:
    """A run keeps the address of its model: here the same model has another one."""
    configured(run / FILE, api_base=url)


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
