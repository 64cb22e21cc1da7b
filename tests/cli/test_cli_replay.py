"""`vulcan search --replay`: a recorded search again, byte for byte, with no server to answer."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from chat_server import Behaviour, ChatServer, Received, answer
from console import MOOD_TASK, Console, one_line
from search_parts import as_reply, share

from vulcan.store.events import CandidateJudged, RunStarted
from vulcan.store.runs import FILE, open_store

MODELS = ("--model", "sharp", "--model", "blunt")
LOCALLY = ("--executor", "local", "--workers", "1")
PLAN = ("--task", MOOD_TASK, "--budget-candidates", "14", "--executor", "local", "--workers", "1", "--tune", "0")
PLAN += ("--simplify", "0", "--in-flight", "3", "--advice-every", "5")


def two_models(request: Received) -> Behaviour:
    """One that gets better and sometimes has nothing to say; one whose replies hold no program."""
    if "lessons" in str(request.body["messages"][-1]["content"]) and "```python" not in str(request.body["messages"]):
        return answer("Take as much as fits.", model="a server")
    if request.body["model"] == "blunt" or request.number % 5 == 3:
        return answer(f"I have no idea, for the {request.number}th time.", model="a server")
    return answer(as_reply(share(1 + request.number / 50)), model="a server", usage=(200 + request.number, 30))


def record(vulcan: Console, *options: str, script: Any = two_models) -> str:
    with ChatServer(script) as server:
        return vulcan.document("search", *PLAN, *MODELS, "--api-base", server.url, *options)["run"]


def contents(run: Path) -> tuple[Any, ...]:
    """All that a run's file holds, but times and which run it repeats."""
    with closing(open_store(run)) as store:
        events = [replace(e, repeats="") if isinstance(e, RunStarted) else e for e in store.events()]
        calls = [replace(call, seconds=0.0) for call in store.calls()]
    with closing(sqlite3.connect(run / FILE)) as db:
        texts = db.execute("SELECT hash, text FROM texts ORDER BY hash").fetchall()
        arrivals = "('RunStarted', 'CallRecord', 'QuestionAsked')"
        rows = db.execute(f"SELECT kind, data FROM events WHERE kind NOT IN {arrivals} ORDER BY id").fetchall()
    return events, calls, texts, rows


def test_a_search_is_repeated_byte_for_byte_without_a_server(vulcan: Console) -> None:
    run = record(vulcan)
    again = vulcan.document("search", "--replay", run, "--executor", "local", "--workers", "2")
    assert again["run"] != run
    assert contents(vulcan.directory / again["run"]) == contents(vulcan.directory / run)
    events, calls, *_ = contents(vulcan.directory / run)
    assert {call.by for call in calls} == {"sharp", "blunt"}
    assert {e.verdict for e in events if isinstance(e, CandidateJudged)} >= {"scored", "rejected"}
    shown = vulcan.document("show", run)
    assert {**again, "run": run} == shown
    assert shown["proposals"] == 14
    assert shown["cost"]["calls"] == len(calls)


@pytest.mark.parametrize("option", [("--seed", "2"), ("--task", MOOD_TASK), ("--weight", "2"), ("--dry-run",)])
def test_nothing_may_be_changed_in_a_repetition(vulcan: Console, option: tuple[str, ...]) -> None:
    line = one_line(vulcan("search", "--replay", "runs/any", *option, *LOCALLY))
    assert line == f"vulcan: --replay repeats a run as it was: leave out {option[0]}"
