"""The page as a user has it: the command as a process, runs on disk, and a real browser."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from live import Server, make_hostile, make_large
from locations import recorded_run


@pytest.fixture(scope="session")
def serve() -> Iterator[Callable[..., Server]]:
    """serve(directory, ...) starts `vulcan ui` there; it ends with the tests, and must have complained of nothing."""
    started: list[Server] = []

    def start(directory: Path, *arguments: str) -> Server:
        started.append(Server(directory, *arguments))
        return started[-1]

    yield start
    for server in started:
        complaints = server.close()
        assert (complaints, server.process.returncode) == ("", 130)


@pytest.fixture(scope="session")
def shelf(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory with `runs`: a recorded search, one of 5,000 candidates, one full of markup, and a damaged one."""
    directory = tmp_path_factory.mktemp("shelf")
    runs = directory / "runs"
    shutil.copytree(recorded_run(), runs / "recorded")
    make_large(runs / "large")
    make_hostile(runs / "hostile")
    (runs / "damaged").mkdir()
    (runs / "damaged" / "run.db").write_bytes(b"no such thing" * 1000)
    return directory


@pytest.fixture(scope="session")
def page_server(shelf: Path, serve: Callable[..., Server]) -> Server:
    """The server over that shelf."""
    return serve(shelf)
