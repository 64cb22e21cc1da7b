"""A search starts from a policy's file, from an earlier run and from a library, besides the task's own policies."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from console import MOOD_TASK

import vulcan
from vulcan.api.launch import with_starts
from vulcan.errors import UserError
from vulcan.registry import find_task
from vulcan.results.recommended import find_winner
from vulcan.searches.config import make_config
from vulcan.store.events import CandidateJudged, Event, RunStarted, RunStopped
from vulcan.store.runs import open_store

MINE = "def decide(load, room):\n    return min(load, room) * 0.9 + load * 0.0123\n"
FEW: dict[str, Any] = {
    "executor": "local", "workers": 1, "rounds": 1, "samples": 4, "tune": 0, "simplify": 0, "progress": "none",
}  # fmt: skip


def events_of(run: vulcan.Run) -> list[Event]:
    with closing(open_store(run.path)) as store:
        return list(store.events())


def candidates_of(run: vulcan.Run) -> list[CandidateJudged]:
    return [event for event in events_of(run) if isinstance(event, CandidateJudged)]


def test_a_search_starts_from_a_file_and_from_a_run_and_is_replayed(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(MINE)
    first = vulcan.search(MOOD_TASK, **FEW, runs_dir=tmp_path, start_from=str(tmp_path / "mine.py"))
    started = [c for c in candidates_of(first) if c.origin == "seed"]
    assert MINE in [c.source for c in started]
    assert first.config["starts"] == {"mine": MINE}

    (tmp_path / "mine.py").unlink()  # a run has what it started from
    again = vulcan.search(replay=first.path, executor="local", workers=1, progress="none", runs_dir=tmp_path)
    own = RunStarted | RunStopped
    assert [e for e in events_of(again) if not isinstance(e, own)] == [
        e for e in events_of(first) if not isinstance(e, own)
    ]
    second = vulcan.search(MOOD_TASK, **FEW, seed=2, runs_dir=tmp_path, start_from=first.path.name)
    (started_from,) = second.config["starts"].values()
    assert started_from == find_winner(first.path).policy.source


def test_a_search_starts_from_the_library_of_its_task(tmp_path: Path) -> None:
    task = find_task("cache_eviction")
    found = with_starts(make_config("cache_eviction", {"start_from": ["library"]}, {}), task, tmp_path)
    assert found.starts
    assert not set(found.starts.values()) & set(task.seed_policies().values())
    assert with_starts(found, task, tmp_path) is found


@pytest.mark.parametrize(
    ("given", "text", "message"),
    [
        ("none.py", None, "none.py: there is no such file"),
        ("bad.py", "def decide(load, room):\n    while True: pass\n", "bad.py: task 'mood_task' rejects it: "),
        ("library", None, "no library at"),
        ("nothing", None, "no run 'nothing' in"),
    ],
)
def test_what_cannot_be_started_from_is_one_line(
    given: str, text: str | None, message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    if text is not None:
        Path(given).write_text(text)
    with pytest.raises(UserError) as caught:
        with_starts(make_config(MOOD_TASK, {"start_from": [given]}, {}), find_task(MOOD_TASK), tmp_path)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)
