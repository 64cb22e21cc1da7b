"""A search one step at a time: verdicts on replies, results in the order of proposals, and the choice of the winner."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest
from executors import Backwards, Watched
from search_parts import (
    SEEDS,
    TASK,
    Scripted,
    as_reply,
    config,
    contents,
    judged,
    lineup,
    mood,
    new_study,
    of_kind,
    opened,
    reply,
    share,
)

from vulcan.models.base import Request
from vulcan.scoring import Executor
from vulcan.searches.study import Study
from vulcan.store import MemoryStore
from vulcan.store.events import CandidateJudged, CandidateProposed, Event, FinalistScored, RunStopped, WinnerChosen

GOOD = as_reply(share(1.5))


def ask_all(study: Study) -> list:
    found = []
    while (proposal := study.ask()) is not None:
        found.append(proposal)
    return found


def answer_next(study: Study, text: str) -> list:
    """Answer one proposal and its repairs with the same text, and wait; the new verdicts."""
    before = len(judged(study.store))
    proposal = study.ask()
    assert proposal is not None
    while proposal is not None and study.tell(proposal, reply(text)).policy is None:
        proposal = study.ask() if proposal.turn < study.config.repairs else None
    study.wait_for_scores()
    return judged(study.store)[before:]


def test_a_program_is_scored_and_its_trail_is_complete(children: Executor) -> None:
    study = new_study(children)
    (verdict,) = answer_next(study, GOOD)
    assert (verdict.candidate, verdict.proposal, verdict.turn) == (SEEDS + 1, SEEDS + 1, 0)
    assert verdict.verdict == "scored"
    assert verdict.source == share(1.5)
    assert verdict.operations == study.record.candidates[1].operations + 1
    # the evaluator takes on what is decided, but never more than the room there is
    grid = [(load, room) for load in range(5) for room in range(5)]
    expected = sum(min(1.5 * min(load, room), room) for load, room in grid)
    half = sum(min(load, room) / 2 for load, room in grid)
    assert dict(verdict.metrics)["light"]["sum"] == expected
    assert dict(verdict.metrics)["heavy"]["sum"] == 2 * expected
    assert verdict.score == pytest.approx(expected / half - 1, abs=1e-15)
    (call,) = study.store.calls()
    assert (call.reply, call.tokens_in, call.dollars, call.messages[0][0]) == (GOOD, 10, 0.25, "user")
    assert study.costs.dollars == 0.25


def test_a_program_that_stays_bad_is_rejected_with_the_rules_it_breaks(children: Executor) -> None:
    study = new_study(children, repairs=2)
    bad = "import os\n\ndef decide(load, room):\n    while True:\n        pass\n"
    verdicts = answer_next(study, as_reply(bad))
    assert [(v.turn, v.verdict, v.source, v.score, v.fingerprint) for v in verdicts] == [
        (turn, "rejected", bad, None, None) for turn in range(3)
    ]
    for verdict in verdicts:
        assert verdict.rules
        assert tuple(re.findall(r"^line .*: \[([a-z-]+)\]", verdict.feedback, re.MULTILINE)) == verdict.rules
    assert study.completed == 1


def test_an_equal_program_is_a_duplicate_whatever_its_names_and_comments(children: Executor) -> None:
    study = new_study(children)
    (first,) = answer_next(
        study, as_reply("LIMIT = 3\n\ndef decide(load, room):\n    a = load * LIMIT\n    return a\n")
    )
    again = '"""Other words."""\nMAX = 3.0\n\ndef decide(load, room):\n    b = load * MAX  # same\n    return b\n'
    (second,) = answer_next(study, as_reply(again))
    assert (first.verdict, second.verdict) == ("scored", "duplicate")
    assert second.of == first.candidate
    assert second.fingerprint == first.fingerprint
    assert (second.score, second.metrics) == (None, ())
    (third,) = answer_next(study, as_reply("def decide(load, room):\n    return min(load, room)\n"))
    assert (third.verdict, third.of) == ("duplicate", 1)  # of the task's own policy


def test_of_equal_programs_in_the_air_the_earlier_proposal_is_the_original(children: Executor) -> None:
    study = new_study(children)
    first, second, third = ask_all(study)
    study.tell(third, reply(GOOD))
    study.tell(second, reply(GOOD))
    assert judged(study.store) == []  # the first has no reply yet
    study.tell(first, reply(as_reply(share(1.25))))
    study.wait_for_scores()
    verdicts = judged(study.store)
    assert [(v.proposal - SEEDS, v.verdict, v.of) for v in verdicts] == [
        (1, "scored", None), (2, "scored", None), (3, "duplicate", SEEDS + 2),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("number", "verdict", "says"),
    [
        (102, "crashed", ""),
        (103, "memory", ""),
        (104, "failed", "LookupError: no such mood"),
        (105, "failed", "LookupError: too heavy"),
        (107, "failed", ""),
    ],
)
def test_a_candidate_that_fails_costs_one_row_and_nothing_else(
    children: Executor, number: int, verdict: str, says: str
) -> None:
    study = new_study(children)
    (failed,) = answer_next(study, as_reply(mood(number)))
    assert (failed.verdict, failed.score, failed.metrics, failed.source) == (verdict, None, (), mood(number))
    assert says in failed.feedback
    (following,) = answer_next(study, GOOD)
    assert (following.verdict, following.candidate) == ("scored", failed.candidate + 1)
    assert failed.candidate not in [c.candidate for c in study.record.ranked()]
    (again,) = answer_next(study, as_reply(mood(number).replace("def decide", "# again\ndef decide")))
    assert (again.verdict, again.of) == ("duplicate", failed.candidate)


def test_no_proposal_is_told_twice_or_out_of_turn(children: Executor) -> None:
    study = new_study(children)
    first, second, _ = ask_all(study)
    study.tell(first, reply(GOOD))
    with pytest.raises(ValueError, match=f"proposal {first.number}, turn 0, is not open"):
        study.tell(first, reply(GOOD))
    study.tell(second, reply("nothing"))
    repair = study.ask()
    assert repair is not None
    with pytest.raises(ValueError, match="is not open"):
        study.tell(second, reply(GOOD))
    with pytest.raises(ValueError, match="is not open"):
        new_study(children).tell(repair, reply(GOOD))
    study.tell(repair, reply(GOOD))
    assert len(list(study.store.calls())) == 3


def test_half_a_surrogate_pair_in_a_reply_is_no_reason_to_stop(children: Executor) -> None:
    study = new_study(children, repairs=0)
    (verdict,) = answer_next(study, "\ud83e " + GOOD)
    assert verdict.verdict == "scored"
    assert next(iter(study.store.calls())).reply == "? " + GOOD


# Order


def program(request: Request) -> str:
    """Programs, duplicates, failures and rejected ones, by the proposal's number and turn."""
    match (request.proposal - SEEDS) % 7, request.turn:
        case (2, 0):
            return "Let me think."
        case (3, _):
            return as_reply(mood(104))
        case (4, _):
            return as_reply("def decide(load, room):\n    return load + missing\n")
        case (5, _):
            return as_reply(share(1.1))  # the same each time
        case (number, _):
            return as_reply(share(0.5 + (request.proposal * 37 % 101) / 100 + number))


