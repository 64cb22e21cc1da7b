"""Searches with a server that refuses some calls or all, and what they go on with when they are resumed."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from contextlib import closing
from pathlib import Path

import pytest
from chat_server import Behaviour, ChatServer, Received, answer, fail
from search_parts import MOOD_TASK, SEEDS, as_reply, contents, judged, share

import vulcan
from vulcan.errors import UserError
from vulcan.store import Store
from vulcan.store.events import CallsChanged, Event, RunStarted, RunStopped
from vulcan.store.runs import open_store

FILTERED = fail(400, "The response was filtered due to the prompt triggering content management policy.")
OPTIONS = {
    "objective": "gain", "strategy": "policysmith", "samples": 3, "tune": 0, "simplify": 0, "racing": False,
    "in_flight": 2, "executor": "local", "workers": 1, "progress": "none",
}  # fmt: skip


def program(request: Received) -> Behaviour:
    """Answer a prompt with a program that follows from it."""
    prompt = json.dumps(request.body["messages"]).encode()
    return answer(as_reply(share(1 + int(hashlib.sha256(prompt).hexdigest()[:4], 16) / 1e6)))


def search(server: ChatServer, runs: Path, **options: object) -> vulcan.Run:
    return vulcan.search(MOOD_TASK, model="toy", api_base=server.url, runs_dir=runs, **{**OPTIONS, **options})  # type: ignore[arg-type]


def only_run(runs: Path) -> vulcan.Run:
    return vulcan.load(next(path for path in runs.iterdir() if path.is_dir()))


def stored(run: vulcan.Run) -> Store:
    return open_store(run.path)


def test_prompts_that_are_refused_now_and_then_are_lost_and_the_search_goes_on(tmp_path: Path) -> None:
    with ChatServer(lambda r: FILTERED if r.number % 7 == 3 else program(r)) as server:
        run = search(server, tmp_path, budget_candidates=30, rounds=10)
    assert run.state == "finished"
    with closing(stored(run)) as store:
        lost = [one for one in judged(store) if one.verdict == "no-reply"]
        assert len(judged(store)) == 30
    assert len(lost) == sum(request.number % 7 == 3 for request in server.requests) > 2
    assert all("filtered" in one.feedback for one in lost)


def test_a_search_that_is_refused_five_times_in_a_row_ends_and_goes_on_behind_them(tmp_path: Path) -> None:
    with (
        ChatServer(lambda r: program(r) if r.number < 4 else FILTERED) as server,
        pytest.raises(UserError, match=r"5 proposals in a row.*`vulcan resume"),
    ):
        search(server, tmp_path, budget_candidates=12, rounds=4)
    run = only_run(tmp_path)
    assert run.state == "error"
    with ChatServer(program) as other:
        run = run.resume(api_base=other.url, executor="local", workers=1, progress="none")
    with closing(stored(run)) as store:
        verdicts = [one.verdict for one in judged(store)]
    assert len(verdicts) == 12
    assert verdicts.count("no-reply") in (5, 6)


def test_a_run_that_was_resumed_with_other_settings_is_repeated_as_it_was(tmp_path: Path) -> None:
    def first(request: Received) -> Behaviour:
        return program(request) if request.number < 6 else fail(401, "no such key")

    with ChatServer(first) as server, pytest.raises(UserError, match="401"):
        search(server, tmp_path / "runs", budget_candidates=18, rounds=6, strategy="evolve", temperature=0.9)
    run = only_run(tmp_path / "runs")
    with ChatServer(program) as other:
        run = run.resume(
            model=["other", "third"], api_base=other.url, temperature=0.2, max_tokens=500, in_flight=5,
            budget_candidates=14, executor="local", workers=1, progress="none",
        )  # fmt: skip
        assert {(r.body["temperature"], r.body["max_tokens"]) for r in other.requests} == {(0.2, 500)}
    (change,) = run.summary["changes"]
    assert "model other, third" in change and "temperature 0.2" in change and change.startswith("from proposal ")
    said = f"Resumed with other settings {change.partition(', api')[0]}"
    assert said in run.report(tmp_path / "report.html", seconds=0).read_text()
    again = vulcan.search(replay=run.path, runs_dir=tmp_path / "again", executor="local", workers=1, progress="none")
    with closing(stored(run)) as store, closing(stored(again)) as repeated:
        events, calls = contents(store)
        assert contents(repeated)[1] == calls
        assert without_stops(contents(repeated)[0]) == without_stops(events)
        assert {call.by for call in calls} == {"toy", "other", "third"}
    assert len(calls) >= 14


def without_stops(events: Iterable[Event]) -> list[Event]:
    """Leave out where a search stopped and went on: a replay does neither."""
    return [event for event in events if not isinstance(event, RunStarted | RunStopped)]


@pytest.mark.parametrize("given", [{"model": "ask"}, {"temperature": "hot"}, {"budget_tokens": 0}])
def test_settings_that_cannot_be_are_refused_and_nothing_is_written(tmp_path: Path, given: dict[str, object]) -> None:
    with ChatServer([FILTERED]) as server, pytest.raises(UserError):
        search(server, tmp_path, budget_candidates=3)
    run = only_run(tmp_path)
    before = run.config
    with pytest.raises(UserError, match=f"{next(iter(given))[:6]}"):
        run.resume(**given, progress="none")  # type: ignore[arg-type]
    assert vulcan.load(run.path).config == before


def test_a_finished_run_takes_no_other_settings(tmp_path: Path) -> None:
    with ChatServer(program) as server:
        run = search(server, tmp_path, budget_candidates=3)
        with pytest.raises(UserError, match="searches no further"):
            run.resume(budget_candidates=9, progress="none")


def test_what_a_model_refuses_is_recorded_and_known_to_the_resumed_search(tmp_path: Path) -> None:
    def script(request: Received) -> Behaviour:
        if "max_tokens" in request.body:
            return fail(400, "Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens' instead.")
        return program(request) if request.number < 8 else fail(401, "no such key")

    with ChatServer(script) as server:
        with pytest.raises(UserError, match="401"):
            search(server, tmp_path, budget_candidates=9, rounds=3, max_tokens=300)
        refused = sum("max_tokens" in request.body for request in server.requests)
        run = only_run(tmp_path)
        with closing(stored(run)) as store:
            changed = [event for event in store.events() if isinstance(event, CallsChanged)]
        with pytest.raises(UserError, match="401"):
            run.resume(executor="local", workers=1, progress="none")
    assert [(one.model, one.change) for one in changed] == [("toy", "max_tokens")]
    assert sum("max_tokens" in request.body for request in server.requests) == refused


def test_why_a_budget_ended_a_search_is_recorded(tmp_path: Path) -> None:
    def script(request: Received) -> Behaviour:
        return answer("cut", usage=(10**4, 300)) if request.number == 1 else program(request)

    with ChatServer(script) as server:
        run = search(server, tmp_path, budget_tokens=24_000, max_tokens=400, budget_candidates=60, rounds=20, repairs=0)
    with closing(stored(run)) as store:
        stopped = list(store.events())[-1]
    assert "budget of 24000 tokens is used up" in stopped.message  # type: ignore[union-attr]
    assert SEEDS < len(run.candidates) < 60


def test_a_budget_that_pays_for_no_call_is_an_error(tmp_path: Path) -> None:
    with ChatServer(program) as server, pytest.raises(UserError, match=r"no proposal was made.*--max-tokens"):
        search(server, tmp_path, budget_tokens=1_000, budget_candidates=60)
    assert server.requests == []
