"""A run's record is the sum of its events."""

from __future__ import annotations

from dataclasses import replace

import pytest
from awkward_events import EVENTS, TEXT

from vulcan.errors import UserError
from vulcan.evaluator import Instance, Rung
from vulcan.store import RunRecord
from vulcan.store.events import (
    BaselineMeasured,
    CandidateJudged,
    CandidateProposed,
    Event,
    RunStopped,
    WinnerChosen,
)

PROPOSED = CandidateProposed(1, 1, "initial", (), 0, "m")


def judged(
    candidate: int, score: float | None, fingerprint: str | None = None, verdict: str = "scored"
) -> CandidateJudged:
    fingerprint = fingerprint or f"print of {candidate}"
    return CandidateJudged(candidate, 1, 0, "", fingerprint, verdict, "", (), 1, 1, None, score, ())  # type: ignore[arg-type]


def test_events_at_once_and_one_by_one_come_to_the_same() -> None:
    record = RunRecord()
    for number, event in enumerate(EVENTS, 1):
        record.add(event)
        assert record == RunRecord.of(EVENTS[:number])


def test_a_record_holds_what_the_events_said() -> None:
    record = RunRecord.of(EVENTS)
    assert record.config["seed"] == 2**62
    assert record.instances[1] == Instance("b", "test", {})
    assert set(record.baselines) == {("lru", "train"), ("belady", "test")}
    assert record.rungs == (Rung("R=0.1", (Instance("b R=0.1", "train", {}),), 0.3),)
    assert set(record.references) == {("fifo", "R=0.1")}
    assert set(record.proposals) == {1, 2, 3}
    assert record.advice == {3: TEXT}
    assert set(record.candidates) == {1, 2, 3, 4, 5, 6}
    assert [record.parents_of(candidate) for candidate in (1, 2, 6)] == [(), (1, 1), (1,)]
    assert [(r.candidate, r.by, r.result) for r in record.refined] == [(1, "tuned", 6), (6, "simplified", None)]
    assert record.confirmed[1, "validation"].score is None
    assert record.confirmed[1, "test"].score == 0.0
    assert record.chosen is not None
    assert record.chosen.candidate == 1
    assert record.stopped == RunStopped("finished")
    assert record.verdicts() == {"scored": 2, "rejected": 1, "duplicate": 1, "timeout": 1, "no-reply": 1}


def test_an_equal_program_is_found_by_its_fingerprint_unless_it_was_never_run() -> None:
    record = RunRecord.of(
        [PROPOSED, judged(1, 0.5, "a"), judged(2, None, "b", "timeout"), judged(3, None, "c", "rejected"),
         judged(4, None, "a", "duplicate"), judged(5, None, "e", "stopped"), judged(6, None, "f", "same-decisions")]
    )  # fmt: skip
    assert [record.candidate_with(p) for p in "abcdef"] == [1, 2, None, None, 5, 6]


@pytest.mark.parametrize(
    "event", [judged(2, None), CandidateProposed(2, 1, "mutate", (2,), 0, "m"), WinnerChosen(2, "train")]
)
def test_a_record_names_nothing_that_it_has_not(event: Event) -> None:
    with pytest.raises(UserError, match=r"the run contradicts itself: it (judges|names) "):
        RunRecord.of([replace(event, proposal=7) if isinstance(event, CandidateJudged) else event])


def test_the_best_baseline_is_no_oracle() -> None:
    lru = BaselineMeasured("lru", "baseline", "train", 0.2, ())
    record = RunRecord.of(
        [replace(lru, policy="fifo", score=0.1), lru, replace(lru, policy="belady", kind="oracle", score=0.9),
         replace(lru, policy="arc", split="test", score=0.8)]
    )  # fmt: skip
    assert record.best_baseline("train") == lru
    assert record.best_baseline("validation") is None