def scores(study: Study) -> dict[int, float | None]:
    return {c.proposal - SEEDS: c.score for c in judged(study.store)}


def tell_all(study: Study, factors: list[float]) -> list:
    proposals = ask_all(study)
    for proposal, factor in zip(proposals, factors, strict=True):
        study.tell(proposal, reply(as_reply(share(factor))))
    return proposals


def test_a_round_is_not_asked_for_before_the_one_before_it_is_settled(children: Executor) -> None:
    executor = Backwards(children)
    study = new_study(executor, rounds=2, samples=3)  # type: ignore[arg-type]
    proposals = ask_all(study)
    assert [p.draft.round for p in proposals] == [1, 1, 1]
    for number, proposal in enumerate(proposals):
        assert study.ask() is None
        study.tell(proposal, reply(as_reply(share(1 + number / 10))))
    for _ in range(3):
        assert study.ask() is None
        assert judged(study.store) == []  # the first to finish is the last proposed
        executor.release()
    assert executor.finished == [SEEDS + 3, SEEDS + 2, SEEDS + 1]
    second = ask_all(study)
    assert [p.draft.round for p in second] == [2, 2, 2]
    assert [p.number for p in second] == [SEEDS + n for n in (4, 5, 6)]
    assert [v.proposal for v in judged(study.store)] == [SEEDS + n for n in (1, 2, 3)]


def test_parents_are_the_best_of_all_earlier_rounds_and_of_equals_the_earlier(children: Executor) -> None:
    study = new_study(children, rounds=4, samples=3, parents=3, repairs=0)
    (first, *_) = tell_all(study, [1.5, 0.3, 1.25])
    assert [m.candidate for m in first.draft.parents] == [1, 2]  # the task's own: there are no others
    study.wait_for_scores()
    order = {n: s for n, s in scores(study).items() if s is not None}
    assert order[1] > order[3] > 1.0 > order[2]  # 1.0 is the score of candidate 1

    second = tell_all(study, [1.4, 1e-3, 1e-4])
    assert {p.draft.operator for p in second} == {"mutate"}
    assert {tuple(m.candidate for m in p.draft.parents) for p in second} == {(SEEDS + 1, SEEDS + 3, 1)}
    study.wait_for_scores()

    third = ask_all(study)  # 1.4 of the second round comes between 1.5 and 1.25 of the first
    assert {tuple(m.candidate for m in p.draft.parents) for p in third} == {(SEEDS + 1, SEEDS + 4, SEEDS + 3)}
    # equal in score, not in program: both take on min(load, room), as candidate 1 does
    for proposal, text in zip(third, ("load", "load + 1e3 * 0", "load * 2"), strict=True):
        study.tell(proposal, reply(as_reply(f"def decide(load, room):\n    return {text}\n")))
    study.wait_for_scores()
    fourth = ask_all(study)
    best = sorted(of_kind(study.store, CandidateJudged), key=lambda c: (-(c.score or -9), c.candidate))[:3]
    assert [m.candidate for m in fourth[0].draft.parents] == [c.candidate for c in best]
    ties = [c.candidate for c in of_kind(study.store, CandidateJudged) if c.score == 1.0]
    assert ties == [1, SEEDS + 7, SEEDS + 8]
    assert study.ask() is None


