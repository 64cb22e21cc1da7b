"""The control: what sampling without feedback comes to with as many proposals."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import pytest
from kept import kept
from rich_parts import rich, search
from search_parts import as_reply, config, contents, of_kind, share

from vulcan.errors import UserError
from vulcan.models import BudgetExhausted, Request
from vulcan.scoring import Executor
from vulcan.searches.config import SearchConfig
from vulcan.store import MemoryStore, RunRecord, SQLiteStore
from vulcan.store.events import (
    BaselineMeasured,
    CandidateProposed,
    CandidateRefined,
    ControlFinished,
    FinalistScored,
    InstancesPrepared,
    ReferenceMeasured,
    RunStarted,
    RunStopped,
    WinnerChosen,
)
from vulcan.store.runs import CONTROL


@pytest.fixture(scope="module")
def run(racers: Executor, tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("run")
    with (
        closing(SQLiteStore(place / "run.db", create=True)) as store,
        closing(SQLiteStore(place / CONTROL, create=True)) as control,
    ):
        search(rich(), store, racers, control=control)
    return place


def read(place: Path) -> tuple[MemoryStore, MemoryStore]:
    return kept(place / "run.db"), kept(place / CONTROL)


def test_it_has_as_many_proposals_and_a_store_of_its_own(run: Path) -> None:
    store, control = read(run)
    asked = [[p for p in of_kind(one, CandidateProposed) if p.round > 0] for one in (store, control)]
    assert len(asked[0]) == len(asked[1]) == 36
    assert {p.operator for p in asked[1]} == {"initial"}
    assert {p.parents for p in asked[1]} == {(1, 2)}  # the task's own policies, and no candidate
    assert of_kind(control, CandidateRefined) == []
    for kind in (InstancesPrepared, BaselineMeasured, ReferenceMeasured):
        assert of_kind(control, kind) == of_kind(store, kind) != []


def test_the_event_says_what_the_control_came_to(run: Path) -> None:
    store, control = read(run)
    (event,) = of_kind(store, ControlFinished)
    (chosen,) = of_kind(control, WinnerChosen)
    record = RunRecord.of(control.events())
    assert event.candidates == 36
    assert event.source == record.candidates[chosen.candidate].source
    expected = {"train": record.candidates[chosen.candidate].score}
    expected |= {e.split: e.score for e in of_kind(control, FinalistScored) if e.candidate == chosen.candidate}
    assert dict(event.scores) == expected
    assert set(expected) == {"train", "validation", "test"}
    assert [type(e) for e in store.events()][-2:] == [ControlFinished, RunStopped]
    assert list(control.events())[-1] == RunStopped("finished")


def test_its_configuration_is_that_of_the_search_but_for_what_it_must_not_have(run: Path) -> None:
    store, control = (SearchConfig.from_json(of_kind(one, RunStarted)[0].config) for one in read(run))
    differ = {name for name in vars(store) if getattr(store, name) != getattr(control, name)}
    assert differ == {"strategy", "tune", "simplify", "control", "budget_candidates"}
    assert (control.strategy, control.tune, control.control, control.budget_candidates) == ("best-of-n", 0, False, 36)


def test_the_search_itself_is_the_same_with_and_without(run: Path, racers: Executor) -> None:
    alone = MemoryStore()
    search(rich(control=False), alone, racers)
    store, _ = read(run)
    events, calls = contents(alone)
    assert [e for e in contents(store)[0] if not isinstance(e, ControlFinished | RunStarted)] == events[1:]
    assert contents(store)[1] == calls


def test_a_control_that_found_nothing_is_compared_with_the_tasks_own(children: Executor) -> None:
    store = MemoryStore()
    chosen = config(strategy="policysmith", rounds=2, samples=2, control=True)
    search(chosen, store, children, lambda r: as_reply(share(1.5)) if r.operator == "mutate" else "no")
    (event,) = of_kind(store, ControlFinished)
    assert event.candidates == 4
    assert dict(event.scores)["train"] == 1.0
    assert "min(load, room)" in event.source


def test_a_search_that_could_not_pay_for_one_proposal_has_no_control(racers: Executor) -> None:
    def nothing(_: Request) -> str:
        raise BudgetExhausted("all is spent")

    store, control = MemoryStore(), MemoryStore()
    with pytest.raises(UserError, match="no proposal was made: all is spent") as caught:
        search(rich(), store, racers, nothing, control=control)
    assert of_kind(store, ControlFinished) == []
    assert list(control.events()) == []
    assert list(store.events())[-1] == RunStopped("error", str(caught.value))
