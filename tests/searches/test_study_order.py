"""Rounds, and results in the order of proposals whatever order they come in."""

from __future__ import annotations

from collections.abc import Callable

from backwards import Backwards
from search_parts import (
    SEEDS,
    Scripted,
    as_reply,
    config,
    judged,
    lineup,
    mood,
    new_study,
    of_kind,
    opened,
    reply,
    share,
)

from vulcan.models import Request
from vulcan.scoring import Executor
from vulcan.searches.study import Study
from vulcan.store import MemoryStore
from vulcan.store.events import CandidateJudged, CandidateProposed


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


def ask_all(study: Study) -> list:
    found = []
    while (proposal := study.ask()) is not None:
        found.append(proposal)
    return found


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


def test_failed_and_rejected_candidates_are_no_parents(children: Executor) -> None:
    study = new_study(children, rounds=2, samples=3, parents=9, repairs=0)
    for proposal, text in zip(ask_all(study), (mood(104), "def decide(load):\n", share(2.0)), strict=True):
        study.tell(proposal, reply(as_reply(text)))
    study.wait_for_scores()
    parents = ask_all(study)[0].draft.parents
    assert [m.candidate for m in parents] == [SEEDS + 3, 1, 2]


def test_rounds_go_on_where_the_budget_ends_in_the_middle_of_one(children: Executor) -> None:
    study = new_study(children, rounds=5, samples=3, budget_candidates=8)
    study.run(lineup(Scripted(program)))
    assert [p.round for p in of_kind(study.store, CandidateProposed)] == [0] * SEEDS + [1, 1, 1, 2, 2, 2, 3, 3]


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
