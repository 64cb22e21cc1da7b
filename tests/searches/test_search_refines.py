"""The best candidates are tuned, and the winner made simpler, at no cost of a model and to nobody's loss."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from statistics import fmean
from typing import Any

import pytest
from effort import few
from executors import Watched
from rich_parts import rich, search
from search_parts import (
    MOOD_TASK,
    SEEDS,
    TASK,
    Scripted,
    as_reply,
    config,
    evidence,
    judged,
    lineup,
    of_kind,
    opened,
    racing,
    share,
)

from vulcan.anvil import check
from vulcan.anvil.policy import effort
from vulcan.evaluator import Evaluator, Instance, Rung, load_evaluator
from vulcan.python_policy.check import check_policy
from vulcan.scoring import Executor, Job, LocalExecutor, Setup
from vulcan.searches import tuning
from vulcan.store import MemoryStore
from vulcan.store.events import (
    CandidateJudged,
    CandidateProposed,
    CandidateRefined,
    Event,
    FinalistScored,
    WinnerChosen,
)


def searched(executor: Executor, *programs: str, **changes: object) -> MemoryStore:
    """One proposal after the other, with these programs in turn."""
    store = MemoryStore()
    chosen = config(**{"objective": "calm", "rounds": len(programs), "samples": 1, "finalists": 5, **changes})
    study = opened(store, chosen, executor)
    study.run(lineup(Scripted(lambda r: as_reply(programs[r.proposal - SEEDS - 1]))), parallel=1)
    return store


FAR = tuple(share(round(0.96 - n / 100, 2)) for n in range(20))
"""Each nearer to 0.685 than those before."""


def test_the_best_is_tuned_once_the_search_has_as_many_candidates_as_that_takes(children: Executor) -> None:
    store = searched(children, *FAR, tune=8)
    events = [e for e in store.events() if isinstance(e, CandidateProposed | CandidateJudged | CandidateRefined)]
    (first, *_) = of_kind(store, CandidateRefined)
    position = events.index(first)
    assert len({e.proposal for e in events[:position] if isinstance(e, CandidateProposed) and e.round > 0}) == 8
    child = events[position - 1]
    assert isinstance(child, CandidateJudged)
    parent = next(e for e in events if isinstance(e, CandidateJudged) and e.candidate == first.candidate)
    assert (first.by, first.result) == ("tuned", child.candidate)
    assert (child.origin, child.derived_from, child.verdict) == ("tuned", parent.candidate, "scored")
    assert (child.proposal, child.turn) == (parent.proposal, parent.turn)
    assert child.score > parent.score
    assert child.fingerprint == check(child.source, TASK).fingerprint != parent.fingerprint
    assert [name for name, _ in child.metrics] == ["light", "heavy"]
    before, *tried = (sample[-1] for sample in first.samples)
    assert (before, max(tried)) == tuple(float(f"{one.score:.6g}") for one in (parent, child))


def test_none_is_tuned_twice_and_none_that_came_of_it(racers: Executor) -> None:
    store = MemoryStore()
    search(rich(), store, racers)
    for by in ("tuned", "simplified"):
        of, to = zip(*[(r.candidate, r.result) for r in of_kind(store, CandidateRefined) if r.by == by], strict=True)
        assert len(set(of)) == len(of)
        assert not set(of) & set(to)


@pytest.mark.parametrize("seed", few([1, 5, 22], 1))
def test_evaluations_never_pass_the_number_of_settled_proposals(racers: Executor, seed: int) -> None:
    store = MemoryStore()
    search(rich(seed=seed, rounds=5), store, racers)
    spent = settled = 0
    for event in store.events():
        if settled == 45 and isinstance(event, CandidateRefined):
            break  # the end
        settled += isinstance(event, CandidateProposed) and event.round > 0
        if isinstance(event, CandidateRefined):
            spent += event.evaluations
            assert spent <= settled
    assert spent > 0


def test_what_is_counted_is_what_was_measured(racers: Executor) -> None:
    """Jobs of the tuner and the simplifier have no proposal's number below which a program could be repeated."""
    measured: list[str] = []
    jobs = {}

    class Counting:
        name, workers = "counting", 2

        def submit(self, job: Job) -> Any:
            measured.append(job.source)
            return racers.submit(job)

    plain, refined = MemoryStore(), MemoryStore()
    chosen = rich()
    for store, changes in ((plain, {"tune": 0, "simplify": 0}), (refined, {"advice_every": 11})):
        measured.clear()
        search(replace(chosen, strategy="best-of-n", **changes), store, Counting())  # type: ignore[arg-type]
        # a duplicate may or may not be under way when the probe tells that it is one
        duplicates = {c.source for c in of_kind(store, CandidateJudged) if c.verdict == "same-decisions"}
        jobs[store is refined] = sum(source not in duplicates for source in measured)
    extra = sum(r.evaluations for r in of_kind(refined, CandidateRefined))
    assert extra > 0
    # the finalists may be others, and more of them known already: three more measurements at the most
    assert abs(jobs[True] - jobs[False] - extra) <= 3


def test_a_tuned_child_is_a_parent_only_behind_the_barrier(children: Executor) -> None:
    """Three are under way at a time; what is drafted with the tuned one's parent unsettled does not see it."""
    store = searched(children, *FAR, tune=8, strategy="evolve", islands=1, in_flight=3, diff="never")
    (first, *_) = of_kind(store, CandidateRefined)
    events = list(store.events())
    settled = [e.proposal for e in events[: events.index(first)] if isinstance(e, CandidateProposed)][-1]
    using = [e.proposal for e in of_kind(store, CandidateProposed) if first.result in e.parents]
    assert using != []
    assert min(using) > settled + 3 - 1


