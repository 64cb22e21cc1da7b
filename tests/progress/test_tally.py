"""How a search stands is counted from its events: scores, pace, time left, failures and cost."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
from standings import Clock, a_search, judged

from vulcan.documents.run import Progress
from vulcan.progress.state import RECENT, ProgressTracker
from vulcan.store.events import CandidateRefined, FinalistScored, HeldOutMeasured


def standing(tally: ProgressTracker) -> Progress:
    found = tally.snapshot()
    assert found is not None
    return found


def test_the_gap_is_to_the_strongest_baseline_on_train_and_to_no_bound() -> None:
    tally, study = ProgressTracker(Clock()), a_search()
    tally.begin(study)
    assert standing(tally)["gap"] is None
    assert standing(tally)["best_baseline"] == {"policy": "steady", "score": 0.25}
    assert tally.add(judged(study, score=0.2))
    assert standing(tally)["gap"] == pytest.approx(-0.05)
    assert not tally.add(judged(study, score=0.2)), "an equal one is not better"
    assert tally.add(judged(study, score=0.4))
    assert standing(tally)["best"] == {"candidate": 3, "score": 0.4}
    assert standing(tally)["gap"] == pytest.approx(0.15)
    assert not tally.add(judged(study, "stopped", None))


def test_what_a_run_holds_already_counts_and_its_pace_does_not() -> None:
    clock, study = Clock(), a_search()
    for _ in range(10):
        judged(study, score=0.5)
    judged(study, "rejected", rules=("while",))
    clock.now += 1000
    tally = ProgressTracker(clock)
    tally.begin(study)
    now = standing(tally)
    assert (now["completed"], now["best"]) == (11, {"candidate": 1, "score": 0.5})
    assert (now["verdicts"], now["rules"]) == ({"scored": 10, "rejected": 1}, {"while": 1})
    assert now["candidates_per_minute"] is None
    clock.now += 30
    tally.add(judged(study))
    assert standing(tally)["candidates_per_minute"] == pytest.approx(2.0)


def test_the_pace_is_that_of_the_last_two_minutes_without_the_tasks_own_policies() -> None:
    clock, study = Clock(), a_search()
    tally = ProgressTracker(clock)
    tally.begin(study)
    clock.now += 500
    tally.add(judged(study, seed=True))
    for _ in range(10):  # ten at 6 a minute
        clock.now += 10
        tally.add(judged(study))
    assert standing(tally)["candidates_per_minute"] == pytest.approx(6.0)
    assert standing(tally)["seconds_left"] == pytest.approx(400.0)
    for _ in range(20):  # then at 30 a minute, for longer than is looked back
        clock.now += 2
        tally.add(judged(study))
    clock.now += RECENT - 40
    assert standing(tally)["candidates_per_minute"] == pytest.approx(60 * 20 / RECENT, rel=0.1)
    clock.now += 10 * RECENT
    assert (standing(tally)["candidates_per_minute"] or 0.0) < 1, "a search that stands still has no pace"


@pytest.mark.parametrize(
    ("options", "left"),
    [
        ({}, 400.0),
        ({"budget_minutes": 5.0}, 200.0),
        ({"budget_minutes": 100.0}, 400.0),
        ({"budget_dollars": 2.0}, 100.0),
        ({"budget_tokens": 1500}, 50.0),
        ({"budget_tokens": 1500, "budget_dollars": 2.0, "budget_minutes": 5.0}, 50.0),
    ],
)
def test_the_time_left_is_that_of_whatever_ends_the_search_first(options: dict[str, float], left: float) -> None:
    clock, study = Clock(), a_search(**options)
    tally = ProgressTracker(clock)
    tally.begin(study)
    for _ in range(10):
        clock.now += 10
        study.costs.dollars += 0.1
        study.costs.tokens_in += 60
        study.costs.tokens_out += 40
        tally.add(judged(study))
    assert standing(tally)["seconds_left"] == pytest.approx(left)


def test_the_time_left_counts_what_follows_the_last_proposal_once_a_tuning_was_timed() -> None:
    clock, study = Clock(), a_search(tune=16, simplify=8, finalists=10)
    splits = {"train": (1, 2), "validation": (3,), "test": ()}
    study.scorer = SimpleNamespace(of=splits.__getitem__)
    tally = ProgressTracker(clock)
    tally.begin(study)
    for _ in range(10):
        clock.now += 10
        tally.add(judged(study))
    assert standing(tally)["seconds_left"] == pytest.approx(400.0)
    clock.now += 32
    refined = CandidateRefined(2, "tuned", 16, None)
    study.record.add(refined)
    tally.add(refined)
    end = 2 * (3 * 16 + 2 * 8 + (10 + 8) / 2)  # seconds of 2 an evaluation, validation being half as large as train
    assert standing(tally)["seconds_left"] == pytest.approx(
        60 * 40 / (standing(tally)["candidates_per_minute"] or 0.0) + end
    )
    study.record.refined[:] = [CandidateRefined(1, "tuned", 16, None)]
    assert standing(tally)["seconds_left"] == pytest.approx(
        60 * 40 / (standing(tally)["candidates_per_minute"] or 0.0) + end - 2 * 3 * 16
    ), "the best candidate is not tuned twice"
    study.record.refined[:] = [refined]
    study.completed = study.total
    assert standing(tally)["seconds_left"] == pytest.approx(end)
    clock.now += 20
    assert standing(tally)["seconds_left"] == pytest.approx(end - 20)
    for event in (CandidateRefined(1, "simplified", 8, None), *(FinalistScored(1, "validation", 0.3, ()),)):
        study.record.add(event)
        tally.add(event)
    clock.now += 4
    assert (standing(tally)["seconds_left"] or 0.0) < 2 * 17 * 1.5
    study.record.add(HeldOutMeasured((), (), ()))
    assert standing(tally)["seconds_left"] == 0.0


def test_failures_and_rules_have_the_most_frequent_first_and_a_rule_counts_once_a_candidate() -> None:
    tally, study = ProgressTracker(Clock()), a_search()
    tally.begin(study)
    for rules in (("name",), ("while", "while", "name"), ("name",)):
        tally.add(judged(study, "rejected", rules=rules))
    tally.add(judged(study, "timeout"))
    now = standing(tally)
    assert list(now["verdicts"].items()) == [("rejected", 3), ("timeout", 1)]
    assert list(now["rules"].items()) == [("name", 3), ("while", 1)]
