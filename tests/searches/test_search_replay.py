"""A recorded search is repeated from its replies alone, with no call."""

from __future__ import annotations

from dataclasses import replace

import pytest
from effort import few
from rich_parts import answer, rich, search
from search_parts import SEEDS, as_reply, config, contents, judged, of_kind, share

from vulcan.errors import UserError
from vulcan.models.base import BudgetExhausted, Request
from vulcan.scoring import Executor
from vulcan.searches.config import SearchConfig
from vulcan.searches.recorded_replies import RecordedReplies
from vulcan.store import MemoryStore
from vulcan.store.events import AdviceReceived, CallRecord, CandidateJudged


def no_call(request: Request) -> str:
    raise AssertionError(f"proposal {request.proposal} was asked of a model")


def recorded(executor: Executor, chosen: SearchConfig, answered=answer) -> MemoryStore:
    store = MemoryStore()
    search(chosen, store, executor, answered)
    return store


def repeated(executor: Executor, chosen: SearchConfig, store: MemoryStore) -> MemoryStore:
    again = MemoryStore()
    assert search(chosen, again, executor, no_call, recording=RecordedReplies.of(store)) == []
    return again


@pytest.fixture(scope="module")
def store(racers: Executor) -> MemoryStore:
    """A recorded search."""
    return recorded(racers, rich())


def test_a_repetition_holds_what_the_recorded_search_does(racers: Executor, store: MemoryStore) -> None:
    assert of_kind(store, AdviceReceived) != []
    assert {"no-reply", "rejected"} < {v.verdict for v in judged(store)}
    assert max(v.turn for v in judged(store)) == 2
    assert contents(repeated(racers, rich(), store)) == contents(store)


def test_silence_that_stopped_the_search_for_a_while_does_not_stop_its_repetition(children: Executor) -> None:
    store = MemoryStore()
    with pytest.raises(UserError, match="no reply to 5 proposals in a row"):
        search(config(), store, children, lambda _: None)
    search(config(), store, children, lambda r: as_reply(share(r.proposal / 10)))
    assert [v.verdict for v in judged(store)] == ["scored"] * 6  # what was not answered was asked anew
    assert contents(repeated(children, config(), store)) == contents(store)


@pytest.mark.parametrize("last", few([5, 9, 14], 1))
def test_a_search_that_ended_with_its_budget_is_repeated_as_far_as_it_came(racers: Executor, last: int) -> None:
    """Beyond a proposal nothing is paid for, repairs neither."""

    def until(request: Request) -> str | None:
        if request.proposal > SEEDS + last or (request.proposal > SEEDS + last - 3 and request.turn > 0):
            raise BudgetExhausted("all is spent")
        return answer(request)

    store = recorded(racers, rich(rounds=2), until)
    assert max(v.proposal for v in judged(store)) <= SEEDS + last
    assert contents(repeated(racers, rich(rounds=2), store)) == contents(store)


def only(recording: RecordedReplies, turn: int) -> CallRecord:
    """The last call of that turn."""
    return next(call for call in reversed(recording.calls) if call.turn == turn)


def test_a_changed_prompt_gets_the_recorded_reply_and_is_counted(
    racers: Executor, store: MemoryStore, caplog: pytest.LogCaptureFixture
) -> None:
    recording = RecordedReplies.of(store)
    call = only(recording, 0)
    (role, text), *_ = call.messages
    changed = replace(call, messages=((role, text.replace("Decide a lot", "Decide little")),))
    calls = tuple(changed if c is call else c for c in recording.calls)
    again = MemoryStore()
    search(rich(), again, racers, no_call, recording=replace(recording, calls=calls))
    assert contents(again) == contents(store)
    (line,) = [message for message in caplog.messages if message.startswith("replay: ")]
    assert "1 prompt differs" in line and f"proposal {call.proposal}, turn 0" in line and "Decide little" in line


def test_replies_are_numbered_after_the_policies_that_the_task_has_today(racers: Executor, store: MemoryStore) -> None:
    again = MemoryStore()
    started = rich(tune=0, simplify=0, starts={"mine": "def decide(load, room):\n    return 0.125 * load\n"})
    assert search(started, again, racers, no_call, recording=RecordedReplies.of(store)) == []
    first, other = ([e for e in of_kind(s, CandidateJudged) if e.origin == "model"] for s in (store, again))
    assert {e.proposal + 1 for e in first} == {e.proposal for e in other}
    assert [e.source for e in other[:5]] == [e.source for e in first[:5]] != [""] * 5


@pytest.mark.parametrize("turn", [0, 1])
def test_a_missing_reply_is_an_error_of_one_line(racers: Executor, store: MemoryStore, turn: int) -> None:
    recording = RecordedReplies.of(store)
    call = only(recording, turn)
    kept = tuple(c for c in recording.calls if c is not call)
    says = f"replay: proposal {call.proposal}, turn {turn}, is not among the {len(kept)} recorded calls"
    with pytest.raises(UserError, match=says) as caught:
        search(rich(), MemoryStore(), racers, no_call, recording=replace(recording, calls=kept))
    assert "\n" not in str(caught.value)