def test_of_equal_finalists_the_smaller_wins(children: Executor) -> None:
    """On the split validation the two take on the same, and on train the longer one a little more."""
    long = "def decide(load, room):\n    return min(load, room) * 0.6 + (0.05 if load > 4.5 else 0.0) * room\n"
    changes = {"settings": {"crowd": 3}, "simplify": 0}
    with_crowd = [long, share(0.6)]
    chosen = config(**changes)
    with LocalExecutor(Setup(MOOD_TASK, evidence(chosen).everything), 1) as executor:
        store = searched(executor, *with_crowd, **changes)
    first, second = judged(store)
    assert first.score > second.score
    assert first.size > second.size
    on_validation = {e.candidate: e.score for e in of_kind(store, FinalistScored) if e.split == "validation"}
    assert on_validation[first.candidate] == on_validation[second.candidate]
    assert of_kind(store, WinnerChosen) == [WinnerChosen(second.candidate, "validation")]


def test_the_winner_is_made_simpler_at_the_end(children: Executor) -> None:
    padded = share(0.6851, "(min(load, room) + load * 1e-9)")
    store = searched(children, *[padded] * 20, simplify=20)
    (refined,) = of_kind(store, CandidateRefined)
    (whole, simple) = (candidate for candidate in judged(store) if candidate.verdict == "scored")
    assert (refined.by, refined.candidate, refined.result) == ("simplified", whole.candidate, simple.candidate)
    assert (simple.origin, simple.derived_from) == ("simplified", whole.candidate)
    assert simple.size < whole.size
    assert simple.score >= whole.score - 1e-4
    assert "1e-" not in simple.source
    assert (refined.cost or refined.evaluations) <= 20
    assert of_kind(store, WinnerChosen)[0].candidate == simple.candidate
    kinds: list[type[Event]] = [type(e) for e in store.events()]
    assert kinds.index(CandidateRefined) < kinds.index(FinalistScored)


def test_cuts_are_tried_first_on_what_stands_on_a_rung_as_it_is(
    racers: Executor, monkeypatch: pytest.MonkeyPatch
) -> None:
    evaluator = type(load_evaluator(TASK))
    every = evaluator.rungs

    def rungs(self: Evaluator, instances: Sequence[Instance]) -> list[Rung]:
        return [replace(rung, instances=(rung.instances[0], *instances[1:])) for rung in every(self, instances)]

    monkeypatch.setattr(evaluator, "rungs", rungs)
    proved: list[str] = []
    monkeypatch.setattr(
        tuning, "check_policy", lambda source, task: proved.append(source) or check_policy(source, task)
    )
    watched, store = Watched(racers), MemoryStore()
    chosen = racing(rounds=20, samples=1, objective="calm", simplify=20, tune=0)
    padded = share(0.6851, "(min(load, room) + load * 1e-9)")
    opened(store, chosen, watched).run(lineup(Scripted(lambda _: as_reply(padded))), parallel=1)
    (refined,) = of_kind(store, CandidateRefined)
    cuts = [tuple(i.name for i in job.instances) for job in watched.jobs if "1e-" not in job.source]
    assert refined.result is not None
    assert cuts.index(("heavy",)) < cuts.index(("light", "heavy"))
    assert len(proved) == len(set(proved)), "each is checked once for all that it is measured on"


def test_a_winner_that_was_not_best_on_train_is_made_simpler_too() -> None:
    """Loads above 4.5 are on the split train alone."""
    best, winner = share(0.65), share(0.685, "(min(load, room) * (1.0 if load < 4.5 else 0.7) + load * 1e-9)")
    chosen = {"settings": {"crowd": 3}, "simplify": 20}
    with LocalExecutor(Setup(MOOD_TASK, evidence(config(**chosen)).everything), 1) as executor:
        store = searched(executor, *[best, winner] * 10, **chosen)
    first, second = of_kind(store, CandidateRefined)
    scored = {c.source: c for c in judged(store) if c.score is not None}
    assert (first.candidate, second.candidate) == (scored[best].candidate, scored[winner].candidate)
    assert first.result is None
    simple = next(c for c in judged(store) if c.candidate == second.result)
    assert simple.size < scored[winner].size
    on_validation = {e.candidate: e.score for e in of_kind(store, FinalistScored) if e.split == "validation"}
    assert on_validation[second.candidate] > on_validation[first.candidate]
    assert on_validation[simple.candidate] == pytest.approx(on_validation[second.candidate], abs=1e-6)
    assert of_kind(store, WinnerChosen) == [WinnerChosen(simple.candidate, "validation")]


def test_evaluations_of_a_program_that_takes_longer_are_fewer(children: Executor) -> None:
    long = share(0.6851, f"(min(load, room){' + load * 1e-9' * 60})")
    store = searched(children, *FAR[:19], long, simplify=20)
    (refined,) = of_kind(store, CandidateRefined)
    efforts = [effort(c.operations, TASK) for c in judged(store) if c.origin == "model"]
    assert refined.cost is not None
    assert 1 <= refined.cost <= 20 * fmean(efforts) / max(efforts) < 5
