"""Stop, resume and a higher budget, on real searches; and nothing else is ever signalled."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from edited_log import configured, cut_log
from live import Server, ended, kill_group, only_run, record_of, start_search, unfinished, until

from vulcan.dashboard.control import Resumed, raise_budget
from vulcan.dashboard.lock_holder import LockOwner, interrupt, lock_owner
from vulcan.dashboard.status import run_status
from vulcan.errors import UserError
from vulcan.store.events import CandidateRefined, FinalistScored, RunStopped, WinnerChosen
from vulcan.store.runs import LOCK, lock_run

SLEEPS = "import sys, time; print('up', flush=True); time.sleep(300)"
HOLDS = (
    "import signal, sys, time; from pathlib import Path; from vulcan.store.runs import lock_run\n"
    "if sys.argv[2] == 'deaf': signal.signal(signal.SIGINT, signal.SIG_IGN)\n"
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


def refused(server: Server, run: str, change: str, given: dict[str, Any]) -> str:
    with server.client() as client:
        answer = client.post(f"/api/runs/{run}/{change}", json=given)
    assert answer.status_code == 400
    return str(answer.json()["error"])


def test_a_process_holds_a_run_only_while_it_has_it_locked(
    tmp_path: Path, process: Callable[..., subprocess.Popen[str]]
) -> None:
    assert lock_owner(tmp_path) is None
    holding = process(HOLDS, str(tmp_path), "")
    assert lock_owner(tmp_path) == LockOwner(holding.pid)
    assert interrupt(tmp_path) == holding.pid
    assert ended(holding) == -signal.SIGINT
    assert (tmp_path / LOCK).read_text() == str(holding.pid)
    assert lock_owner(tmp_path) is None
    with pytest.raises(UserError, match="no process of this machine"):
        interrupt(tmp_path)


def test_a_process_that_ignores_ctrl_c_is_asked_otherwise(
    tmp_path: Path, process: Callable[..., subprocess.Popen[str]]
) -> None:
    holding = process(HOLDS, str(tmp_path), "deaf")
    interrupt(tmp_path)
    assert ended(holding) == -signal.SIGTERM


def test_a_process_that_only_has_the_number_is_left_alone(
    tmp_path: Path, process: Callable[..., subprocess.Popen[str]]
) -> None:
    """As where the search is gone and its number was given to another process, even one that reads the file."""
    bystander = process("import sys; file = open(sys.argv[1], 'a+')\n" + SLEEPS, str(tmp_path / LOCK))
    for written in (str(bystander.pid), f" {bystander.pid}\n", "", "0", "-1", "x", "1", "9" * 30):
        (tmp_path / LOCK).write_text(written)
        assert lock_owner(tmp_path) is None
        with pytest.raises(UserError):
            interrupt(tmp_path)
    assert bystander.poll() is None


def test_a_search_that_runs_is_stopped_as_by_ctrl_c(tmp_path: Path, serve: Callable[..., Server]) -> None:
    search = start_search(tmp_path)
    try:
        run = only_run(tmp_path)
        server = serve(tmp_path)
        with server.client() as client:
            address = f"/api/runs/{run.name}"

            def seen() -> dict[str, Any] | None:
                told = client.get(address).json()
                return told if told.get("candidates", 0) > 5 else None

            told = until(seen, "candidates are seen")
            assert told["status"] == {
                "state": "running", "message": "", "pid": search.pid, "can_stop": True, "can_resume": False,
            }  # fmt: skip
            assert told["planned"] == 1_000_000
            assert "running" in refused(server, run.name, "resume", {"executor": "local"})
            higher = {"budget": "budget_candidates", "value": 2_000_000}
            assert "stop it" in refused(server, run.name, "budget", higher)
            assert client.post(f"{address}/stop", json={}).json() == {"pid": search.pid}
            assert ended(search) == 130
            told = client.get(address).json()
            assert told["status"]["state"] == "interrupted"
            assert told["status"]["can_resume"]
            assert "no process" in refused(server, run.name, "stop", {})
        assert record_of(run).stopped == RunStopped("interrupted")
    finally:
        kill_group(search)


@pytest.fixture(scope="module")
def cut(tmp_path_factory: pytest.TempPathFactory, cache_of_tests: Path) -> Path:
    """A search of six candidates that was killed when it had them all and had measured no finalist."""
    directory = tmp_path_factory.mktemp("cut")
    search = start_search(directory, "--strategy", "best-of-n", "--budget-candidates", "6", "--samples", "3")
    assert ended(search) == 0
    run = only_run(directory)
    cut_log(run / "run.db", lambda event: isinstance(event, FinalistScored | WinnerChosen | CandidateRefined))
    return run


def test_a_raised_budget_is_what_the_search_goes_on_to(cut: Path, serve: Callable[..., Server]) -> None:
    server = serve(cut.parents[1], cut.name)
    before = [c.source for c in record_of(cut).candidates.values()]
    with server.client() as client:
        address = f"/api/runs/{cut.name}"
        told = client.get(address).json()
        assert (told["status"]["state"], told["proposals"], told["planned"]) == ("crashed", 6, 6)
        for budget, value, why in (
            ("budget_candidates", 6, "more than that"),
            ("budget_candidates", 6.5, "whole"),
            ("budget_candidates", 0, "above 0"),
            ("budget_candidates", None, "number"),
            ("budget_candidates", True, "number"),
            ("budget_candidate", 9, "did you mean"),
            ("budget_dollars", 5, "nothing to raise"),
        ):
            assert why in refused(server, cut.name, "budget", {"budget": budget, "value": value})
        raised = client.post(f"{address}/budget", json={"budget": "budget_candidates", "value": 9}).json()
        assert raised == {"budget": "budget_candidates", "unit": "proposals in all", "value": 9}
        told = client.get(address).json()
        assert (told["planned"], told["budgets"]["budget_candidates"], told["candidates"]) == (9, 9, len(before))

        assert "no executor" in refused(server, cut.name, "resume", {"executor": "locall"})
        assert "workers" in refused(server, cut.name, "resume", {"executor": "local", "workers": -1})
        pid = client.post(f"{address}/resume", json={"executor": "local", "workers": 1}).json()["pid"]
        assert pid > 0

        def over() -> dict[str, Any] | None:
            told = client.get(address).json()
            assert not told["error"], told
            return told if told["status"]["state"] == "finished" else None

        told = until(over, "the search is finished")
        assert (told["proposals"], told["best"]["chosen"]) == (9, True)
        assert "only a stopped search" in refused(server, cut.name, "resume", {"executor": "local"})
        higher = {"budget": "budget_candidates", "value": 12}
        assert "start a new search" in refused(server, cut.name, "budget", higher)
    after = [c.source for c in record_of(cut).candidates.values()]
    assert after[: len(before)] == before
    assert (cut / "resume.log").is_file()


def test_why_a_search_does_not_go_on_is_told_in_one_line(tmp_path: Path) -> None:
    run = unfinished(tmp_path / "run")
    configured(run / "run.db", model=["offline/evolve"], task="no_such_task")
    resumed = Resumed()
    record = record_of(run)
    assert run_status(record, None).state == "crashed"
    resumed.start(run, record, "local", 1)
    trouble = until(lambda: resumed.error(run), "it says why")
    assert "no_such_task" in trouble
    assert "\n" not in trouble


def test_a_budget_is_not_raised_under_a_search(tmp_path: Path) -> None:
    run = unfinished(tmp_path / "run")
    record = record_of(run)
    with lock_run(run), pytest.raises(UserError, match="stop it"):
        raise_budget(run, record, "budget_candidates", 100)
    assert raise_budget(run, record, "budget_candidates", 100) == 100
    config = record_of(run).config
    assert (config["budget_candidates"], config["rounds"], config["samples"]) == (100, 13, 8)
    assert {**config, "budget_candidates": None, "rounds": 8} == record.config
