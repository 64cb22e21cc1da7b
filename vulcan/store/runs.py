"""Where runs lie, and one search at a time in each."""

from __future__ import annotations

import fcntl
import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path

from vulcan.errors import UserError, nearest
from vulcan.store.sqlite import SQLiteStore

FILE = "run.db"
LOCK = "run.lock"


def new_run(runs: Path, task: str) -> Path:
    """A directory for a new run. Raises UserError where it cannot be made."""
    name = f"{task}-{datetime.now():%Y%m%d-%H%M%S}-{secrets.token_hex(2)}"
    place = runs / name
    try:
        place.mkdir(parents=True)
    except OSError as error:
        raise UserError(f"cannot write runs to {runs}: {error.strerror}; name another place with --runs-dir") from error
    return place


def find_run(run: str, runs: Path) -> Path:
    """The directory of a run, named by its path or its name in `runs`. Raises UserError."""
    for place in (Path(run), runs / run):
        if (place / FILE).is_file():
            return place
    known = [place.name for place in run_directories(runs)]
    raise UserError(f"no run {run!r} in {runs}{nearest(run, known)} (`vulcan runs` lists them)")


def run_directories(runs: Path) -> list[Path]:
    """Every run, by name."""
    return sorted(file.parent for file in runs.glob(f"*/{FILE}"))


def open_store(run: Path) -> SQLiteStore:
    return SQLiteStore(run / FILE)


def create_store(run: Path) -> SQLiteStore:
    return SQLiteStore(run / FILE, create=True)


@contextmanager
def alone_in(run: Path) -> Iterator[None]:
    """Hold the run against other searches; the lock goes with the process. Raises UserError where it is taken."""
    try:
        file = open(run / LOCK, "w")  # noqa: SIM115 (closed below; an error of the block is none of this file's)
    except OSError as error:
        raise UserError(f"cannot write to the run {run}: {error.strerror}") from error
    with file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise UserError(f"another process is searching in {run}; wait for it, or stop it") from None
        file.write(str(os.getpid()))
        file.flush()
        yield
