"""A run that was stopped anywhere and goes on ends as the uninterrupted one would have, and pays for nothing twice."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest
from effort import few
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

from vulcan.models import ModelRefused, Request
from vulcan.scoring import Executor, Job, WorkerLost
from vulcan.searches.config import SearchConfig
from vulcan.searches.missing_replies import MAX_UNANSWERED
from vulcan.store import MemoryStore, SQLiteStore, Store
from vulcan.store.events import CandidateJudged, CandidateProposed, Event

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


class InterruptAt:
    """A listener that interrupts the search like Ctrl-C, at the n-th event of a kind."""

    def __init__(self, number: int, kind: type[Event] = CandidateJudged) -> None:
        self.left, self.kind = number, kind

    def __call__(self, event: Event) -> None:
        self.left -= isinstance(event, self.kind)
        if self.left == 0 and isinstance(event, self.kind):
            raise KeyboardInterrupt


@pytest.fixture(scope="module")
def calm(children: Executor):
    """What the uninterrupted run holds, and what it was asked."""
    store, proposer = MemoryStore(), Scripted(program)
    opened(store, plan(), children).run(lineup(proposer))
    return contents(store), {(r.proposal, r.turn) for r in proposer.requests}


def test_the_uninterrupted_run_has_something_of_everything(calm) -> None:
    (events, _), asked = calm
    verdicts = Counter(e.verdict for e in events if isinstance(e, CandidateJudged))
    assert set(verdicts) == {"scored", "duplicate", "rejected", "failed"}
    assert len(asked) > ROUNDS * SAMPLES  # repairs
    assert len({e.parents for e in events if isinstance(e, CandidateProposed)}) > 2


@pytest.mark.parametrize("where", ["memory", "sqlite"])
@pytest.mark.parametrize("seed", few(range(5), 1))
def test_interrupted_at_random_again_and_again(calm, children: Executor, tmp_path: Path, seed: int, where: str) -> None:
    rng = random.Random(seed)
    kept, path = MemoryStore(), tmp_path / "run.db"

    def store(create: bool = False) -> Store:
        return kept if where == "memory" else SQLiteStore(path, create=create)

    asked: list[tuple[int, int]] = []
    stops = 0
    with closing(store(create=True)):
        pass
    while True:
        proposer = Scripted(program)
        with closing(store()) as current:
            study = opened(current, plan(), children, [InterruptAt(rng.randint(1, 6))])
            try:
                study.run(lineup(proposer), parallel=rng.choice([1, 3]))
            except KeyboardInterrupt:
                stops += 1
                assert proposer.closed
            else:
                break
            finally:
                asked += [(r.proposal, r.turn) for r in proposer.requests]
    assert stops >= 2
    with closing(store()) as current:
        assert contents(current) == calm[0]
    assert Counter(asked) == Counter(calm[1])  # each was asked, and none of them twice


@pytest.mark.parametrize("number", [1, SEEDS])
def test_interrupted_while_the_tasks_own_policies_are_scored(calm, children: Executor, number: int) -> None:
    store = MemoryStore()
    with pytest.raises(KeyboardInterrupt):
        opened(store, plan(), children, [InterruptAt(number)]).run(lineup(Scripted(program)))
    opened(store, plan(), children).run(lineup(Scripted(program)))
    assert contents(store) == calm[0]


@pytest.mark.parametrize("number", few([1, 2, 5, 10], 2))
def test_interrupted_while_the_winner_is_chosen(calm, children: Executor, number: int) -> None:
    from vulcan.store.events import FinalistScored

    store = MemoryStore()
    with pytest.raises(KeyboardInterrupt):
        opened(store, plan(), children, [InterruptAt(number, FinalistScored)]).run(lineup(Scripted(program)))
    opened(store, plan(), children).run(lineup(Scripted(lambda _: pytest.fail("nothing is left to ask"))))
    assert contents(store) == calm[0]


def refuse_at(number: int) -> Callable[[Request], str]:
    def answer(request: Request) -> str:
        if request.proposal == SEEDS + number:
            raise ModelRefused("wrong key")
        return program(request)

    return answer


@pytest.mark.parametrize("number", few([1, 4, 9], 1))
def test_a_model_that_refuses_stops_the_run_which_goes_on_with_the_right_key(
    calm, children: Executor, number: int
) -> None:
    store = MemoryStore()
    refused = Scripted(refuse_at(number))
    with pytest.raises(ModelRefused, match="wrong key"):
        opened(store, plan(), children).run(lineup(refused))
    assert refused.closed
    answered = {(c.proposal, c.turn) for c in store.calls()}
    assert answered == {(r.proposal, r.turn) for r in refused.requests if r.proposal != SEEDS + number}
    again = Scripted(program)
    opened(store, plan(), children).run(lineup(again))
    assert contents(store) == calm[0]
    assert {(r.proposal, r.turn) for r in again.requests} == calm[1] - answered


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


def test_now_and_then_no_answer_costs_a_row_and_nothing_else(children: Executor) -> None:
    store = MemoryStore()
    proposer = Scripted(lambda r: None if (r.proposal - SEEDS) % MAX_UNANSWERED else program(r))
    opened(store, plan(), children).run(lineup(proposer), parallel=1)
    verdicts = {
        e.proposal - SEEDS: e.verdict for e in store.events() if isinstance(e, CandidateJudged) and e.proposal > SEEDS
    }
    assert [n for n, v in verdicts.items() if v == "no-reply"] == [1, 2, 3, 4, 6, 7, 8, 9, 11, 12, 13, 14]


def test_an_answer_that_fails_to_come_for_a_repair_leaves_the_rejected_one(children: Executor) -> None:
    store = MemoryStore()
    last = SEEDS + 3  # with a program, else the search would be no success
    proposer = Scripted(lambda r: as_reply(share(1.0)) if r.proposal == last else "no program" if r.turn == 0 else None)
    opened(store, config(rounds=1, samples=3), children).run(lineup(proposer))
    found = [(e.proposal - SEEDS, e.turn, e.verdict) for e in store.events() if isinstance(e, CandidateJudged)][SEEDS:]
    rejected = [(1, 0, "rejected"), (1, 1, "no-reply"), (2, 0, "rejected"), (2, 1, "no-reply")]
    assert found == [*rejected, (3, 0, "scored")]


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
