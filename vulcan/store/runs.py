"""Run directories, and the lock that allows one search at a time in each."""

from __future__ import annotations

import fcntl
import os
import re
import secrets
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from datetime import datetime
from pathlib import Path
from typing import IO

from vulcan.errors import UserError, did_you_mean
from vulcan.store.base import Store
from vulcan.store.journal import journal_of
from vulcan.store.sqlite import SQLiteStore

FILE = "run.db"
LOCK = "run.lock"

LATEST = "latest"
"""What stands for the newest run, in the place of its name."""

_TIME = re.compile(r"\d{8}-\d{6}")

_BETWEEN_TRIES = 0.05  # seconds


class RunNotStarted(UserError):
    """A search was stopped before anything was recorded, and so before it asked or measured anything."""

    def __init__(self, run: Path) -> None:
        super().__init__(
            f"{run} was stopped before anything of its search was written down: nothing is lost; "
            "delete it, and start the search again"
        )


def new_run(runs: Path, task: str) -> Path:
    """Create the directory of a new run. Raises UserError."""
    name = f"{task}-{datetime.now():%Y%m%d-%H%M%S}-{secrets.token_hex(2)}"
    path = runs / name
    try:
        path.mkdir(parents=True)
    except OSError as error:
        raise UserError(f"cannot write runs to {runs}: {error.strerror}; name another place with --runs-dir") from error
    return path


def find_run(run: str, runs: Path) -> Path:
    """Return the directory of a run, given its path, its name in `runs` or a part of it that no other has, or `latest`.

    Raises UserError.
    """
    places = (Path(run), runs / run)
    for path in places:
        if (path / FILE).is_file() or journal_of(path / FILE).is_file():
            return path
    for path in places:
        files = {file.name for file in path.iterdir()} if path.is_dir() else set()
        if files and all(name == LOCK or name.startswith(f"{FILE}.new") for name in files):
            raise RunNotStarted(path)
    known = [path.name for path in run_directories(runs)]
    if run == LATEST and known:
        return runs / max(known, key=_begun)
    alike = [name for name in known if run and run in name]
    if len(alike) == 1:
        return runs / alike[0]
    if alike:
        shown = ", ".join(alike[:3]) + (", ..." if len(alike) > 3 else "")
        raise UserError(
            f"{run!r} is part of {len(alike)} runs in {runs}: {shown}; give more of the name, or {LATEST!r}"
        )
    raise UserError(f"no run {run!r} in {runs}{did_you_mean(run, known)} (`vulcan runs` lists them)")


def _begun(name: str) -> tuple[str, str]:
    """Return a key that sorts the names of runs by the time at which they began."""
    found = _TIME.search(name)
    return (found[0] if found else "", name)


def run_directories(runs: Path) -> list[Path]:
    """Return the directory of every run, sorted by name."""
    return sorted(file.parent for file in runs.glob(f"*/{FILE}"))


def open_store(run: Path) -> Store:
    """Open a run's store. Raises UserError where there is none, or it is damaged."""
    return SQLiteStore(run / FILE)


def is_begun(run: Path) -> bool:
    """Check whether anything of a search was written down, so that it can be resumed."""
    try:
        with closing(open_store(run)) as store:
            return next(iter(store.events()), None) is not None
    except UserError:
        return False


def create_store(run: Path) -> Store:
    """Create a run's store. Raises UserError where it exists already or cannot be created."""
    return SQLiteStore(run / FILE, create=True)


def no_links(path: str, flags: int) -> int:
    """Open a file of a run, but not through a symbolic link, which may have come with the run."""
    return os.open(path, flags | os.O_NOFOLLOW, 0o666)


def _taken(file: IO[str]) -> bool:
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


@contextmanager
def lock_run(run: Path, patience: float = 0.0) -> Iterator[None]:
    """Lock the run against other searches; the lock is released when the process ends.

    Raises UserError where it is held by another process for longer than `patience` seconds.
    """
    try:
        # Closed below, as errors in the caller's block are not errors of this file
        file = open(run / LOCK, "a", opener=no_links)  # noqa: SIM115
    except OSError as error:
        raise UserError(f"cannot write to the run {run}: {error.strerror}") from error
    with file:
        until = time.monotonic() + patience
        while not _taken(file):
            if time.monotonic() >= until:
                raise UserError(f"another process is searching in {run}; wait for it, or stop it")
            time.sleep(_BETWEEN_TRIES)
        file.truncate(0)  # the previous owner's id; a process that is refused leaves the file unchanged
        file.write(str(os.getpid()))
        file.flush()
        yield
