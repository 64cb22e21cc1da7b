"""Cheaper scores come first: who is stopped by them, and who never is."""

from __future__ import annotations

from concurrent.futures import Future
from dataclasses import replace
from typing import Any, cast

import pytest
from executors import Watched
from search_parts import CROWD, SEEDS, Scripted, as_reply, judged, lineup, of_kind, opened, racing, reply, share

from vulcan.scoring import Executor, Job, Outcome
from vulcan.searches.evaluation import MIN_EARLIER, CandidateEvaluation, EvaluationPlan, StoppingContext, stages
from vulcan.store import MemoryStore
from vulcan.store.events import CandidateJudged, CandidateProposed, FinalistScored


def measured(executor: Watched, number: int) -> list[tuple[str, ...]]:
    """The names of the instances of each job of a number."""
    return [tuple(i.name for i in job.instances) for job in executor.jobs if job.id == number]


class OneSignature:
    """An executor whose probe sees no difference between any two programs."""

    def __init__(self, inner: Executor) -> None:
        self._inner = inner
        self.name, self.workers = inner.name, inner.workers

    def submit(self, job: Job) -> Any:
        changed: Future[Outcome] = Future()

        def take(done: Future[Outcome]) -> None:
            outcome = done.result()
            changed.set_result(replace(outcome, signature="same" if outcome.signature else None))

        self._inner.submit(job).add_done_callback(take)
        return changed


def run(executor: Any, *programs: str, **changes: Any) -> MemoryStore:
    """A search of rounds of one proposal each, so that each is judged by all before it."""
    store = MemoryStore()
    chosen = racing(**{"rounds": len(programs), "samples": 1, **changes})
    study = opened(store, chosen, executor)
    study.run(lineup(Scripted(lambda r: as_reply(programs[r.proposal - SEEDS - 1]))), parallel=1)
    return store


GOOD = tuple(share(1.01 + n / 100) for n in range(MIN_EARLIER))


def test_a_candidate_among_the_worst_on_a_rung_is_stopped_there(racers: Executor) -> None:
    watched = Watched(racers)
    store = run(watched, *GOOD, share(0.3), share(2.0))
    *_, stopped, best = judged(store)
    assert (stopped.verdict, stopped.score, stopped.metrics) == ("stopped", None, ())
    assert stopped.rungs == (("R=0.2", pytest.approx(2 * 0.3 - 1, abs=1e-12)),)
    assert stopped.feedback == "it scored -0.4000 on R=0.2, not among the best 40% of late"
    assert measured(watched, stopped.proposal) == [("light R=0.2", "heavy R=0.2")]
    assert best.verdict == "scored"
    assert [name for name, _ in best.rungs] == ["R=0.2", "R=0.4"]
    expected = [{"light R=0.2", "heavy R=0.2"}, {"light R=0.4", "heavy R=0.4"}, {"light", "heavy"}]
    assert [set(names) for names in measured(watched, best.proposal)[:3]] == expected


def test_what_stands_on_a_rung_as_it_is_is_measured_once(racers: Executor) -> None:
    watched = Watched(racers)
    study = opened(MemoryStore(), racing(), cast(Executor, watched))
    light, heavy = study.scorer.of("train")
    first, second = study.record.rungs
    rungs = (replace(first, instances=(first.instances[0], heavy)), replace(second, instances=(light, heavy)))
    plan = EvaluationPlan.of(rungs, (light, heavy), races=True)
    apart = EvaluationPlan.of((), (light, heavy), races=False)
    found, expected = (
        CandidateEvaluation(number, share(1.2), each, StoppingContext(), study.scorer, cast(Executor, watched), 60.0)
        for number, each in ((90, plan), (91, apart))
    )
    for each in (found, expected):
        each.wait()
    assert measured(watched, 90) == [("light R=0.2", "heavy"), ("light",)]
    assert (found.verdict, found.metrics, found.score) == ("scored", expected.metrics, expected.score)
    assert found.rungs[1] == ("R=0.4", expected.score)


