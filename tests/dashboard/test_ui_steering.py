"""A search is steered from the command line while it runs; a replay repeats it."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from live import COMMAND, ended, kill_group, only_run, record_of, start_search, until

from vulcan.store.events import Event, RunStarted, RunStopped
from vulcan.store.runs import open_store

OWN = "def decide(load, room):\n    return min(load, room) * 0.9 + load * 0.0123\n"


@pytest.fixture
def search(tmp_path: Path, cache_of_tests: Path) -> Iterator[subprocess.Popen[str]]:
    process = start_search(tmp_path, "--strategy", "evolve")
    yield process
    kill_group(process)


def events_of(run: Path) -> list[Event]:
    with closing(open_store(run)) as store:
        return [event for event in store.events() if not isinstance(event, RunStarted | RunStopped)]


def vulcan(directory: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([COMMAND, *arguments], cwd=directory, text=True, capture_output=True, check=False)


@pytest.mark.slow
def test_a_running_search_is_steered_and_replayed(tmp_path: Path, search: subprocess.Popen[str]) -> None:
    run = only_run(tmp_path)
    until(lambda: len(record_of(run).ranked()) > 3, "candidates are scored")
    refused = vulcan(tmp_path, "steer", "latest", "--hint", "Try the square root.")
    assert (refused.returncode, refused.stdout) == (2, "")
    assert "the offline generator reads no prompt" in refused.stderr
    (tmp_path / "own.py").write_text(OWN)
    told = vulcan(tmp_path, "steer", "latest", "--add", "own.py")
    assert (told.returncode, told.stderr) == (0, "")
    assert "waiting" in told.stdout
    until(lambda: any(c.origin == "user" for c in record_of(run).candidates.values()), "the policy is a candidate")
    assert "from proposal" in vulcan(tmp_path, "steer", "latest").stdout
    own = next(c for c in record_of(run).candidates.values() if c.origin == "user")
    assert (own.source, record_of(run).parents_of(own.candidate)) == (OWN, ())
    search.send_signal(2)
    assert ended(search) == 130
    replayed = vulcan(tmp_path, "search", "--replay", run.name, "--executor", "local", "--workers", "1", "--quiet")
    assert replayed.returncode == 0, replayed.stderr
    other = next(path for path in run.parent.iterdir() if path != run)
    original = events_of(run)
    assert events_of(other)[: len(original)] == original
    (tmp_path / "own.py").write_text(OWN.replace("0.9", "0.8"))
    finished = vulcan(tmp_path, "steer", other.name, "--add", "own.py")
    assert finished.returncode == 2
    assert "start a new one" in finished.stderr
