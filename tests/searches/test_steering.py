"""A person steers a search while it runs: each act holds from a definite proposal on, and is repeated as it was."""

from __future__ import annotations

import json
from dataclasses import asdict, replace
from pathlib import Path

import pytest
from rich_parts import answer, rich, search
from search_parts import SEEDS, contents, judged, of_kind, share

from vulcan.errors import UserError
from vulcan.models.base import Request
from vulcan.scoring import Executor
from vulcan.searches.config import SearchConfig
from vulcan.searches.recorded_replies import RecordedReplies
from vulcan.searches.steering import DIRECTORY, MAX_HINTS, Inbox, Steering, instruction_documents, steer
from vulcan.store import MemoryStore, RunRecord
from vulcan.store.events import (
    CandidateProposed,
    InstructionTaken,
    RunStopped,
    SearchSteered,
    SteeringAct,
    WinnerChosen,
)

FIRST_HINT = "Try the square root."
OWN = "def decide(load, room):\n    return min(load, room) * 0.9 + load * 0.0123\n"
SERIAL = {"in_flight": 1, "racing": False, "tune": 0, "simplify": 0}


def act(kind: SteeringAct, text: str) -> SearchSteered:
    return SearchSteered(0, "", kind, text)


class Meddling:
    """A model's answers, in the course of which a person leaves instructions: by the number of the proposal."""

    def __init__(self, run: Path, plan: dict[int, list[SearchSteered]]) -> None:
        self._inbox, self._plan = Inbox(run), dict(plan)

    def __call__(self, request: Request) -> str | None:
        for one in self._plan.pop(request.proposal, ()):
            self._inbox.leave(one)
        return answer(request)


def steered(
    executor: Executor, run: Path, chosen: SearchConfig, plan: dict[int, list[SearchSteered]]
) -> tuple[MemoryStore, list[Request]]:
    store = MemoryStore()
    return store, search(chosen, store, executor, Meddling(run, plan), directory=run)


@pytest.fixture(scope="module")
def long(racers: Executor, tmp_path_factory: pytest.TempPathFactory) -> tuple[MemoryStore, list[Request]]:
    """A search of 27 proposals: a hint, two programs of the user's, and ten more hints."""
    plan = {
        SEEDS + 3: [act("hint", FIRST_HINT)],
        SEEDS + 6: [act("add", OWN), act("add", share(0.77))],
        SEEDS + 18: [act("hint", f"Hint {n}.") for n in range(MAX_HINTS)],
    }
    run = tmp_path_factory.mktemp("steered")
    return steered(racers, run, rich(**SERIAL, rounds=3, advice_every=0), plan)


def test_a_hint_is_shown_from_a_definite_proposal_on_until_ten_others_replace_it(
    long: tuple[MemoryStore, list[Request]],
) -> None:
    store, requests = long
    first, *later = [event.proposal for event in of_kind(store, SearchSteered) if event.act == "hint"]
    assert len(later) == MAX_HINTS
    shown = {request.proposal for request in requests if FIRST_HINT in request.messages[0].content}
    asked = {request.proposal for request in requests}
    assert shown == {n for n in asked if first <= n < max(later)}
    assert len([n for n in asked if n >= max(later)]) > 3


def test_an_own_program_is_a_candidate_without_a_call(long: tuple[MemoryStore, list[Request]]) -> None:
    store, requests = long
    mine = [verdict for verdict in judged(store) if verdict.origin == "user"]
    assert [verdict.source for verdict in mine] == [OWN, share(0.77)]
    assert {verdict.verdict for verdict in mine} <= {"scored", "same-decisions"}
    assert not {verdict.proposal for verdict in mine} & {request.proposal for request in requests}
    proposed = {event.proposal: event for event in of_kind(store, CandidateProposed)}
    assert [(proposed[v.proposal].operator, proposed[v.proposal].parents) for v in mine] == [
        ("added", ()),
        ("added", ()),
    ]
    assert len(proposed) == SEEDS + 27


def test_a_replay_repeats_it_event_for_event(racers: Executor, long: tuple[MemoryStore, list[Request]]) -> None:
    again = MemoryStore()
    recording = RecordedReplies.of(long[0])
    search(rich(**SERIAL, rounds=3, advice_every=0), again, racers, lambda _: None, recording=recording)
    assert contents(again) == contents(long[0])


