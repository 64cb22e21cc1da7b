"""The winner is chosen on evidence that the search did not see, and tested once."""

from __future__ import annotations

from concurrent.futures import Future
from typing import Any

from search_parts import (
    SEEDS,
    TASK,
    Scripted,
    as_reply,
    config,
    contents,
    lineup,
    new_study,
    of_kind,
    opened,
    share,
)

from vulcan.scoring import Executor, Job, Outcome
from vulcan.store import MemoryStore
from vulcan.store.events import CandidateJudged, FinalistScored, RunStopped, WinnerChosen

OVERFITTED = "def decide(load, room):\n    if load + room == 0:\n        return 106\n    return room\n"
"""The best on the split train, and fails on the split validation."""


class Watched:
    """An executor that writes down which splits its jobs are about."""

    def __init__(self, inner: Executor) -> None:
        self._inner = inner
        self.name, self.workers = inner.name, inner.workers
        self.splits: list[tuple[str, ...]] = []

    def submit(self, job: Job) -> Future[Outcome]:
        self.splits.append(tuple(sorted({instance.split for instance in job.instances})))
        return self._inner.submit(job)


def finished(executor: Any, *programs: str, **changes: Any) -> MemoryStore:
    """The store of a search of one round whose replies are these programs, then finished."""
    study = new_study(executor, rounds=1, samples=len(programs), **changes)
    study.run(lineup(Scripted(lambda request: as_reply(programs[request.proposal - SEEDS - 1]))))
    assert isinstance(study.store, MemoryStore)
    return study.store


def test_the_winner_is_chosen_on_the_split_validation(children: Executor) -> None:
    store = finished(children, OVERFITTED, share(1.5), share(1.2))
    ranked = sorted(of_kind(store, CandidateJudged), key=lambda c: -(c.score or -9))
    assert ranked[0].candidate == SEEDS + 1
    assert of_kind(store, WinnerChosen) == [WinnerChosen(SEEDS + 2, "validation")]
    validation = {c.candidate: c.score for c in of_kind(store, FinalistScored) if c.split == "validation"}
    assert (
        validation
        == {
            SEEDS + 1: None,  # it failed there
            **{c.candidate: c.score for c in ranked[1:]},  # the same workloads as those of the split train
        }
    )
    assert of_kind(store, RunStopped) == []  # for whoever runs the study to say, with `close`


def test_the_test_is_run_once_and_for_the_winner_alone(children: Executor) -> None:
    watched = Watched(children)
    store = finished(watched, OVERFITTED, share(1.5), share(1.2))
    assert watched.splits == [("train",)] * (SEEDS + 3) + [("validation",)] * (SEEDS + 3) + [("test",)]
    tested = [c for c in of_kind(store, FinalistScored) if c.split == "test"]
    assert [c.candidate for c in tested] == [SEEDS + 2]
    assert [name for name, _ in tested[0].metrics] == ["heavy"]

    before = contents(store)
    again = opened(store, config(rounds=1, samples=3), watched)  # type: ignore[arg-type]
    again.run(lineup(Scripted(lambda _: None)))
    assert contents(store) == before
    assert watched.splits.count(("test",)) == 1


def test_only_the_best_on_train_are_measured_on_the_split_validation(children: Executor) -> None:
    store = finished(children, share(1.1), share(1.4), share(1.3), share(1.2), finalists=2)
    confirmed = [(c.candidate, c.split) for c in of_kind(store, FinalistScored)]
    best, second = SEEDS + 2, SEEDS + 3
    seeds = [(number, "validation") for number in range(1, SEEDS + 1)]
    assert confirmed[:2] + sorted(confirmed[2:-1]) + confirmed[-1:] == [
        (best, "validation"), (second, "validation"), *seeds, (best, "test"),
    ]  # fmt: skip


def test_where_the_finalist_fails_a_policy_to_begin_with_wins(children: Executor) -> None:
    store = finished(children, OVERFITTED, share(1.5), finalists=1)
    assert of_kind(store, WinnerChosen) == [WinnerChosen(1, "validation")]
    assert {(c.candidate, c.split) for c in of_kind(store, FinalistScored) if c.score is None} == {
        (SEEDS + 1, "validation")
    }


def test_programs_that_do_the_same_are_one_finalist_and_the_smallest_of_them(children: Executor) -> None:
    longer, other = share(1.5, "(min(load, room) + load * 1e-9)"), share(0.9)
    store = finished(children, longer, share(1.5), other)
    measured = {c.candidate for c in of_kind(store, FinalistScored)}
    assert measured >= {SEEDS + 2, SEEDS + 3} and SEEDS + 1 not in measured


def test_a_search_that_finds_nothing_keeps_the_best_of_the_tasks_own(children: Executor) -> None:
    store = finished(children, "no\n", "none\n", repairs=0)
    assert of_kind(store, WinnerChosen) == [WinnerChosen(1, "validation")]
    assert list(TASK.seed_policies()) == ["least", "quarter"]