def test_every_proposal_has_a_seed_of_its_own(children: Executor) -> None:
    def seeds(**changes: int) -> list[int]:
        study = new_study(children, rounds=1, samples=5, **changes)
        study.run(lineup(Scripted(program)))
        return [p.seed for p in of_kind(study.store, CandidateProposed) if p.round > 0]

    assert seeds(seed=1) == seeds(seed=1)
    assert len({*seeds(seed=1), *seeds(seed=2), *seeds(seed=0), *seeds(seed=-1)}) == 20


def test_listeners_hear_every_event_in_order_after_the_store_has_it(children: Executor) -> None:
    store = MemoryStore()
    heard = []

    def listen(event: object) -> None:
        heard.append(event)
        assert event in list(store.events())

    other: list[object] = []
    listeners: list[Callable[[object], None]] = [listen, other.append]
    opened_with = opened(store, config(), children, listeners)
    before = len(list(store.events()))
    opened_with.run(lineup(Scripted(program)))
    assert heard == list(store.events())[before:] == other


def test_verdicts_that_come_together_are_one_transaction(children: Executor, monkeypatch: pytest.MonkeyPatch) -> None:
    store, groups = MemoryStore(), list[tuple[Event, ...]]()
    study = opened(store, config(rounds=1), children)
    first, *others = ask_all(study)
    append = store.append
    monkeypatch.setattr(store, "append", lambda *events: (groups.append(events), append(*events)))
    for proposal in others:
        study.tell(proposal, reply(as_reply(share(0.1 * proposal.number))))
    for evaluation in study.evaluations.values():
        evaluation.wait()
    study.tell(first, reply(as_reply(share(0.05))))
    study.wait_for_scores()
    numbers = [[e.proposal for e in events if isinstance(e, CandidateProposed)] for events in groups]
    assert [proposal.number for proposal in others] == numbers[-1][-2:]


# The winner is chosen on evidence that the search did not see, and tested once


OVERFITTED = "def decide(load, room):\n    if load + room == 0:\n        return 106\n    return room\n"
"""The best on the split train, and fails on the split validation."""


def splits(watched: Watched) -> list[str]:
    """The one split that each job is about."""
    return [split for job in watched.jobs for split in {instance.split for instance in job.instances}]


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
    assert splits(watched) == ["train"] * (SEEDS + 3) + ["validation"] * (SEEDS + 3) + ["test"]
    tested = [c for c in of_kind(store, FinalistScored) if c.split == "test"]
    assert [c.candidate for c in tested] == [SEEDS + 2]
    assert [name for name, _ in tested[0].metrics] == ["heavy"]

    before = contents(store)
    again = opened(store, config(rounds=1, samples=3), watched)  # type: ignore[arg-type]
    again.run(lineup(Scripted(lambda _: None)))
    assert contents(store) == before
    assert splits(watched).count("test") == 1


def test_only_the_best_on_train_are_measured_on_the_split_validation(children: Executor) -> None:
    store = finished(children, share(1.1), share(1.4), share(1.3), share(1.2), finalists=2)
    confirmed = [(c.candidate, c.split) for c in of_kind(store, FinalistScored)]
    best, second = SEEDS + 2, SEEDS + 3
    seeds = [(number, "validation") for number in range(1, SEEDS + 1)]
    assert confirmed[:2] + sorted(confirmed[2:-1]) + confirmed[-1:] == [
        (best, "validation"), (second, "validation"), *seeds, (best, "test"),
    ]  # fmt: skip


def test_programs_that_do_the_same_are_one_finalist_and_the_smallest_of_them(children: Executor) -> None:
    longer, other = share(1.5, "(min(load, room) + load * 1e-9)"), share(0.9)
    store = finished(children, longer, share(1.5), other)
    measured = {c.candidate for c in of_kind(store, FinalistScored)}
    assert measured >= {SEEDS + 2, SEEDS + 3} and SEEDS + 1 not in measured


def test_a_search_that_finds_nothing_keeps_the_best_of_the_tasks_own(children: Executor) -> None:
    store = finished(children, "no\n", "none\n", repairs=0)
    assert of_kind(store, WinnerChosen) == [WinnerChosen(1, "validation")]
    assert list(TASK.seed_policies()) == ["least", "quarter"]
