"""The search with a model behind a real server on loopback, from the prompt to the winner."""

from __future__ import annotations

import re
import threading
from collections import Counter
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest
from chat_server import Behaviour, ChatServer, Exchange, Received, answer, fail, hang_up
from search_parts import SEEDS, as_reply, config, contents, judged, lineup, mood, of_kind, opened, share

from vulcan.errors import UserError
from vulcan.models.base import Message, ModelRefused, Request
from vulcan.models.call_settings import CallSettings
from vulcan.models.open import open_proposer
from vulcan.models.prices import price_per_million
from vulcan.models.retry import RetryPolicy
from vulcan.scoring import Executor
from vulcan.searches.calls_in_flight import MAX_UNANSWERED
from vulcan.searches.study import Study
from vulcan.store import MemoryStore, SQLiteStore, Store
from vulcan.store.events import CandidateJudged, WinnerChosen

HURRIED = CallSettings(timeout=10.0, retry=RetryPolicy(attempts=3, initial_wait=0.01))


def search(
    store: Store,
    children: Executor,
    script: list[Behaviour] | Callable[[Received], Behaviour],
    settings: CallSettings = HURRIED,
    **changes: object,
) -> tuple[Study, list[Received]]:
    """One search, one call at a time, and all that the server was sent; the server's errors are the caller's."""
    requests: list[Received] = []
    try:
        with (
            ChatServer(script) as server,
            closing(open_proposer("toy", api_base=server.url, settings=settings)) as model,
        ):
            requests = server.requests
            study = opened(
                store, config(**{"model": ("toy",), "rounds": 1, "samples": 3, "repairs": 1, **changes}), children
            )
            study.run(lineup(model), parallel=1)
    finally:
        store.requests = requests  # type: ignore[attr-defined]  (for tests whose search fails)
    return study, requests


def verdicts(store: Store) -> list[tuple[int, int, str]]:
    return [(v.proposal - SEEDS, v.turn, v.verdict) for v in judged(store)]


def test_from_prompt_to_winner(children: Executor) -> None:
    unknown = as_reply("def decide(load, room):\n    return secret\n")
    first_turns = iter(
        [
            answer(as_reply(share(1.5))),
            answer("Sorry, no."),
            answer("<think>```python\nwrong\n```</think>" + as_reply(share(1.25))),
            answer(unknown),
            answer(as_reply(mood(104))),
            answer(as_reply(mood(104))),
        ]
    )
    repairs = {
        "Sorry, no.": answer(as_reply(share(1.75)), usage=None, model="another-model"),
        unknown: answer(as_reply(share(1.5)) + as_reply("print(1)\n")),
    }

    def script(request: Received) -> Behaviour:
        messages = request.body["messages"]
        return next(first_turns) if len(messages) == 1 else repairs[messages[1]["content"]]

    store = MemoryStore()
    study, requests = search(store, children, script, rounds=2)
    assert verdicts(store) == [
        (1, 0, "scored"), (2, 0, "rejected"), (2, 1, "scored"), (3, 0, "scored"), (4, 0, "rejected"),
        (4, 1, "duplicate"), (5, 0, "failed"), (6, 0, "duplicate"),
    ]  # fmt: skip
    assert of_kind(store, WinnerChosen) == [WinnerChosen(SEEDS + 3, "validation")]

    chats = [r.body["messages"] for r in requests]
    assert all(chat[0]["role"] == "user" and "# Task: mood_task" in chat[0]["content"] for chat in chats)
    first = [chat[0]["content"] for chat in chats if len(chat) == 1]
    assert len(first) == 6
    assert len(set(first[:3])) == len(set(first[3:])) == 1
    assert share(1.75) in first[3]  # a parent in the second round
    assert share(1.75) not in first[0]
    mended = {chat[1]["content"]: chat for chat in chats if len(chat) > 1}
    assert set(mended) == set(repairs)
    assert [m["role"] for m in mended[unknown]] == ["user", "assistant", "user"]
    assert "no-code-block" in mended["Sorry, no."][2]["content"]
    assert "secret" in mended[unknown][2]["content"]

    calls = list(store.calls())
    assert [c.model for c in calls[:3]] == ["served-model", "served-model", "another-model"]
    assert [(c.tokens_in, c.tokens_out) for c in calls[1:3]] == [(100, 20), (None, None)]
    assert (study.costs.calls, study.costs.tokens_in, study.costs.tokens_out) == (8, 700, 140)
    assert study.costs.unpriced == 8
    assert study.costs.text() == "$0.00 + 8 calls of unknown price"
    assert [[m[0] for m in c.messages] for c in calls[2:3]] == [["user", "assistant", "user"]]


def good_after(first_bad: int, bad: Behaviour) -> Callable[[Received], Behaviour]:
    def script(request: Received) -> Behaviour:
        return bad if request.number >= first_bad else answer(as_reply(share(1 + request.number / 10)))

    return script


