"""A search whose prompts somebody else answers, over several processes: each is a conversation of its own here."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest
from kept import kept
from rich_parts import answer, rich, search
from search_parts import SEEDS, TASK, as_reply, config, contents, evidence, judged, of_kind, opened, share

from vulcan.documents.conversation import TellDocument
from vulcan.errors import UserError
from vulcan.scoring import Executor, WorkerLost
from vulcan.searches.config import SearchConfig, make_config
from vulcan.searches.evidence import open_run
from vulcan.searches.interactive import InteractiveSearch, asks_for_advice, open_interactive_search
from vulcan.searches.recorded_replies import RecordedReplies
from vulcan.store import MemoryStore, SQLiteStore
from vulcan.store.events import AdviceReceived, FinalistScored, RunStopped, WinnerChosen
from vulcan.store.recovery import repair

ASK = ("ask",)


def good(number: int) -> str:
    """A reply with a program of its own."""
    return as_reply(share(1 + number / 10))


def error(call: Callable[[], object]) -> str:
    """The one line of the UserError that a call raises."""
    with pytest.raises(UserError) as caught:
        call()
    assert "\n" not in str(caught.value)
    return str(caught.value)


class Run:
    """A run begun with the model `ask`; `talk` is a process that resumes it."""

    def __init__(self, place: Path, chosen: SearchConfig, executor: Executor) -> None:
        self.place, self.chosen, self.executor = place, chosen, executor
        SQLiteStore(place / "run.db", create=True).close()

    @contextmanager
    def talk(self) -> Iterator[InteractiveSearch]:
        with closing(SQLiteStore(self.place / "run.db")) as store:
            yield InteractiveSearch(opened(store, self.chosen, self.executor), self.place)

    def ask(self) -> str | None:
        with self.talk() as talk:
            proposal = talk.ask()
            return None if proposal is None else proposal.name

    def tell(self, name: str, text: str) -> TellDocument:
        with self.talk() as talk:
            return talk.tell(name, text, "somebody")

    def kept(self) -> MemoryStore:
        return kept(self.place / "run.db")


@pytest.fixture
def run(children: Executor, tmp_path: Path) -> Run:
    return Run(tmp_path, config(model=ASK, rounds=2, samples=3, repairs=2), children)


def test_the_best_so_far_waits_for_no_earlier_reply(run: Run) -> None:
    assert [run.ask(), run.ask()] == ["3", "4"]
    with run.talk() as talk:
        told = talk.tell("4", good(4), "somebody")
        assert told["pending"]
        assert told["best"] == {"candidate": None, "proposal": "4", "score": told["score"]}
    with run.talk() as talk:
        best = talk.tell("3", good(3), "somebody")["best"]
        assert best is not None and best["candidate"] == SEEDS + (2 if best["proposal"] == "4" else 1)
        talk.ask()
        again = talk.tell("5", good(3), "somebody")
    assert (again["verdict"], again["feedback"]) == ("duplicate", f"it is the program of candidate {SEEDS + 1}")


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
        waiting = talk.study.open()
    assert [proposal.name for proposal in waiting] == ["7"]
    (run.place / "run.db").write_bytes(b"nothing" * 999)
    done = repair(run.place / "run.db")
    assert done is not None
    assert (done.replies, done.replies_left_out) == (6, 0)
    with run.talk() as talk:
        assert talk.study.open() == waiting
        talk.study.wait_for_scores()
    assert contents(run.kept()) == before
    run.tell("7", good(7))
    assert [v.verdict for v in judged(run.kept())] == ["scored", "rejected", *["scored"] * 5]


def test_a_run_that_a_model_answers_is_no_conversation(tmp_path: Path) -> None:
    chosen = config(model=("offline/evolve",))
    with closing(SQLiteStore(tmp_path / "run.db", create=True)) as store:
        open_run(TASK, chosen, store, evidence(chosen), lambda _: None)

    says = error(lambda: open_interactive_search(tmp_path).__enter__())
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


# How it ends, and what else than programs it asks for


def test_finished_early_the_winner_comes_of_what_is_there(run: Run) -> None:
    assert [run.ask(), run.ask(), run.ask()] == ["3", "4", "5"]
    run.tell("4", good(4))
    with run.talk() as talk:
        assert not talk.done
        talk.finish()
        assert talk.finished
        talk.finish()  # once is enough
    kept = run.kept()
    # 3 stands before an answered one and keeps its number; 5 was never answered, and is as if it had not been asked
    assert [(v.proposal, v.verdict, v.feedback) for v in judged(kept)] == [
        (3, "no-reply", "nobody answered"), (4, "scored", ""),
    ]  # fmt: skip
    assert of_kind(kept, WinnerChosen) == [WinnerChosen(SEEDS + 2, "validation")]
    assert len([c for c in of_kind(kept, FinalistScored) if c.split == "test"]) == 1
    assert list(kept.events())[-1] == RunStopped("finished")
    for call in (run.ask, lambda: run.tell("5", good(5))):
        assert error(call) == f"{run.place} is finished: `vulcan show {run.place}` has the winner"


def test_advice_is_asked_for_kept_and_shown(racers: Executor, tmp_path: Path) -> None:
    run = Run(tmp_path, rich(model=ASK, advice_every=2, in_flight=1), racers)
    assert run.ask() == "3"
    run.tell("3", good(3))
    with run.talk() as talk:
        proposal = talk.ask()
        assert proposal is not None
        assert asks_for_advice(proposal)
    told = run.tell("4", "  Take on half.\n")
    assert (told["verdict"], told["feedback"], told["pending"]) == (None, "the advice is kept", False)
    assert of_kind(run.kept(), AdviceReceived) == [AdviceReceived(4, "Take on half.")]
    shown = []
    while len(shown) < 3:
        with run.talk() as talk:
            following = talk.ask()
        assert following is not None
        shown.append("Take on half." in following.messages[0].content)
        run.tell(following.name, good(following.number))
    assert any(shown)


def test_answered_one_by_one_it_is_the_search_that_a_model_would_have_made(racers: Executor, tmp_path: Path) -> None:
    """The same replies by ask and tell, in another process each, and by a recording of them."""
    chosen = rich(model=ASK, rounds=1, tune=0)
    run = Run(tmp_path, chosen, racers)
    while True:
        with run.talk() as talk:
            proposal = talk.ask()
            if proposal is None:
                talk.finish()
                break
            text = answer(proposal.request()) or "I have no answer."
            talk.tell(proposal.name, text, "somebody")
    store = run.kept()
    assert of_kind(store, WinnerChosen) != []
    again = MemoryStore()
    search(chosen, again, racers, recording=RecordedReplies.of(store))
    assert contents(again) == contents(store)
