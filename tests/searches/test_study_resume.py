"""A run that was stopped anywhere and goes on ends as the uninterrupted one would have, and pays for nothing twice."""

from __future__ import annotations

import random

import pytest
from search_parts import (
    SEEDS,
    Scripted,
    as_reply,
    config,
    contents,
    lineup,
    mood,
    opened,
    share,
)

from vulcan.models import Request
from vulcan.scoring import Executor, Job, WorkerLost
from vulcan.searches.calls_in_flight import MAX_UNANSWERED
from vulcan.searches.config import SearchConfig
from vulcan.store import MemoryStore
from vulcan.store.events import CandidateJudged

ROUNDS, SAMPLES = 3, 5


def plan() -> SearchConfig:
    return config(rounds=ROUNDS, samples=SAMPLES, repairs=1, seed=6)


def program(request: Request) -> str:
    """Follows from the request alone, parents too; now and then no program, an equal one or one that fails."""
    rng = random.Random(f"{request.seed} {request.turn}")
    kind = rng.randrange(6)
    if kind == 0:
        return "no program"
    if kind == 1:
        return as_reply(mood(104))
    if kind == 2:
        return as_reply(request.parents[0].source)
    return as_reply(share(round(request.parents[0].score + rng.random(), 3)))


@pytest.fixture(scope="module")
def calm(children: Executor):
    """What the uninterrupted run holds, and what it was asked."""
    store, proposer = MemoryStore(), Scripted(program)
    opened(store, plan(), children).run(lineup(proposer))
    return contents(store), {(r.proposal, r.turn) for r in proposer.requests}


def test_a_model_that_answers_nothing_any_more_stops_the_search(children: Executor) -> None:
    store = MemoryStore()

    def answer(request: Request) -> str | None:
        return program(request) if request.proposal - SEEDS <= 3 else None

    silent = opened(store, plan(), children)
    with pytest.raises(Exception, match=f"no reply to {MAX_UNANSWERED} proposals in a row.*`vulcan resume`") as caught:
        silent.run(lineup(Scripted(answer)), parallel=1)
    assert "\n" not in str(caught.value)
    assert not [e for e in store.events() if isinstance(e, CandidateJudged) and e.verdict == "no-reply"]

    again = Scripted(program)
    study = opened(store, plan(), children)
    study.run(lineup(again))
    assert min(r.proposal for r in again.requests) == SEEDS + 4  # what nobody answered is asked anew
    assert study.completed == ROUNDS * SAMPLES
    assert study.record.chosen is not None


class Losing:
    """An executor that loses its workers at one job."""

    name, workers = "losing", 1

    def __init__(self, inner: Executor, at: int) -> None:
        self._inner, self._left = inner, at

    def submit(self, job: Job):
        future = self._inner.submit(job)
        self._left -= 1
        if self._left == 0:
            future.result()
            future = type(future)()
            future.set_exception(WorkerLost("the machine is gone"))
        return future


def test_a_machine_that_is_lost_is_no_verdict_on_a_candidate(calm, children: Executor) -> None:
    store = MemoryStore()
    with pytest.raises(WorkerLost):
        opened(store, plan(), Losing(children, SEEDS + 6)).run(lineup(Scripted(program)))  # type: ignore[arg-type]
    opened(store, plan(), children).run(lineup(Scripted(program)))
    assert contents(store) == calm[0]
