"""The search as a conversation, one step at a time."""

from __future__ import annotations

import re

import pytest
from search_parts import SEEDS, as_reply, judged, mood, new_study, reply, share

from vulcan.scoring import Executor
from vulcan.searches.study import Study

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


def test_a_reply_without_a_program_gets_a_repair_turn_in_the_same_chat(children: Executor) -> None:
    study = new_study(children)
    first = study.ask()
    assert first is not None
    reading = study.tell(first, reply("I would rather not."))
    assert reading.rules == ("no-code-block",)
    second = study.ask()
    assert second is not None
    assert (second.number, second.turn) == (first.number, 1)
    assert second.messages[: len(first.messages)] == first.messages
    assert [m.role for m in second.messages] == ["user", "assistant", "user"]
    assert second.messages[1].content == "I would rather not."
    assert "the reply holds no code block" in second.messages[2].content
    study.tell(second, reply(GOOD))
    study.wait_for_scores()
    assert [(v.turn, v.verdict, v.source) for v in judged(study.store)] == [
        (0, "rejected", ""), (1, "scored", share(1.5)),
    ]  # fmt: skip
    assert [(c.proposal, c.turn) for c in study.store.calls()] == [(first.number, 0), (first.number, 1)]


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


def test_a_candidate_that_hangs_costs_its_time_limit_and_one_row(children: Executor) -> None:
    study = new_study(children, limit=4.0)
    hanging, others = as_reply(mood(101)), [as_reply(share(n)) for n in (0.5, 0.75)]
    proposals = ask_all(study)
    for proposal, text in zip(proposals, [hanging, *others], strict=True):
        study.tell(proposal, reply(text))
    study.wait_for_scores()
    assert [v.verdict for v in judged(study.store)] == ["timeout", "scored", "scored"]


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