@pytest.mark.parametrize(("bad", "says"), [
    (fail(401, "Incorrect API key provided: sk-of-mine-0123456789"), "status 401"),
    (fail(404, "no such model"), "check the model's name"),
    (fail(429, "You exceeded your current quota"), "no credit left"),
])  # fmt: skip
def test_a_server_that_refuses_stops_a_run_that_can_go_on(
    children: Executor, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, bad: Behaviour, says: str
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-of-mine-0123456789")
    whole = MemoryStore()
    search(whole, children, good_after(99, bad), samples=4)
    with closing(SQLiteStore(tmp_path / "run.db", create=True)) as store:
        with pytest.raises(ModelRefused, match=says) as caught:
            search(store, children, good_after(2, bad), samples=4)
        assert "\n" not in str(caught.value)
        assert "of-mine" not in str(caught.value)
        # none was tried again; the fourth may have been on its way when the third was refused
        assert len(store.requests) in (3, 4)  # type: ignore[attr-defined]
        assert [c.proposal - SEEDS for c in store.calls()] == [1, 2]

    def rest(request: Received) -> Behaviour:
        return answer(as_reply(share(1 + (request.number + 2) / 10)))

    with closing(SQLiteStore(tmp_path / "run.db")) as store:
        _, requests = search(store, children, rest, samples=4)
        assert len(requests) == 2  # the two kept answers were not asked for again
        assert contents(store) == contents(whole)


def test_a_server_that_is_down_stops_the_run_which_goes_on_when_it_is_back(children: Executor) -> None:
    store = MemoryStore()
    settings = CallSettings(timeout=10.0, retry=RetryPolicy(attempts=2, initial_wait=0.01))
    with pytest.raises(UserError, match="status 500: down for now") as caught:
        search(store, children, good_after(1, fail(500, "down for now")), settings, samples=8)
    assert re.search(r"no reply to 5 proposals in a row, the last of them \d+: .* `vulcan resume`", str(caught.value))
    attempts = len(store.requests) - 1  # type: ignore[attr-defined]
    # two more may be on their way when the last fails, each with its two attempts
    assert 2 * MAX_UNANSWERED <= attempts <= 2 * MAX_UNANSWERED + 4
    assert [v for _, _, v in verdicts(store)] == ["scored"]  # that it was down is no verdict on what was asked
    _, requests = search(store, children, good_after(99, hang_up), samples=8)
    assert Counter(v for _, _, v in verdicts(store)) == {"scored": 7, "duplicate": 1}
    assert len(requests) == 7


def test_a_search_that_is_interrupted_does_not_wait_for_the_model(children: Executor) -> None:
    """The first reply interrupts; the second would take far longer than any test may."""

    def script(request: Received) -> Behaviour:
        return answer(as_reply(share(1.5))) if request.number == 0 else forever

    def forever(exchange: Exchange) -> None:
        exchange.closing.wait(600)
        exchange.hang_up()

    def interrupt(event: object) -> None:
        if isinstance(event, CandidateJudged) and event.proposal > SEEDS:
            raise KeyboardInterrupt

    store = MemoryStore()
    patient = CallSettings(timeout=600.0)
    with ChatServer(script) as server, closing(open_proposer("toy", api_base=server.url, settings=patient)) as model:
        study = opened(store, config(model=("toy",), rounds=1, samples=3), children, [interrupt])
        with pytest.raises(KeyboardInterrupt):
            study.run(lineup(model), parallel=1)
    assert verdicts(store) == [(1, 0, "scored")]


def test_no_reply_at_all_is_no_success_however_few_proposals(children: Executor) -> None:
    store = MemoryStore()
    settings = CallSettings(timeout=10.0, retry=RetryPolicy(attempts=2, initial_wait=0.01))
    with pytest.raises(UserError, match=r"no reply to any of 3 proposals: .*down for now.*`vulcan resume`"):
        search(store, children, [fail(500, "down for now")], settings, samples=3)
    assert not of_kind(store, WinnerChosen)
    assert verdicts(store) == []
    search(store, children, good_after(99, hang_up), samples=3)  # the server is back
    assert of_kind(store, WinnerChosen)


def test_what_is_waited_for_is_told(children: Executor, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("vulcan.searches.study.NOTICE_SECONDS", 0.2)
    told: list[str] = []
    slow = threading.Event()

    def late(exchange: Exchange) -> None:
        slow.wait(1.0)
        answer(as_reply(share(1.5)))(exchange)

    with ChatServer([late]) as server, closing(open_proposer("toy", api_base=server.url, settings=HURRIED)) as model:
        study = opened(MemoryStore(), config(model=("toy",), rounds=1, samples=1), children)
        study._waiting = told.append
        study.run(lineup(model), parallel=1)
    assert re.match(rf"waiting \d+ s for the reply to proposal {SEEDS + 1}", told[0])


def test_the_price_of_a_server_of_ones_own_is_counted() -> None:
    with ChatServer([answer("hello", usage=(1_000, 200))]) as server:
        price = price_per_million(2.0, 10.0)
        with closing(open_proposer("toy", api_base=server.url, settings=HURRIED, price=price)) as model:
            reply = model.propose(Request(1, 0, (Message("user", "Write one."),), (), 1))
    assert reply.dollars == pytest.approx(0.004)


def test_nothing_but_truncated_replies_is_no_success(children: Executor) -> None:
    store = MemoryStore()
    cut = answer("```python\ndef mood(", finish="length")
    with pytest.raises(UserError, match=r"all 4 replies were cut off .*server's default.* larger --max-tokens"):
        search(store, children, [cut], samples=2)
    assert not of_kind(store, WinnerChosen)
