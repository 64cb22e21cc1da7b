"""How a search ends whose prompts somebody else answers, and what else than programs it asks for."""

from __future__ import annotations

from pathlib import Path

import pytest
from asked_runs import ASK, Run, error, good
from rich_parts import answer, rich, search
from search_parts import SEEDS, config, contents, judged, of_kind

from vulcan.scoring import Executor
from vulcan.searches.interactive import asks_for_advice, name_of
from vulcan.searches.recorded_replies import RecordedReplies
from vulcan.store import MemoryStore
from vulcan.store.events import AdviceReceived, FinalistScored, RunStopped, WinnerChosen


@pytest.fixture
def run(children: Executor, tmp_path: Path) -> Run:
    return Run(tmp_path, config(model=ASK, rounds=2, samples=3, repairs=2), children)


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
    run = Run(tmp_path, rich(model=ASK, control=False, advice_every=2, in_flight=1), racers)
    assert run.ask() == "3"
    run.tell("3", good(3))
    with run.talk() as talk:
        proposal = talk.ask()
        assert proposal is not None
        assert asks_for_advice(proposal)
    told = run.tell("4", "  Take on half.\n")
    assert (told.verdict, told.feedback, told.pending) == (None, "the advice is kept", False)
    assert of_kind(run.kept(), AdviceReceived) == [AdviceReceived(4, "Take on half.")]
    shown = []
    while len(shown) < 3:
        with run.talk() as talk:
            following = talk.ask()
        assert following is not None
        shown.append("Take on half." in following.messages[0].content)
        run.tell(name_of(following), good(following.number))
    assert any(shown)


def test_answered_one_by_one_it_is_the_search_that_a_model_would_have_made(racers: Executor, tmp_path: Path) -> None:
    """The same replies by ask and tell, in another process each, and by a recording of them."""
    chosen = rich(model=ASK, control=False, rounds=1, tune=0)
    run = Run(tmp_path, chosen, racers)
    while True:
        with run.talk() as talk:
            proposal = talk.ask()
            if proposal is None:
                talk.finish()
                break
            text = answer(proposal.request()) or "I have no answer."
            talk.tell(name_of(proposal), text, "somebody")
    store = run.kept()
    assert of_kind(store, WinnerChosen) != []
    again = MemoryStore()
    search(chosen, again, racers, recording=RecordedReplies.of(store))
    assert contents(again) == contents(store)
