"""A search with everything in it that is interrupted at any event ends as the uninterrupted one."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

import pytest
from effort import few, slow
from executors import Losing
from rich_parts import Quiet, rich, search
from search_parts import contents, judged, of_kind

from vulcan.models.base import Request
from vulcan.scoring import Executor, WorkerLost
from vulcan.store import MemoryStore
from vulcan.store.events import (
    AdviceReceived,
    CandidateJudged,
    CandidateProposed,
    CandidateRefined,
    Event,
    FinalistScored,
    RunStopped,
    WinnerChosen,
)


@dataclass
class Whole:
    """The uninterrupted search."""

    store: MemoryStore
    asked: list[Request]


@pytest.fixture(scope="module")
def whole(racers: Executor) -> Whole:
    store = MemoryStore()
    return Whole(store, search(rich(), store, racers))


def test_it_has_something_of_everything(whole: Whole) -> None:
    verdicts = Counter(v.verdict for v in judged(whole.store))
    assert set(verdicts) == {
        "scored", "stopped", "duplicate", "same-decisions", "rejected", "failed", "no-reply",
    }  # fmt: skip
    assert {v.origin for v in judged(whole.store)} == {"model", "tuned", "simplified"}
    assert len(of_kind(whole.store, AdviceReceived)) == 3
    assert max(v.turn for v in judged(whole.store)) == 2
    assert {"constant-result", "no-code-block", "name"} == {r for v in judged(whole.store) for r in v.rules}
    assert [e.reason for e in of_kind(whole.store, RunStopped)] == ["finished"]


def interrupting(kind: type[Event], number: int) -> Quiet:
    """Interrupts like Ctrl-C at the n-th event of a kind."""
    left = number

    def listen(event: Event) -> None:
        nonlocal left
        if isinstance(event, kind):
            left -= 1
            if left == 0:
                raise KeyboardInterrupt

    return Quiet(listen)


@pytest.mark.parametrize(
    ("kind", "number"),
    [
        slow(CandidateProposed, 1), slow(CandidateProposed, 2), (CandidateProposed, 7), slow(CandidateProposed, 38),
        slow(CandidateJudged, 1), (CandidateJudged, 9), slow(CandidateJudged, 23), slow(AdviceReceived, 1),
        (AdviceReceived, 3), slow(CandidateRefined, 1), slow(CandidateRefined, 2), (CandidateRefined, 3),
        slow(CandidateRefined, 4), slow(FinalistScored, 1), (FinalistScored, 3), (WinnerChosen, 1),
        slow(FinalistScored, 4),
    ],
    ids=lambda value: getattr(value, "__name__", value),
)  # fmt: skip
def test_interrupted_at_any_event_it_ends_alike(whole: Whole, racers: Executor, kind: type[Event], number: int) -> None:
    store = MemoryStore()
    with pytest.raises(KeyboardInterrupt):
        search(rich(), store, racers, display=interrupting(kind, number))
    assert [e.reason for e in of_kind(store, RunStopped)] == ["interrupted"]
    kept = {(c.proposal, c.turn) for c in store.calls()}
    asked = search(rich(), store, racers)
    assert contents(store) == contents(whole.store)
    assert not kept & {(r.proposal, r.turn) for r in asked}  # nothing is paid for twice


@pytest.mark.parametrize("at", few([9, 40, 90], 1))
def test_a_machine_that_is_lost_is_no_verdict_on_a_candidate(whole: Whole, racers: Executor, at: int) -> None:
    store = MemoryStore()
    with pytest.raises(WorkerLost):
        search(rich(), store, Losing(racers, at))
    search(rich(), store, racers)
    assert contents(store) == contents(whole.store)