def test_an_interrupted_search_goes_on_under_the_same_acts(racers: Executor, tmp_path: Path) -> None:
    """Cut off after the instruction is taken and before its event is stored; what comes later is as it was."""
    chosen = rich(**SERIAL, rounds=1, advice_every=0)
    plan = {SEEDS + 2: [act("hint", "Less is more."), act("add", OWN)]}
    (tmp_path / "whole").mkdir()
    whole, _ = steered(racers, tmp_path / "whole", chosen, plan)
    store = MemoryStore()
    stop = next(n for n, e in enumerate(whole.events()) if isinstance(e, SearchSteered))
    store.append(*list(whole.events())[:stop])
    for taken in whole.instructions():
        store.record(taken)
    for call in whole.calls():
        if call.proposal <= SEEDS + 4:
            store.record(call)
    search(chosen, store, racers, answer, directory=tmp_path)
    assert contents(store) == contents(whole)


def test_an_instruction_never_changes_a_proposal_that_was_asked(racers: Executor, tmp_path: Path) -> None:
    """A person steers while the search is stopped: the replies it has paid for are used as they were asked for."""
    chosen = rich(**SERIAL, rounds=1, advice_every=0)
    plain = MemoryStore()
    search(chosen, plain, racers)
    store = MemoryStore()
    cut = next(n for n, e in enumerate(plain.events()) if isinstance(e, CandidateProposed) and e.proposal == SEEDS + 2)
    store.append(*list(plain.events())[:cut], RunStopped("interrupted"))
    for call in plain.calls():
        if call.proposal <= SEEDS + 4:
            store.record(call)
    Inbox(tmp_path).leave(act("hint", "Less is more."))
    search(chosen, store, racers, answer, directory=tmp_path)
    (event,) = of_kind(store, SearchSteered)
    assert event.proposal == SEEDS + 5
    first = {call.proposal: call.messages for call in store.calls() if call.turn == 0}
    assert {number for number, chat in first.items() if "Less is more." in chat[0][1]} == {
        number for number in first if number >= SEEDS + 5
    }


# What is refused


@pytest.fixture(scope="module")
def record(long: tuple[MemoryStore, list[Request]]) -> RunRecord:
    """The search before its end."""
    events = list(long[0].events())
    last = max(n for n, event in enumerate(events) if isinstance(event, CandidateProposed))
    return RunRecord.of(events[:last])


def test_a_mistake_is_told_and_nothing_is_written(tmp_path: Path, record: RunRecord) -> None:
    for given, why in (
        (act("hint", " \n"), "1 to 1,000 characters"),
        (act("hint", "x" * 1001), "1,001"),
        (act("add", "def decide(load, room):\n    return load + missing\n"), "checker rejects"),
        (act("add", "#" * 70_000), "checker rejects"),
        (act("add", OWN), "already"),
    ):
        with pytest.raises(UserError, match=why):
            steer(tmp_path, record, [act("hint", "Fine."), given])
    assert not (tmp_path / DIRECTORY).exists()


def test_a_search_that_takes_none_says_so(tmp_path: Path, record: RunRecord) -> None:
    hint = act("hint", "Fine.")
    offline = replace(record, config={**record.config, "model": ["offline/evolve"]})
    with pytest.raises(UserError, match="reads no prompt"):
        steer(tmp_path, offline, [hint])
    with pytest.raises(UserError, match="start a new one"):
        steer(tmp_path, replace(record, chosen=WinnerChosen(1, "train")), [hint])
    with pytest.raises(UserError, match="stopped before"):
        steer(tmp_path, RunRecord(), [hint])
    with pytest.raises(UserError, match="replays"):
        steer(tmp_path, replace(record, repeats="elsewhere"), [hint])


def test_instructions_wait_until_they_are_taken(tmp_path: Path, record: RunRecord) -> None:
    steer(tmp_path, record, [act("hint", "Fine."), act("add", share(0.123))])
    waiting = [one for one in instruction_documents(tmp_path, record, ()) if one["state"] == "waiting"]
    assert [one["act"] for one in waiting] == ["hint", "add"]
    store, inbox = MemoryStore(), Inbox(tmp_path)
    store.record(InstructionTaken(**asdict(replace(inbox.waiting()[0], proposal=40))))
    (tmp_path / DIRECTORY / "broken.json").write_text("{")
    (tmp_path / DIRECTORY / "other.json").write_text(json.dumps({"act": "delete everything"}))
    given = instruction_documents(tmp_path, record, store.instructions())[-2:]
    assert [(one["act"], one["state"], one["proposal"]) for one in given] == [
        ("hint", "applied", 40), ("add", "waiting", None),
    ]  # fmt: skip
    Steering(record, store, tmp_path, 0).take(50)  # the first is in the log: a killed search left its file
    assert [(one.act, one.proposal) for one in store.instructions()] == [("hint", 40), ("add", 50)]
    assert inbox.waiting() == []