def test_the_second_rung_stops_too(racers: Executor) -> None:
    """Equal on the first rung, the last program gives away what only the second one measures."""
    kept = [f"def decide(load, room):\n    return min(load, room) + {n / 100!r}\n" for n in range(MIN_EARLIER)]
    worse = "def decide(load, room):\n    return min(load, room) + 0.09 if (load + 2 * room) % 5 == 0 else 0.1 * load\n"
    stopped = judged(run(racers, *kept, worse))[-1]
    assert (stopped.verdict, [name for name, _ in stopped.rungs]) == ("stopped", ["R=0.2", "R=0.4"])


def test_a_stopped_candidate_is_no_parent_and_no_finalist(racers: Executor) -> None:
    store = run(racers, *GOOD, share(0.3), share(2.0), parents=99, finalists=99)
    (stopped,) = [v for v in judged(store) if v.verdict == "stopped"]
    assert stopped.candidate not in of_kind(store, CandidateProposed)[-1].parents
    assert len(of_kind(store, CandidateProposed)[-1].parents) == SEEDS + MIN_EARLIER
    assert stopped.candidate not in {e.candidate for e in store.events() if isinstance(e, FinalistScored)}


def test_an_equal_program_of_a_stopped_one_is_a_duplicate(racers: Executor) -> None:
    *_, stopped, again = judged(run(racers, *GOOD, share(0.3), share(0.3)))
    assert (stopped.verdict, again.verdict, again.of) == ("stopped", "duplicate", stopped.candidate)


def test_the_first_are_never_stopped_and_neither_are_the_tasks_own(racers: Executor) -> None:
    """The seed policies count among those that a rung's score is compared with."""
    falling = [share(0.99 - n / 20) for n in range(MIN_EARLIER + 2)]
    store = run(racers, *falling)
    verdicts = [e.verdict for e in of_kind(store, CandidateJudged)]
    assert verdicts == ["scored"] * MIN_EARLIER + ["stopped"] * (SEEDS + 2)
    assert all(e.rungs for e in of_kind(store, CandidateJudged))


def test_of_a_crowd_a_plainly_worse_candidate_is_stopped_after_the_first_part(
    racers: Executor, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("vulcan.searches.study.REACH", 1)
    watched = Watched(racers)
    crowd = {"settings": {"crowd": CROWD}, "finalists": 1}
    store = run(watched, share(2.0), share(1.1), share(2.5), **crowd)
    names = ["light", "heavy", *(f"crowd {n}" for n in range(1, CROWD + 1))]
    first, rest = stages(len(names))
    better, worse, best = judged(store)
    assert (worse.verdict, worse.score, worse.metrics) == ("stopped", None, ())
    assert worse.feedback == "on the first 6 instances it was plainly worse than the best candidates"
    assert measured(watched, worse.proposal)[-1] == tuple(names[i] for i in first)
    assert measured(watched, best.proposal)[2:4] == [tuple(names[i] for i in part) for part in (first, rest)]
    for scored in (better, best):
        assert [name for name, _ in scored.metrics] == names
    apart = run(racers, share(2.0), share(1.1), share(2.5), **crowd, racing=False)
    assert judged(apart)[0].metrics == better.metrics
    assert judged(apart)[0].score == better.score


def test_who_decides_as_another_did_before_is_not_scored(racers: Executor) -> None:
    same = "def decide(load, room):\n    return min(room, load) * 1.5 + 0 * room\n"
    store = run(racers, share(1.5), same)
    first, second = judged(store)
    assert (second.verdict, second.of, second.score) == ("same-decisions", first.candidate, None)
    assert second.feedback == f"it decides as candidate {first.candidate} does"
    assert second.signature == first.signature


def test_who_decides_alike_on_the_probe_alone_is_scored(racers: Executor) -> None:
    """A short probe may show no difference where the scored instances do."""
    programs = [share(1.5), share(1.4), "def decide(load, room):\n    return min(room, load) * 1.4 + 0 * room\n"]
    study = opened(MemoryStore(), racing(rounds=3, samples=1), cast(Executor, OneSignature(racers)))
    for program in programs:
        proposal = study.ask()
        assert proposal is not None
        study.tell(proposal, reply(as_reply(program)))
        study.wait_for_scores()
    first, second, third = judged(study.store)
    assert (first.verdict, second.verdict, third.verdict) == ("scored", "scored", "same-decisions")
    assert first.signature == second.signature == third.signature
    assert third.of == second.candidate
    assert third.rungs == ()
