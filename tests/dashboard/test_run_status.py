"""The state of a run: running only while a process holds its lock, whatever number the lock file has."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from live import ended, kill_group, record_of, unfinished

from vulcan.dashboard.lock_holder import LockOwner, lock_owner
from vulcan.dashboard.status import run_status
from vulcan.store.runs import LOCK

HOLDS = (
    "import sys, time; from pathlib import Path; from vulcan.store.runs import lock_run\n"
    "with lock_run(Path(sys.argv[1])): print('up', flush=True); time.sleep(300)"
)


@pytest.fixture
def process() -> Iterator[Callable[..., subprocess.Popen[str]]]:
    """process(source, ...) runs Python in a process of its own, and returns when it says that it is up."""
    started: list[subprocess.Popen[str]] = []

    def start(source: str, *arguments: str) -> subprocess.Popen[str]:
        made = subprocess.Popen(
            [sys.executable, "-c", source, *arguments], text=True, start_new_session=True,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        )  # fmt: skip
        started.append(made)
        assert made.stdout is not None
        assert made.stdout.readline() == "up\n"
        return made

    yield start
    for one in started:
        kill_group(one)


def test_a_process_holds_a_run_only_while_it_has_it_locked(
    tmp_path: Path, process: Callable[..., subprocess.Popen[str]]
) -> None:
    assert lock_owner(tmp_path) is None
    holding = process(HOLDS, str(tmp_path))
    assert lock_owner(tmp_path) == LockOwner(holding.pid)
    holding.send_signal(signal.SIGINT)
    assert ended(holding) == -signal.SIGINT
    assert (tmp_path / LOCK).read_text() == str(holding.pid)
    assert lock_owner(tmp_path) is None


def test_a_search_that_ended_without_a_word_has_crashed(tmp_path: Path) -> None:
    run = unfinished(tmp_path / "run")
    record = record_of(run)
    assert run_status(record, None).state == "asked"  # it was made with `--model ask`
    record.config = {**record.config, "model": ["offline/evolve"]}
    assert run_status(record, None).state == "crashed"
    assert run_status(record, LockOwner(7)).document() == {"state": "running", "message": "", "pid": 7}
