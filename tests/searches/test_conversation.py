"""A study whose prompts somebody else answers, over several processes: each is a conversation of its own here."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from asked_runs import ASK, Run, error, good
from rich_parts import Quiet
from search_parts import SEEDS, TASK, config, contents, evidence, judged, share

from vulcan.scoring import Executor, WorkerLost
from vulcan.searches.config import make_config
from vulcan.searches.evidence import open_run
from vulcan.searches.interactive import name_of, open_interactive_search, tell_document
from vulcan.store import SQLiteStore
from vulcan.store.recovery import repair


@pytest.fixture
def run(children: Executor, tmp_path: Path) -> Run:
    return Run(tmp_path, config(model=ASK, rounds=2, samples=3, repairs=2), children)


def test_the_best_so_far_waits_for_no_earlier_reply(run: Run) -> None:
    assert [run.ask(), run.ask()] == ["3", "4"]
    with run.talk() as talk:
        told = talk.tell("4", good(4), "somebody")
        assert told.pending
        assert tell_document(talk, told)["best"] == {"candidate": None, "proposal": "4", "score": told.score}
    with run.talk() as talk:
        told = talk.tell("3", good(3), "somebody")
        best = tell_document(talk, told)["best"]
        assert best is not None and best["candidate"] == SEEDS + (2 if best["proposal"] == "4" else 1)


def test_what_is_stale_repeated_or_unknown_is_refused_in_a_line_and_changes_nothing(run: Run) -> None:
    assert [run.ask(), run.ask()] == ["3", "4"]
    run.tell("3", "no")
    assert run.ask() == "3.1"
    before = contents(run.kept())
    already = "proposal 3 has its reply already; open are: 3.1, 4"
    assert error(lambda: run.tell("3", good(3))) == already
    for name in ("3.2", "5", "99", "2", "", "4.0", "x"):
        assert error(lambda name=name: run.tell(name, good(3))) == (
            f"no proposal {name!r} was given out; open are: 3.1, 4"
        )  # fmt: skip
    assert contents(run.kept()) == before
    run.tell("3.1", good(3))
    assert error(lambda: run.tell("3.1", good(3))) == "proposal 3.1 has its reply already; open are: 4"


def test_a_reply_whose_process_died_before_its_score_is_scored_by_the_next(run: Run, children: Executor) -> None:
    class Dying:
        name, workers = "dying", 1

        def submit(self, _: object) -> None:
            raise WorkerLost("killed")

    run.ask()
    run.executor = Dying()  # type: ignore[assignment]
    with pytest.raises(WorkerLost):
        run.tell("3", good(3))
    run.executor = children
    assert [c.proposal for c in run.kept().calls()] == [3]
    assert judged(run.kept()) == []
    assert error(lambda: run.tell("3", good(4))).startswith("proposal 3 has its reply already")
    assert [run.ask(), run.ask(), run.ask()] == ["4", "5", None]
    with run.talk() as talk:
        talk.study.wait_for_scores()
    assert [(v.proposal, v.verdict) for v in judged(run.kept())] == [(3, "scored")]


def test_a_run_whose_file_was_damaged_goes_on_with_the_same_open_proposals_and_verdicts(run: Run) -> None:
    """Replies of the second round too: what they were drafted from is scored again first."""
    assert [run.ask(), run.ask(), run.ask()] == ["3", "4", "5"]
    run.tell("4", "no")
    assert run.ask() == "4.1"
    for name in ("4.1", "3", "5"):
        run.tell(name, good(int(name[0])))
    assert [run.ask(), run.ask(), run.ask()] == ["6", "7", "8"]
    run.tell("6", good(6))
    run.tell("8", good(8))
    before = contents(run.kept())
    with run.talk() as talk:
        waiting = talk.open()
    assert [name_of(proposal) for proposal in waiting] == ["7"]
    (run.place / "run.db").write_bytes(b"nothing" * 999)
    done = repair(run.place / "run.db")
    assert done is not None
    assert (done.replies, done.replies_left_out) == (6, 0)
    with run.talk() as talk:
        assert talk.open() == waiting
        talk.study.wait_for_scores()
    assert contents(run.kept()) == before
    run.tell("7", good(7))
    assert [v.verdict for v in judged(run.kept())] == ["scored", "rejected", *["scored"] * 5]


def test_a_run_that_a_model_answers_is_no_conversation(tmp_path: Path) -> None:
    chosen = config(model=("offline/evolve",))
    with closing(SQLiteStore(tmp_path / "run.db", create=True)) as store:
        open_run(TASK, chosen, store, evidence(chosen), lambda _: None)

    def talk() -> None:
        with open_interactive_search(tmp_path, Quiet()):
            pass

    says = error(talk)
    assert says == f"the prompts of {tmp_path} are answered by offline/evolve: `vulcan resume {tmp_path}` continues it"


@pytest.mark.parametrize(("options", "count"), [({"model": ["ask"]}, 0), ({"strategy": "engineer"}, 1), ({}, 8)])
def test_who_answers_in_turn_sees_what_the_reply_before_scored(options: dict[str, Any], count: int) -> None:
    assert make_config("cache_eviction", options, {}).in_flight == count
    assert make_config("cache_eviction", {**options, "in_flight": 5}, {}).in_flight == 5


def test_the_next_prompt_shows_the_reply_before(children: Executor, tmp_path: Path) -> None:
    run = Run(tmp_path, config(model=ASK, strategy="engineer", turns=1, drafts=1, repairs=0, in_flight=0), children)
    first = run.ask()
    with run.talk() as talk:
        assert talk.ask() is None, "one at a time"
        talk.tell(first, good(9), "somebody")
        following = talk.ask()
    assert following is not None
    assert any(share(1.9) in message.content for message in following.messages)
