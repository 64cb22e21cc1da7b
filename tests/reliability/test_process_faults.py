"""Searches that are told to end, that meet each other, whose clock steps, and whose children go away."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path
from typing import Any

import pytest
from chat_server import ChatServer
from console import Console, one_line
from disturbed import RESUME, SEARCH, WHOLE, Model, descendants, held, only_run
from test_store_faults import locked

from vulcan.errors import UserError
from vulcan.store.runs import FILE, LOCK, lock_run


@pytest.mark.parametrize(
    ("executor", "number"),
    [
        ("local", signal.SIGTERM),
        ("local", signal.SIGINT),
        pytest.param("ray", signal.SIGINT, marks=[pytest.mark.ray, pytest.mark.slow]),
    ],
)
def test_a_search_that_is_told_to_end_goes_on_as_if_nothing_had_been(
    vulcan: Console, calm: list[Any], executor: str, number: signal.Signals
) -> None:
    """SIGTERM goes to its process alone, Ctrl-C to the whole group."""
    model = Model(2)
    with ChatServer(model) as server:
        search = vulcan.start(*WHOLE, "--executor", executor, "--workers", "1", "--api-base", server.url)
        assert model.halted.wait(240)
        run = only_run(vulcan)
        children = [pid for pid, line in descendants(search.pid) if "vulcan.scoring.evaluator_child" in line]
        if number == signal.SIGINT:
            os.killpg(search.pid, number)
        else:
            search.send_signal(number)
        out, errors = search.communicate(timeout=60)
        assert search.returncode == 128 + number, errors
        assert out == ""
        assert errors.splitlines()[-1] == f"interrupted; nothing is lost: continue with `vulcan resume runs/{run.name}`"
        assert "Traceback" not in errors
        assert [pid for pid in children if Path(f"/proc/{pid}").exists()] == []
        assert vulcan.document("runs")["runs"][0]["state"] == "interrupted"
        model.goes_on.set()
        vulcan.good("resume", run, *RESUME)
    assert held(run) == calm


def test_two_searches_in_one_run_and_a_lock_that_is_left_behind(vulcan: Console) -> None:
    """The second is refused for as long as the first lives; the file that a killed one leaves is no obstacle."""
    model = Model(2)
    with ChatServer(model) as server:
        search = vulcan.start(*SEARCH, "--api-base", server.url)
        assert model.halted.wait(120)
        run = only_run(vulcan)
        with pytest.raises(UserError, match="another process is searching in"), lock_run(run):
            pass
        line = one_line(vulcan("resume", run, *RESUME))
        assert line == f"vulcan: another process is searching in {run}; wait for it, or stop it"
        search.kill()
        search.communicate()
        assert (run / LOCK).read_text() == str(search.pid)
        model.goes_on.set()
    with lock_run(run):  # how a killed search goes on is tested in test_failing_calls.py
        assert (run / LOCK).read_text() == str(os.getpid())


@pytest.mark.slow
def test_a_search_that_stands_still_and_a_store_that_is_locked_for_a_while_change_nothing(
    vulcan: Console, calm: list[Any]
) -> None:
    """As where the host sleeps or is moved, and another program writes to the run's file and takes its time."""
    model = Model(2)
    with ChatServer(model) as server:
        search = vulcan.start(*SEARCH, "--api-base", server.url)
        assert model.halted.wait(120)
        run = only_run(vulcan)
        search.send_signal(signal.SIGSTOP)
        with locked(run / FILE):
            model.goes_on.set()
            search.send_signal(signal.SIGCONT)
            time.sleep(0.5)
        _, errors = search.communicate(timeout=240)
        assert search.returncode == 0, errors
    assert held(run) == calm
